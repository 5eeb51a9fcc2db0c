"""Files of tokenizers, read once for all: tokenizer.json, SentencePiece models, rank files, Tekken, GPT-2's pair.

`read_tokenizer` turns a file or folder of any of these formats into a `TokenizerFile`: its format and algorithm, the
bytes of every id, and the tokenizer of the library `tokenizers`, whose `LibraryTokenizer` says how it treats texts.

The files are foreign. Every size and index in them is checked, errors are one line, and nothing in them is run.
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
