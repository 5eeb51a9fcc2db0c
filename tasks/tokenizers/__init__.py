"""Tokenizers of `tokenlab train` beside each other, and what language models make of them."""
