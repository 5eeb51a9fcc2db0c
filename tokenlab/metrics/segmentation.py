"""Precision, recall and F1 of word segmentation, as in the SIGHAN bake-offs (Emerson, 2005).

A predicted word counts where a gold word starts and ends at the same characters. That is what the bake-off's script
computes, up to its alignment by `diff`. Words of Han characters alone are counted apart, too: rules for digits, Latin
letters and punctuation differ from paper to paper and move F1 by points. Boundaries are counted inside sentences, whose
edges are given. All counts are pooled over the corpus, not averaged over sentences.

`tokenlab.metrics.registry` lists the metrics computed from these counts.
"""

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from typing import NamedTuple

from tokenlab.core.errors import InputError


class Counts(NamedTuple):
    """Gold items, predicted items, and items that are both."""

    gold: int
    predicted: int
    both: int

    @property
    def precision(self) -> float | None:
        """Share of the predicted items that are correct, 0..1; None where nothing was predicted."""
        return self.both / self.predicted if self.predicted else None

    @property
    def recall(self) -> float | None:
        """Share of the gold items that were found, 0..1; None where there is none."""
        return self.both / self.gold if self.gold else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall, 0..1; None where there is nothing to find and nothing predicted."""
        return 2 * self.both / (self.gold + self.predicted) if self.gold + self.predicted else None


@dataclass(frozen=True)
class SegmentationScore:
    """Counts of words, of words of Han characters alone, of boundaries, and of the gold words that are missing from the
    training text or occur in it.

    `unknown` and `known` are None where no list of known words was given.
    """

    sentences: int
    words: Counts
    han_words: Counts
    boundaries: Counts
    unknown: Counts | None
    known: Counts | None


def score_segmentation(
    gold: Iterable[Sequence[str]],
    predicted: Iterable[Sequence[str]],
    known_words: Container[str] | None = None,
    names: tuple[str, str] = ("gold", "prediction"),
) -> SegmentationScore:
    """Score predicted words against gold words, sentence by sentence.

    Args:
        known_words: the words of the training text, for the counts of unknown and known gold words.
        names: of the two texts, for error messages.

    Raises:
        InputError: the two texts differ in their characters or in their number of sentences; names the sentence.
    """
    sentences = 0
    words = han_words = boundaries = found_unknown = _NOTHING
    for sentences, (right, ours) in enumerate(zip_longest(gold, predicted), start=1):
        if right is None or ours is None:
            shorter = names[0 if right is None else 1]
            raise InputError(f"{shorter} ends before sentence {sentences} of the other; both must cut the same text")
        _check_same_text(right, ours, sentences, names)
        right_spans, our_spans = _spans(right), set(_spans(ours))
        found = [span in our_spans for span in right_spans]
        words = _add(words, Counts(len(right), len(ours), sum(found)))
        of_han = [hit for word, hit in zip(right, found, strict=True) if _HAN(word)]
        han_words = _add(han_words, Counts(len(of_han), sum(_HAN(word) is not None for word in ours), sum(of_han)))
        cuts, our_cuts = {end for _, end in right_spans[:-1]}, {end for _, end in our_spans}
        boundaries = _add(boundaries, Counts(len(cuts), max(len(ours) - 1, 0), len(cuts & our_cuts)))
        if known_words is not None:
            hits = [hit for word, hit in zip(right, found, strict=True) if word not in known_words]
            found_unknown = _add(found_unknown, Counts(len(hits), len(hits), sum(hits)))
    unknown = None if known_words is None else found_unknown
    known = None
    if unknown is not None:
        gold_known = words.gold - unknown.gold
        known = Counts(gold_known, gold_known, words.both - unknown.both)
    return SegmentationScore(sentences, words, han_words, boundaries, unknown, known)


_NOTHING = Counts(0, 0, 0)
# Ideographs with their extensions and compatibility forms, and the circles that stand for zero in numerals.
_HAN = re.compile("[\u3007\u25cb\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+").fullmatch


def _add(left: Counts, right: Counts) -> Counts:
    return Counts(left.gold + right.gold, left.predicted + right.predicted, left.both + right.both)


def _spans(words: Sequence[str]) -> list[tuple[int, int]]:
    ends = list(accumulate(map(len, words)))
    return list(zip([0, *ends], ends, strict=False))


def _check_same_text(gold: Sequence[str], predicted: Sequence[str], number: int, names: tuple[str, str]) -> None:
    right, ours = "".join(gold), "".join(predicted)
    if right != ours:
        place = next(
            (i for i, (a, b) in enumerate(zip(right, ours, strict=False)) if a != b), min(len(right), len(ours))
        )
        raise InputError(
            f"sentence {number}: {names[0]} and {names[1]} differ from character {place + 1} on "
            f"({right[place : place + 8]!r} against {ours[place : place + 8]!r}); both must cut the same text"
        )


def oov_rate(score: SegmentationScore) -> float | None:
    """Share of the gold words missing from the training text (out of vocabulary), 0..1.

    None without a list of known words or without gold words, as the two below."""
    return score.unknown.gold / score.words.gold if score.unknown and score.words.gold else None


def oov_recall(score: SegmentationScore) -> float | None:
    """Share of these words that were found, 0..1."""
    return score.unknown.recall if score.unknown else None


def iv_recall(score: SegmentationScore) -> float | None:
    """Share of the gold words in the training text (in vocabulary) that were found, 0..1."""
    return score.known.recall if score.known else None
