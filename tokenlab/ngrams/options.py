"""Options of the n-gram statistics."""

from dataclasses import dataclass
from typing import Literal

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, check_least, option

CountTokens = Literal["ngram", "unigram", "bigram"]
Edge = Literal["skip", "symbol"]
LogBase = Literal["e", "2"]
Unit = Literal["cluster", "character"]

LARGEST_N_MAX = 64


@dataclass(frozen=True)
class StatisticsOptions:
    """What is counted, and how.

    `edge`: a neighbour is the character before or after an n-gram; the edge of a sentence (or whitespace) either is
    none or counts as one more value. `min_frequency` leaves rows out of the result; the statistics of the others do
    not change. `log_base` is the base of PMI and entropy alike.

    `unit`: what an n-gram has n of. A `cluster` is what a reader does not cut (`tokenlab.ngrams.clusters`), such as a
    letter with its vowels and marks; a `character` is a code point. For Chinese both are the same.
    """

    n_max: int = option("longest n-gram", 6, metavar="N")
    unit: Unit = option(
        "units of n-grams: letters with their vowels and marks (cluster), or code points (character); the same for "
        "Chinese",
        "cluster",
    )
    count_tokens: CountTokens = option("what T of the PMI counts: n-grams of 1..N, or those of one length", "ngram")
    edge: Edge = option("an edge of a sentence is no neighbour (skip), or one more neighbour (symbol)", "skip")
    min_frequency: int = option(
        "leave out n-grams longer than one character that occur fewer times than this", 1, metavar="F"
    )
    log_base: LogBase = option("PMI and entropy in nats (e) or in bits (2)", "e")

    def __post_init__(self) -> None:
        if not 1 <= self.n_max <= LARGEST_N_MAX:
            raise ParameterError(f"n_max is {self.n_max}; it must be from 1 to {LARGEST_N_MAX}")
        check_least("min_frequency", self.min_frequency, 1)
        check_choice("count_tokens", self.count_tokens, CountTokens)
        check_choice("edge", self.edge, Edge)
        check_choice("log_base", self.log_base, LogBase)
        check_choice("unit", self.unit, Unit)
