"""Tokenizers: training, spans of tokens in the text, export in the format of Hugging Face."""

from tokenlab.tokenizers.bpe import PreTokenizer, save_tokenizer, token_spans, train_bpe
from tokenlab.tokenizers.bpe_sweep import BpeSweep, SizeRows, apply_merges, bpe_sweep, token_widths, tokenize
from tokenlab.tokenizers.export import bpe_tokenizer, unigram_tokenizer
from tokenlab.tokenizers.unigram import UnigramModel, UnigramSweep, unigram_counts, unigram_sweep, unigram_tokenize

__all__ = [
    "BpeSweep",
    "PreTokenizer",
    "SizeRows",
    "UnigramModel",
    "UnigramSweep",
    "apply_merges",
    "bpe_sweep",
    "bpe_tokenizer",
    "save_tokenizer",
    "token_spans",
    "token_widths",
    "tokenize",
    "train_bpe",
    "unigram_counts",
    "unigram_sweep",
    "unigram_tokenize",
    "unigram_tokenizer",
]
