"""The word model's formulas over strings and dictionaries, and every segmentation of a short run."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

D1, T1, D2, T2 = 0.5, 1.0, 0.9, 1.0
BEGIN, END = "<begin>", "<end>"


class Run(NamedTuple):
    """A segmented run: the symbols beside it, as tuples ("symbol", name), and its words."""

    left: tuple[str, str]
    words: tuple[str, ...]
    right: tuple[str, str]

    def pairs(self) -> list[tuple]:
        return list(pairwise([self.left, *self.words, self.right]))


class PlainWords:
    """Counts of segmented runs and the probabilities that follow from them; a unit is a character."""

    def __init__(self, runs: Sequence[Run], alphabet: Sequence[str], symbols: int, affinity=lambda u, w: 1.0) -> None:
        self.pairs = Counter(pair for run in runs for pair in run.pairs())
        self.c: Counter = Counter()
        self.followers: Counter = Counter()
        self.c1: Counter = Counter()
        for (u, w), n in self.pairs.items():
            self.c[u] += n
            self.followers[u] += 1
            self.c1[w] += 1
        self.N, self.D = sum(self.c1.values()), len(self.c1)
        self._affinity, self._symbols = affinity, symbols
        self._types = [w for w in self.c1 if isinstance(w, str)]
        self._size = len(alphabet) + 2  # unknown units, and the end
        self._units = Counter(pair for word in self._types for pair in pairwise([BEGIN, *word, END]))

    def q(self, unit: str) -> float:
        before = Counter(c for _, c in self._units)
        above = max(before[unit] - 0.5, 0)
        return (above + (0.5 * len(before) + 1) / self._size) / (sum(before.values()) + 1)

    def p_unit(self, unit: str, before: str) -> float:
        followers = {c: n for (b, c), n in self._units.items() if b == before}
        above = max(followers.get(unit, 0) - 0.5, 0)
        return (above + (0.5 * len(followers) + 1) * self.q(unit)) / (sum(followers.values()) + 1)

    def p0(self, word) -> float:
        if not isinstance(word, str):
            return 0.2 / self._symbols
        return 0.8 * math.prod(self.p_unit(c, b) for b, c in pairwise([BEGIN, *word, END]))

    def p1(self, w) -> float:
        return (max(self.c1[w] - D1, 0) + (T1 + D1 * self.D) * self.p0(w)) / (T1 + self.N)

    def p(self, w, u) -> float:
        lower = (T2 + D2 * self.followers[u]) * self.p1(w) * self._affinity(u, w)
        return (max(self.pairs[u, w] - D2, 0) + lower) / (T2 + self.c[u])

    def probability(self, run: Run, bonus: float = 0.0) -> float:
        return math.prod(self.p(w, u) for u, w in run.pairs()) * math.exp(bonus * len(run.words))


def segmentations(text: Sequence, is_candidate) -> Iterator[tuple]:
    """Every segmentation of a text, or of a tuple of symbols, into candidates."""
    if not text:
        yield ()
    for length in range(1, len(text) + 1):
        if is_candidate(text[:length]):
            for rest in segmentations(text[length:], is_candidate):
                yield (text[:length], *rest)


def enumerated(model: PlainWords, left, text: str, right, is_candidate, bonus: float = 0.0) -> dict[tuple, float]:
    """The posterior of every segmentation of a run."""
    weights = {words: model.probability(Run(left, words, right), bonus) for words in segmentations(text, is_candidate)}
    total = sum(weights.values())
    return {words: weight / total for words, weight in weights.items()}
