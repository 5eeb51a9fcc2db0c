"""Segmentation by both signals: predictive entropy as boundary scores of a statistical method (not in the paper)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from tasks.runtime.stage import Parameters
from tasks.segmentation.methods.interface import Configuration, Entropies, Method, Signals, Tuned, Tuning, text_of_grid
from tasks.segmentation.methods.statistical_method import StatisticalMethod, option_columns, segment_by_statistics
from tokenlab.segment.by_entropy import boundary_scores
from tokenlab.segment.options import SegmentOptions


class CombinedMethod(Parameters):
    """A statistical method of one row, with its given or tuned lambda, and boundary scores nu (H - theta): one
    configuration.

    nu is tuned on `grid`; for text without gold words it is the first value. theta is the mean entropy of the training
    split.
    """

    by: Literal["both"]
    statistics: str
    grid: tuple[float, ...] = Field(min_length=1)

    needs_entropy: ClassVar[bool] = True
    needs_statistics: ClassVar[bool] = True

    @property
    def tuning(self) -> Tuning:
        """nu, the weight of the boundary scores."""
        return Tuning("nu", self.grid, self.grid[0])

    @property
    def based_on(self) -> str:
        """The statistical method."""
        return self.statistics

    def check(self, methods: Mapping[str, Method]) -> str | None:
        """The statistical method must have the decoder viterbi and one row."""
        base = methods.get(self.statistics)
        fits = isinstance(base, StatisticalMethod) and base.has_one_configuration
        if fits and base.options(None).decoder == "viterbi":  # type: ignore[union-attr]
            return None
        return (
            f"statistics: {self.statistics!r} is not a method by statistics with decoder viterbi and one row in the "
            "same table"
        )

    def configurations(self, name: str, methods: Mapping[str, Method], tuned: Tuned) -> list[Configuration]:
        """The only row."""
        base, nu = methods[self.statistics], tuned[name]
        assert isinstance(base, StatisticalMethod) and nu is not None, "`check` and `tuning` see to it"
        options = base.options(tuned.get(self.statistics))
        return [
            Configuration(
                name=name,
                method=name,
                signal=self.by,
                segment=partial(_segment, options, nu),
                values={"lambda": options.weight, "nu": nu},
                parameters=option_columns(options) | {"statistics": self.statistics, "grid": text_of_grid(self.grid)},
            )
        ]


def _segment(
    options: SegmentOptions, nu: float, texts: Sequence[str], entropies: Entropies | None, signals: Signals
) -> Iterator[list[int]]:
    """The boundaries of sentences by the statistics of a training split, and by their entropies minus theta."""
    assert entropies is not None and signals.theta is not None, "methods that need entropies are left out without them"
    scores = [boundary_scores(values, nu, signals.theta) for values in entropies]
    yield from segment_by_statistics(options, texts, entropies, signals, scores)
