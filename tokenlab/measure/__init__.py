"""Tokenizers of every kind measured on a text: ids and spans of tokens in, the counts of `tokenlab.metrics` out.

`read_text_tokenizer` reads any published or own tokenizer file, `CodeAsTokenizer` makes a tokenizer of a character
code; `count_tokens` counts its tokens on texts, and `tokenlab.metrics.of_tokenizer` gives every measure of the counts.
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(
    __name__,
    {
        "coded": ["CodeAsTokenizer", "TokenizerOfAtoms"],
        "counting": ["count_tokens"],
        "files": ["read_text_tokenizer"],
        "hugging_face": ["HuggingFaceTokenizer"],
        "interface": ["TextTokenizer", "Tokens"],
        "spelling": ["SpellingTokenizer"],
        "words": ["TextWithWords", "texts_with_words"],
    },
)
