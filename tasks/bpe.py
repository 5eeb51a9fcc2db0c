"""Parameters of the BPE tokenizers of the segmentation family, and their baselines."""

from typing import Literal

from pydantic import Field

from tasks.stage import Parameters
from tokenlab.tokenizers import PreTokenizer

BASELINES: dict[str, PreTokenizer] = {"bpe": "whitespace", "bpe-punctuation": "punctuation"}
"""BPE on unsegmented text, and with punctuation split off."""


class Bpe(Parameters):
    """Vocabulary of a tokenizer that is trained on a drawn training part, and the text that tokenizers are applied to:
    raw, or as the method cut it."""

    vocabulary_size: int = Field(ge=2, le=10_000_000)
    inference: list[Literal["raw", "pretokenized"]]


class Rest(Parameters):
    """The second table: statistics and BPE from all sentences that are in no test or validation part."""

    readings: list[str]
    vocabulary_size: int = Field(ge=2, le=10_000_000)
