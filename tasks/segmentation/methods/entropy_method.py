"""Segmentation by predictive entropy (Entropy-driven pre-tokenization, section 3.2)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from tasks.runtime.library_options import MixedParameters
from tasks.segmentation.methods.interface import Configuration, Entropies, Method, Signals, Tuned, Tuning, text_of_grid
from tokenlab.core.errors import ParameterError
from tokenlab.segment.by_entropy import segment_by_entropy
from tokenlab.segment.options import BoundaryOptions, Isolate

_SENTENCES_PER_BATCH = 1 << 12


class EntropyMethod(MixedParameters):
    """A rule of `BoundaryOptions`: one configuration. With `grid` the threshold is tuned; for text without gold words
    it is the given one."""

    by: Literal["entropy"]
    isolate: Isolate
    grid: tuple[float, ...] = ()

    needs_entropy: ClassVar[bool] = True
    needs_statistics: ClassVar[bool] = False

    @cached_property
    def given(self) -> BoundaryOptions:
        """The options in the section."""
        return self.library_options(BoundaryOptions)

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = self.given
        if self.grid and given.threshold is None:
            raise ParameterError(f"grid has no meaning with the rule `{given.rule}`; leave it out")
        for threshold in self.grid:
            BoundaryOptions(given.rule, threshold)
        return self

    @property
    def tuning(self) -> Tuning | None:
        """The threshold, where there is a grid."""
        return Tuning("threshold", self.grid, self.given.threshold) if self.grid else None

    @property
    def based_on(self) -> None:
        """No other method."""

    def check(self, methods: Mapping[str, Method]) -> None:
        """It is based on no other method."""

    def configurations(self, name: str, methods: Mapping[str, Method], tuned: Tuned) -> list[Configuration]:
        """The only row."""
        options = BoundaryOptions(self.given.rule, tuned.get(name, self.given.threshold))
        return [
            Configuration(
                name=name,
                method=name,
                signal=self.by,
                segment=partial(_segment, options, self.isolate),
                values={"threshold": options.threshold},
                parameters={"rule": options.rule, "isolate": self.isolate}
                | ({"grid": text_of_grid(self.grid)} if self.grid else {}),
            )
        ]


def _segment(
    options: BoundaryOptions, isolate: Isolate, texts: Sequence[str], entropies: Entropies | None, signals: Signals
) -> Iterator[list[int]]:
    """The boundaries of sentences by their own entropies alone."""
    assert entropies is not None, "methods that need entropies are left out without them"
    for first in range(0, len(texts), _SENTENCES_PER_BATCH):
        some = slice(first, first + _SENTENCES_PER_BATCH)
        spans = segment_by_entropy(texts[some], entropies[some], options, isolate).spans()
        yield from ([start for start, _ in of_sentence[1:]] for of_sentence in spans)
