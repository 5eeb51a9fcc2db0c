"""Tokenizers: training, spans of tokens in the text, export in the format of Hugging Face."""

from tokenlab.tokenizers.bpe import PreTokenizer, save_tokenizer, token_spans, train_bpe

__all__ = ["PreTokenizer", "save_tokenizer", "token_spans", "train_bpe"]
