from tokenlab.segment.words.model import WordModel as WordModel
from tokenlab.segment.words.options import WordOptions as WordOptions
