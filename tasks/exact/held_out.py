"""Sentences held out from the training of a language model: a share of the distinct sentences, chosen by their hash.

Equal sentences are on the same side, and a corpus keeps its held-out sentences when others are added to it.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from tasks.runtime.stage import Parameters
from tokenlab.text.store import read_corpus


class HeldOut(Parameters):
    """The share of the distinct sentences that is held out, and the seed of the choice."""

    share: float = Field(gt=0, lt=1)
    seed: int = Field(ge=0)


def is_held_out(text: str, held_out: HeldOut) -> bool:
    """Whether a sentence is held out."""
    digest = hashlib.sha256(f"{held_out.seed}:{text}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < held_out.share * 2**64


def training_texts(folder: Path, held_out: HeldOut) -> Iterator[str]:
    """The sentences of a corpus that are not held out."""
    return (document.text for document in read_corpus(folder) if not is_held_out(document.text, held_out))


def held_out_texts(folder: Path, held_out: HeldOut) -> list[str]:
    """The distinct sentences of a corpus that are held out, in the order in which they first occur."""
    return list(dict.fromkeys(doc.text for doc in read_corpus(folder) if is_held_out(doc.text, held_out)))
