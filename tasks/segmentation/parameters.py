"""Parameters of the BPE tokenizers of the segmentation family, and their baselines."""

from typing import Literal, Self

from pydantic import model_validator

from tasks.runtime.stage import Parameters
from tokenlab.tokenizers.bpe import BpeOptions, PreTokenizer

BASELINES: dict[str, PreTokenizer] = {"bpe": "whitespace", "bpe-punctuation": "punctuation"}
"""BPE on unsegmented text, and on text split at punctuation."""


class Bpe(Parameters):
    """Vocabulary of the tokenizers trained on the training sentences of a seed, and the text to which tokenizers are
    applied: raw, or pretokenized by the method."""

    vocabulary_size: int
    inference: list[Literal["raw", "pretokenized"]]

    @model_validator(mode="after")
    def _check(self) -> Self:
        BpeOptions(self.vocabulary_size)
        return self


class Full(Parameters):
    """The methods of the table with statistics and BPE from the full training text, and the vocabulary of its
    tokenizers."""

    methods: list[str]
    vocabulary_size: int

    @model_validator(mode="after")
    def _check(self) -> Self:
        BpeOptions(self.vocabulary_size)
        return self
