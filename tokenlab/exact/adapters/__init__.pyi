from tokenlab.exact.adapters.check import CheckReport as CheckReport
from tokenlab.exact.adapters.check import check_tokenizer as check_tokenizer
from tokenlab.exact.adapters.hugging_face import from_tokenizer as from_tokenizer
from tokenlab.exact.adapters.reading import read_tokenizer as read_tokenizer
from tokenlab.exact.adapters.real import RealTokenizer as RealTokenizer
from tokenlab.exact.adapters.real import UnsupportedTokenizer as UnsupportedTokenizer
