"""What patches are like: their lengths in bytes and symbols, and their boundaries beside those of words."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tasks.patches.texts import Text, Words, whitespace_words
from tokenlab.metrics.segmentation import Counts
from tokenlab.patches.interface import Starts
from tokenlab.tokenizers.hierarchical import HierarchicalBPE


class Agreement(NamedTuple):
    """Counts over texts."""

    words: Counts
    boundaries: Counts

    def __add__(self, other: object) -> "Agreement":
        """The counts of both together."""
        assert isinstance(other, Agreement)
        pairs = zip(self, other, strict=True)
        return Agreement(*(Counts(*(a + b for a, b in zip(one, two, strict=True))) for one, two in pairs))


NOTHING = Agreement(Counts(0, 0, 0), Counts(0, 0, 0))


def agreement(starts: Starts, words: Words) -> Agreement:
    """The counts of one text. A text without words has none."""
    if not len(words):
        return NOTHING
    begins, ends = words[:, 0], words[:, 1]
    cuts = np.asarray(starts, np.int64)[1:]
    inside = np.searchsorted(cuts, ends, side="left") - np.searchsorted(cuts, begins, side="right")
    found = np.searchsorted(cuts, begins[1:], side="right") > np.searchsorted(cuts, ends[:-1], side="left")
    left, right = np.concatenate([[True], found]), np.concatenate([found, [True]])
    gaps, hits, wrong = len(found), int(found.sum()), int(np.maximum(inside, 0).sum())
    both = int((left & right & (inside <= 0)).sum())
    return Agreement(Counts(len(words), 1 + hits + wrong, both), Counts(gaps, hits + wrong, hits))


class Lengths:
    """The lengths of a patcher's patches, text by text. hierarchical: the second BPE by S, if patches have a marker."""

    def __init__(self, hierarchical: Mapping[int, HierarchicalBPE]) -> None:
        self._hierarchical = hierarchical
        self.texts = self.bytes = self.characters = self.words = 0
        self.lengths: Counter[int] = Counter()
        self.symbols: dict[int, Counter[int]] = {longest: Counter() for longest in hierarchical}

    def add(self, data: bytes, starts: Starts, words: int) -> None:
        """Count the patches of a text, in which so many words begin."""
        self.texts += 1
        self.bytes += len(data)
        self.characters += sum(byte & 0xC0 != 0x80 for byte in data)
        self.words += words
        self.lengths.update(np.diff(starts, append=len(data)).tolist())
        for longest, merges in self._hierarchical.items():
            ids, begins = merges.encode_patches(data, starts)
            self.symbols[longest].update(np.diff(begins, append=len(ids)).tolist())

    def facts(self, longest: int | None) -> dict[str, Any]:
        """The columns of a table. longest: S; None: each byte is a symbol and no patch has a marker."""
        patches = self.lengths.total()
        made = self.bytes if longest is None else sum(size * n for size, n in self.symbols[longest].items())
        return {
            "bytes": self.bytes,
            "characters": self.characters,
            "words": self.words,
            "patches": patches,
            "symbols_made": made,
            "bytes_per_patch": self.bytes / patches,
            "symbols_per_patch": made / patches,
            "largest_patch": max(self.lengths),
        }

    def histogram(self) -> Iterator[dict[str, Any]]:
        """Rows of a table: patches of each length, in bytes, and in symbols by S."""
        counters = [
            (0, "bytes", self.lengths),
            *((longest, "symbols", found) for longest, found in self.symbols.items()),
        ]
        for longest, unit, counter in counters:
            for length in sorted(counter):
                yield {"longest": longest, "unit": unit, "length": length, "patches": counter[length]}


def quality(
    gold: Sequence[Text], gold_starts: Sequence[Starts], test: Sequence[bytes], test_starts: Sequence[Starts]
) -> dict[str, float | None]:
    """The columns about boundaries.

    Args:
        gold: texts with gold words; none where there are none.
        gold_starts: their patches.
        test: texts whose words are what whitespace separates.
        test_starts: their patches.

    Returns: shares from 0 to 1, None where there is nothing to find; and fertility, patches a word: of the gold words
    where there are any.
    """
    plain, found, patches = NOTHING, NOTHING, 0
    for data, starts in zip(test, test_starts, strict=True):
        plain += agreement(starts, whitespace_words(data))
    for text, starts in zip(gold, gold_starts, strict=True):
        found += agreement(starts, text.words)
        patches += len(starts)
    words = found.words.gold
    if not words:
        words, patches = plain.words.gold, sum(map(len, test_starts))
    return {
        "fertility": patches / words if words else None,
        **_shares("gold", found.boundaries),
        "word_f1": found.words.f1 if found.words.gold else None,
        **_shares("whitespace", plain.boundaries),
    }


def _shares(name: str, counts: Counts) -> dict[str, float | None]:
    """Precision, recall and F1; without anything to find, all are None."""
    some = counts.gold > 0
    return {
        f"{name}_precision": counts.precision if some else None,
        f"{name}_recall": counts.recall,
        f"{name}_f1": counts.f1 if some else None,
    }
