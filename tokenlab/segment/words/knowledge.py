"""What a fitted model holds: alphabet, lexicon, classes, and means of the counts over the collected sweeps.

A sweep's counts are one sample. Means of the discounted counts, max(c - d, 0), and of c, T, N and D take their place in
the formulas of `lattice_kernels`; they still sum to one.
"""

from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.segment.words.base_kernels import Base, estimate_base
from tokenlab.segment.words.classes import Classes
from tokenlab.segment.words.context_kernels import fill_odds
from tokenlab.segment.words.encoding import SPECIAL_SYMBOLS, UNKNOWN, Alphabet, Runs, number_symbols
from tokenlab.segment.words.lattice_kernels import D1, D2, UNIT_SCALE, Parts
from tokenlab.segment.words.lexicon import Lexicon, remaining_units
from tokenlab.segment.words.pair_kernels import MEAN_WORD, Counts, filled_table
from tokenlab.segment.words.sampler_kernels import Text


class Known(NamedTuple):
    """The numbers of units, symbols and words."""

    units: Alphabet
    symbols: Alphabet
    lexicon: Lexicon

    @property
    def symbol_count(self) -> int:
        """Words are numbered from here on."""
        return SPECIAL_SYMBOLS + len(self.symbols.clusters)


class Means(NamedTuple):
    """Means over the collected sweeps."""

    u: NDArray[np.int32]  # [pairs]
    w: NDArray[np.int32]  # [pairs]
    pairs: NDArray[np.float32]  # [pairs] of max(c(u,w) - d2, 0)
    words: NDArray[np.float32]  # [contexts, 3] of c(u), T(u), max(c1(w) - d1, 0)
    totals: NDArray[np.float64]  # [2] of N and D

    def counts(self, base: Base, classes: Classes) -> Counts:
        """As counts from which the kernels subtract the discounts again."""
        words = np.zeros(len(self.words), MEAN_WORD)
        words["c"], words["followers"], words["c1"] = self.words.T
        words["c1"] += np.where(words["c1"] > 0, np.float32(D1), np.float32(0))
        words["kind"], words["p0"] = classes.kinds, base.words
        keys, number, bits = filled_table(self.u, self.w, self.pairs + np.float32(D2))
        return Counts(keys, number, bits, words, self.totals)


class Knowledge(NamedTuple):
    """Everything that is saved."""

    known: Known
    means: Means
    in_use: NDArray[np.bool_]  # [words] types in use after the last sweep, whose P0 the model has
    classes: Classes
    contexts: NDArray[np.float32]
    """[SLOTS] weights of the classifier of boundaries; all 0 where none was learned."""


def symbol_alphabet(clusters: list[str]) -> Alphabet:
    """The numbers of isolated clusters."""
    return Alphabet(clusters, SPECIAL_SYMBOLS, UNKNOWN)


def encode(runs: Runs, known: Known, contexts: NDArray[np.float32] | None = None) -> Text:
    """The runs of any text, by the numbers of a model; `contexts`: the weights by which boundaries have odds."""
    units = known.units.numbers(runs.points, runs.place, runs.place_end)
    spans = known.lexicon.spans(units, remaining_units(runs.first), runs.may_be_new)
    odds = np.ones(len(units))
    if contexts is not None:
        fill_odds(units, runs.first, contexts, -1, odds)
    return Text(spans, units, runs.first, *number_symbols(runs, known.symbols), odds)


def parts_of(base: Base, classes: Classes, longest: int, length_bonus: float) -> Parts:
    """The parameters of p(w|u) beside the counts."""
    scale = UNIT_SCALE ** np.arange(1, longest + 1) * exp(length_bonus)
    return Parts(base, classes.new_kinds, classes.affinity, scale)


def base_of(known: Known, in_use: NDArray[np.bool_]) -> Base:
    """P0 from the types in use."""
    lexicon = known.lexicon
    return estimate_base(in_use, lexicon.prefix, lexicon.level, *lexicon.last_parts, known.symbol_count)
