"""The interface of segmentation methods: their signals, their tuning, and configurations, which place boundaries.

A section of `segmentation.methods` is one method: its kind (`by`), fixed options, and values that give several rows of
the tables or are tuned. A configuration is one row: a method with all its values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tokenlab.ngrams.counting import NgramStatistics
from tokenlab.segment.options import SegmentOptions

Entropies = Sequence[NDArray[np.float32]]
"""For each sentence a predictive entropy in nats per character, NaN where there is none."""

Tuned = Mapping[str, float | None]
"""The value of each method that has a grid."""


class Signals(NamedTuple):
    """The signals of one training split."""

    split: str
    """Its name in file names: `subset-0`, `full`."""
    statistics: NgramStatistics
    theta: float | None
    """The mean predictive entropy of its characters in nats, None without a language model."""
    word_models: Path
    """The folder of the word models: NAME/SPLIT.safetensors."""


class Tuning(NamedTuple):
    """A parameter tuned by word F1 on validation sentences, and its value for text without gold words."""

    parameter: str
    grid: Sequence[float]
    default: float | None


Segmenting = Callable[[Sequence[str], Entropies | None, Signals], Iterator[list[int]]]
"""Sentences, their entropies and the signals -> for each sentence the offsets at which its second and later segments
begin."""


@dataclass(frozen=True)
class Configuration:
    """One row of the tables before BPE. `name` also names files."""

    name: str
    method: str
    signal: str
    """The kind of its method: a key of `registry.METHODS`."""
    segment: Segmenting
    values: Mapping[str, float | None] = field(default_factory=dict)
    """The values that distinguish it from other configurations of the method: lambda, threshold, nu."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """All its other options."""
    objective: SegmentOptions | None = None
    """Of a method that maximises a sum of utilities of the segments and nothing else: the options of that sum."""


class Method(Protocol):
    """A kind of method. Its fields are the keys of its section; `by` names the kind in `registry.METHODS`."""

    needs_entropy: ClassVar[bool]
    """Whether it is left out for a corpus without predictive entropies."""
    needs_statistics: ClassVar[bool]
    """Whether its segments depend on the training split; otherwise one seed is enough for tuning."""

    @property
    def tuning(self) -> Tuning | None:
        """The parameter that it tunes, if any."""
        ...

    @property
    def based_on(self) -> str | None:
        """The method whose options and tuned value it takes over, if any."""
        ...

    def check(self, methods: "Mapping[str, Method]") -> str | None:
        """The problem with the method that it is based on, as the end of an error message, or None."""
        ...

    def configurations(self, name: str, methods: "Mapping[str, Method]", tuned: Tuned) -> list[Configuration]:
        """Its rows.

        Args:
            name: its own name.
            methods: all methods of the table by name.
            tuned: the tuned values so far.
        """
        ...


def text_of_grid(grid: Sequence[float]) -> str:
    """A grid as one parameter of a configuration."""
    return ", ".join(f"{value:g}" for value in grid)
