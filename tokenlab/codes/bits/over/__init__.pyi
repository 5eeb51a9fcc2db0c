from tokenlab.codes.bits.over.bases import Base as Base
from tokenlab.codes.bits.over.bases import base_of as base_of
from tokenlab.codes.bits.over.bases import read_base as read_base
from tokenlab.codes.bits.over.hugging_face import BitLevelTokenizer as BitLevelTokenizer
from tokenlab.codes.bits.over.tokenizer import BitTokenizer as BitTokenizer
from tokenlab.codes.bits.over.tokenizer import DeadToken as DeadToken
from tokenlab.codes.bits.over.tokenizer import dead_tokens as dead_tokens
from tokenlab.codes.bits.over.training import train_byte_fallback as train_byte_fallback
