"""Tokenizers: training, spans of tokens in the text, and export in the format of Hugging Face."""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(
    __name__,
    {
        "bpe": ["BpeOptions", "PreTokenizer", "save_tokenizer", "token_spans", "train_bpe"],
        "merges": ["BpeSweep", "SizeRows", "apply_merges", "bpe_sweep", "token_widths", "tokenize"],
        "export": ["bpe_tokenizer", "unigram_tokenizer"],
        "unigram": ["UnigramModel", "UnigramSweep", "unigram_counts", "unigram_sweep", "unigram_tokenize"],
    },
)
