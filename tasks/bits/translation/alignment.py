"""Pairs of sentences or verses with the same id in two corpora, and their split."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tasks.bits.translation.parameters import PairSplit
from tokenlab.core.errors import InputError
from tokenlab.text.store import read_corpus


class Verse(NamedTuple):
    """A text in both languages."""

    id: str
    source: str
    target: str


class Aligned(NamedTuple):
    """The texts that both corpora have, in the order of the source, and the numbers of the others."""

    verses: list[Verse]
    only_in_source: int
    only_in_target: int


class Parts(NamedTuple):
    """Disjoint verses; `training` in the order of the draw, as are the others."""

    training: list[Verse]
    validation: list[Verse]
    test: list[Verse]


def align(source: Path, target: Path) -> Aligned:
    """The pairs of two corpora by their ids. Raises InputError for an id that a corpus has twice, and for no pair."""
    sources, targets = _by_id(source), _by_id(target)
    verses = [Verse(id, text, targets[id]) for id, text in sources.items() if id in targets]
    if not verses:
        raise InputError(f"{source.name}, {target.name}: no id is in both corpora; take two that are parallel")
    return Aligned(verses, len(sources) - len(verses), len(targets) - len(verses))


def split_verses(verses: Sequence[Verse], split: PairSplit) -> Parts:
    """Draw test, validation and training verses at random. Raises InputError where none is left for training."""
    held_out = split.test + split.validation
    if len(verses) <= held_out:
        raise InputError(f"{len(verses)} pairs, of which {held_out} are held out; lower split.test or split.validation")
    order = np.random.default_rng(split.seed).permutation(len(verses))
    drawn = [verses[number] for number in order]
    last = None if split.training is None else held_out + split.training
    return Parts(drawn[held_out:last], drawn[split.test : held_out], drawn[: split.test])


def _by_id(corpus: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for document in read_corpus(corpus):
        if document.id in found:
            raise InputError(f"{corpus.name}: the id {document.id} occurs twice; pairs need ids of their own")
        found[document.id] = document.text
    return found
