from tokenlab.entropy.options import DeviceOptions as DeviceOptions
from tokenlab.entropy.options import ScoringOptions as ScoringOptions
from tokenlab.entropy.packing import Sequences as Sequences
from tokenlab.entropy.packing import encode as encode
from tokenlab.entropy.scored_corpus import score_corpus as score_corpus
from tokenlab.entropy.scorer import load_scorer as load_scorer
from tokenlab.entropy.stored import read_entropies as read_entropies
from tokenlab.entropy.training import train as train
