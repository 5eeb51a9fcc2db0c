"""Which result is the best: one rule for every table, column `best` and sentence of the report.

A result leads by more than the spread where its mean differs from the other's by more than the deviation of the
difference, the root of the sum of both squared deviations. The best leads all rivals so; otherwise it and those that it
does not lead so are not separable. Equal results are said to be equal. A single run that another seed would change has
no spread: it is not compared, and where it is ahead of all others no verdict is given. A computation without chance has
the spread zero. A verdict that rests on fewer than three runs of a rival says so: "(2 runs)".
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import polars as pl

ONE_RUN = "one run"
EQUAL, NOT_SEPARABLE = "equal: ", "not separable: "
FEW_RUNS = re.compile(r" \((1 run|2 runs)\)$")
"""The end of a verdict that rests on fewer than three runs."""
FEW_NOTE = "(1 run), (2 runs): the fewest runs of a result that was compared"

NOTE = (
    "the best; its lead over every other exceeds the spread, the root of the sum of both squared deviations. "
    "≈: not separable from the best mean"
)
"""The rule, as it stands below a table."""


class Spread(NamedTuple):
    """The values of some runs."""

    mean: float
    deviation: float | None
    """with one degree of freedom less than runs; None for one run"""
    runs: int | None = None
    """None where no chance is involved"""

    @classmethod
    def of(cls, values: pl.Series, *, by_chance: bool = True) -> "Spread | None":
        """Mean and deviation of the values; None without values. by_chance: another seed gives another value."""
        found = values.drop_nulls().cast(pl.Float64).to_numpy()
        if not len(found):
            return None
        alone = None if by_chance else 0.0
        deviation = float(found.std(ddof=1)) if len(found) > 1 else alone
        return cls(float(found.mean()), deviation, len(found) if by_chance else None)


def separable(one: Spread, other: Spread) -> bool | None:
    """Whether two means differ by more than the deviation of the difference; None where one has no spread."""
    if one.deviation is None or other.deviation is None:
        return None
    return abs(one.mean - other.mean) > (one.deviation**2 + other.deviation**2) ** 0.5


def few_runs(runs: int | None) -> str:
    """What follows a verdict on fewer than three runs; else empty. runs: None without chance."""
    return f" ({runs} run{'s' * (runs > 1)})" if runs is not None and runs < 3 else ""


def against(difference: float, separable: bool | None, runs: int | None) -> str:
    """What is said of one result and one rival; a difference above 0 is `higher`. separable: None without a spread."""
    if separable is None:
        return ONE_RUN
    word = "higher" if difference > 0 else "lower"
    return (word if separable else NOT_SEPARABLE.rstrip(": ")) + few_runs(runs)


class Verdict(NamedTuple):
    """The names of the leaders."""

    best: list[str]
    """the best: several where they are equal, none where the lead does not exceed the spread"""
    tied: list[str]
    """those that are not separable, the highest (or lowest) mean first; none where there is a best"""
    unknown: bool
    """no best since a run has no spread"""
    runs: int | None = None
    """the fewest runs of a rival; None without chance"""

    def text(self) -> str:
        """The cell of a column `best`; empty where there was nothing to compare."""
        if self.unknown:
            return ONE_RUN
        if self.tied:
            return NOT_SEPARABLE + "; ".join(self.tied) + few_runs(self.runs)
        return (EQUAL if len(self.best) > 1 else "") + "; ".join(self.best) + few_runs(self.runs)


def verdict(rivals: Mapping[str, Spread | None], *, largest: bool) -> Verdict:
    """Compare at least two rivals that have values; with fewer nobody leads. largest: a large value is better."""
    known = {name: spread for name, spread in rivals.items() if spread is not None}
    if len(known) < 2:
        return Verdict([], [], False)
    top = (max if largest else min)(known.values(), key=lambda spread: spread.mean)
    equal = [name for name, spread in known.items() if spread[:2] == top[:2]]
    judged = {name: spread for name, spread in known.items() if spread.deviation is not None or spread == top}
    if len(equal) < len(known) and (top.deviation is None or len(judged) < 2):
        return Verdict([], [], True)
    behind = [name for name in judged if name not in equal and not separable(top, judged[name])]
    counts = [[spread.runs for spread in of.values() if spread.runs is not None] for of in (judged, known)]
    runs = min(counts[0] or counts[1], default=None)  # Where chance plays no part among those judged: of the others.
    return Verdict([], equal + behind, False, runs) if behind else Verdict(equal, [], False, runs)


class Best(str):
    """A cell with the best value of its column."""


class Tied(str):
    """A cell whose value is not separable from the best mean of its column."""


class Ours(str):
    """The name of a method of this project."""


Kind = Callable[[str], str]
"""Makes a cell of its text: `str`, `Best`, `Tied`, or one of these two with the number of runs behind the text."""


def kinds(spreads: Sequence[Spread | None], *, largest: bool = True) -> list[Kind]:
    """The kind of cell for each rival: `Best`, `Tied`, or `str`. spreads: None for one without a value."""
    rivals = {str(place): spread for place, spread in enumerate(spreads)}
    found = verdict(rivals, largest=largest)
    if len(found.best) == sum(spread is not None for spread in rivals.values()):
        return [str] * len(spreads)  # All are equal: nobody leads.
    few = few_runs(found.runs)
    leading: dict[str, Kind] = {}
    for names, kind in ((found.best, Best), (found.tied, Tied)):
        leading |= dict.fromkeys(names, partial(_with_runs, kind, few) if few else kind)
    return [leading.get(str(place), str) for place in range(len(spreads))]


def _with_runs(kind: Kind, runs: str, cell: str) -> str:
    return kind(cell + runs)
