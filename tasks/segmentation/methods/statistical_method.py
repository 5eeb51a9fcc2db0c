"""Segmentation by n-gram statistics (Entropy-driven pre-tokenization, section 3.1)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from tasks.runtime.library_options import MixedParameters
from tasks.segmentation.methods.interface import Configuration, Entropies, Method, Signals, Tuned, Tuning, text_of_grid
from tokenlab.core.errors import ParameterError
from tokenlab.segment.by_statistics import Segmenter
from tokenlab.segment.options import SegmentOptions


class StatisticalMethod(MixedParameters):
    """A set of `SegmentOptions`; each of `weights` (lambda) gives a configuration, `entropy_only` one more without PMI.

    With `grid` there is one configuration, whose lambda is tuned; for text without gold words it is `weights[0]`.
    """

    by: Literal["statistics"]
    weights: list[float] = Field(min_length=1)
    entropy_only: bool = False
    grid: tuple[float, ...] = ()

    needs_entropy: ClassVar[bool] = False
    needs_statistics: ClassVar[bool] = True

    @cached_property
    def given(self) -> SegmentOptions:
        """The options in the section, without lambda."""
        return self.library_options(SegmentOptions)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if "weight" in (self.model_extra or {}):
            raise ParameterError("weight is not a key of a method; list the values of lambda under weights")
        if self.grid and (self.entropy_only or len(self.weights) > 1):
            raise ParameterError("grid gives one row; leave out entropy_only and all weights but one")
        for weight in [*self.weights, *self.grid]:
            replace(self.given, weight=weight)
        return self

    @property
    def has_one_configuration(self) -> bool:
        """Whether it stands for a single row."""
        return len(self.weights) == 1 and not self.entropy_only

    @property
    def tuning(self) -> Tuning | None:
        """Lambda, where there is a grid."""
        return Tuning("lambda", self.grid, self.weights[0]) if self.grid else None

    @property
    def based_on(self) -> None:
        """No other method."""

    def check(self, methods: Mapping[str, Method]) -> None:
        """It is based on no other method."""

    def options(self, tuned: float | None) -> SegmentOptions:
        """The options of the only row, with lambda as tuned."""
        return replace(self.given, weight=self.weights[0] if tuned is None else tuned)

    def configurations(self, name: str, methods: Mapping[str, Method], tuned: Tuned) -> list[Configuration]:
        """One row for each weight, or the tuned one."""
        if self.grid:
            return [self._configuration(name, name, self.options(tuned.get(name)))]
        rows = [
            self._configuration(f"{name}-{weight:.12g}", name, replace(self.given, weight=weight))
            for weight in self.weights
        ]
        if self.entropy_only:
            options = replace(self.given, weight=1.0, entropy_only=True)
            rows.append(self._configuration(f"{name}-entropy", name, options))
        return rows

    def _configuration(self, name: str, method: str, options: SegmentOptions) -> Configuration:
        return Configuration(
            name=name,
            method=method,
            signal=self.by,
            segment=partial(segment_by_statistics, options),
            values={"lambda": None if options.entropy_only else options.weight},
            parameters=option_columns(options) | ({"grid": text_of_grid(self.grid)} if self.grid else {}),
            objective=options,
        )


def segment_by_statistics(
    options: SegmentOptions,
    texts: Sequence[str],
    entropies: Entropies | None,
    signals: Signals,
    boundary_scores: Sequence[NDArray[np.floating]] | None = None,
) -> Iterator[list[int]]:
    """The boundaries of sentences by the statistics of a training split, and by boundary scores if given."""
    for batch in Segmenter(signals.statistics, options).segment(texts, boundary_scores):
        yield from ([start for start, _ in spans[1:]] for spans in batch.spans())


def option_columns(options: SegmentOptions) -> dict[str, Any]:
    """The options as parameters of a row; lambda is a column of its own."""
    columns = {name: value for name, value in asdict(options).items() if name != "weight"}
    return columns | {"single_character": str(options.single_character)}
