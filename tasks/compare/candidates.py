"""What is compared on every text: codes that encode all of Unicode, and the reference."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tasks.compare.entries import Comparison
from tokenlab.codes.baselines import ByteCode
from tokenlab.codes.bits.bit_code import BitCode
from tokenlab.codes.measured import CodeAsTokenizer
from tokenlab.codes.script import ScriptCode
from tokenlab.metrics.counting import TextTokenizer
from tokenlab.tokenizers.measured import read_text_tokenizer


class Candidate(NamedTuple):
    """A tokenizer or code in a table."""

    family: str
    name: str
    tokenizer: TextTokenizer


def for_any_text(reference: Candidate) -> Iterator[Candidate]:
    """The codes that encode every text, without merges, and the reference."""
    for code in (ByteCode(), BitCode(), ScriptCode()):
        yield Candidate("code", code.kind, CodeAsTokenizer(code))
    yield reference


def read_reference(comparison: Comparison) -> Candidate:
    """The tokenizer that normalised length divides by, named by its file or folder."""
    path = Path(comparison.reference)
    return Candidate("reference", path.name, read_text_tokenizer(path))
