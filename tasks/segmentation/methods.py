"""Segmentation methods: their parameters, their tuning, and configurations, which place boundaries.

A section of `segmentation.methods` is one method: its kind (`by`), fixed options, and values that give several rows of
the tables or are tuned. A configuration is one row: a method with all its values. A new kind is a class that fits
`Method`, and a line in `METHODS`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, model_validator

from tasks.runtime.stage import MixedParameters, Parameters, Stage
from tasks.segmentation.splits import Training
from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice
from tokenlab.ngrams.counting import NgramStatistics
from tokenlab.segment.by_entropy import boundary_scores, segment_by_entropy
from tokenlab.segment.by_statistics import Segmenter
from tokenlab.segment.options import BoundaryOptions, Isolate, SegmentOptions
from tokenlab.segment.segmentation import Segmentation
from tokenlab.segment.words.model import WordModel
from tokenlab.segment.words.options import WordOptions

Entropies = Sequence[NDArray[np.float32]]
"""For each sentence a predictive entropy in nats per character, NaN where there is none."""

Tuned = Mapping[str, float | None]
"""The value of each method that has a grid."""

NUMBERS = ("lambda", "threshold", "nu")
"""Columns with the values that distinguish configurations of a method."""

_SENTENCES_PER_BATCH = 1 << 12


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
    """The kind of its method: a key of `METHODS`."""
    segment: Segmenting
    values: Mapping[str, float | None] = field(default_factory=dict)
    """The values that distinguish it from other configurations of the method: lambda, threshold, nu."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """All its other options."""
    objective: SegmentOptions | None = None
    """Of a method that maximises a sum of utilities of the segments and nothing else: the options of that sum."""

    @property
    def columns(self) -> dict[str, Any]:
        """What identifies it in tables of scores."""
        values = {name: self.values.get(name) for name in NUMBERS}
        return {"configuration": self.name, "method": self.method, "signal": self.signal, **values}


class Method(Protocol):
    """A kind of method. Its fields are the keys of its section; `by` names the kind in `METHODS`."""

    needs_entropy: ClassVar[bool]
    """Whether it is left out for a corpus without predictive entropies."""
    needs_statistics: ClassVar[bool]
    """Whether its segments depend on the training split; otherwise one seed is enough for tuning."""

    @property
    def tuning(self) -> Tuning | None:
        """The parameter that it tunes, if any."""
        ...

    def configurations(self, name: str, methods: "Methods", tuned: Tuned) -> list[Configuration]:
        """Its rows.

        Args:
            name: its own name.
            methods: all methods of the table by name.
            tuned: the tuned values so far.
        """
        ...


Methods = Mapping[str, Method]
"""The methods of one table by name, in the order of params.yaml."""


class StatisticalMethod(MixedParameters):
    """A set of `SegmentOptions` (Entropy-driven pre-tokenization, section 3.1); each of `weights` (lambda) gives a
    configuration, `entropy_only` one more without PMI.

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

    def options(self, tuned: float | None) -> SegmentOptions:
        """The options of the only row, with lambda as tuned."""
        return replace(self.given, weight=self.weights[0] if tuned is None else tuned)

    def configurations(self, name: str, methods: Methods, tuned: Tuned) -> list[Configuration]:
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
            segment=partial(_by_statistics, options, None),
            values={"lambda": None if options.entropy_only else options.weight},
            parameters=option_columns(options) | _grid_column(self.grid),
            objective=options,
        )


class EntropyMethod(MixedParameters):
    """A rule of `BoundaryOptions` for predictive entropies (section 3.2): one configuration. With `grid` the threshold
    is tuned; for text without gold words it is the given one."""

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

    def configurations(self, name: str, methods: Methods, tuned: Tuned) -> list[Configuration]:
        """The only row."""
        options = BoundaryOptions(self.given.rule, tuned.get(name, self.given.threshold))
        return [
            Configuration(
                name=name,
                method=name,
                signal=self.by,
                segment=partial(_by_entropy, options, self.isolate),
                values={"threshold": options.threshold},
                parameters={"rule": options.rule, "isolate": self.isolate} | _grid_column(self.grid),
            )
        ]


class CombinedMethod(Parameters):
    """Both signals (not in the paper): a statistical method of one row, with its given or tuned lambda, and boundary
    scores nu (H - theta): one configuration.

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

    def configurations(self, name: str, methods: Methods, tuned: Tuned) -> list[Configuration]:
        """The only row."""
        base, nu = methods[self.statistics], tuned[name]
        assert isinstance(base, StatisticalMethod) and nu is not None, "the check of all parameters sees to it"
        options = base.options(tuned.get(self.statistics))
        return [
            Configuration(
                name=name,
                method=name,
                signal=self.by,
                segment=partial(_by_statistics, options, nu),
                values={"lambda": options.weight, "nu": nu},
                parameters=option_columns(options) | {"statistics": self.statistics} | _grid_column(self.grid),
            )
        ]


class WordMethod(Parameters):
    """The word model of this name in `segmentation.word_models` (docs/word-model.md): one configuration."""

    by: Literal["words"]
    model: str
    _options: WordOptions = PrivateAttr()

    needs_entropy: ClassVar[bool] = False
    needs_statistics: ClassVar[bool] = True
    tuning: ClassVar[None] = None

    def configurations(self, name: str, methods: Methods, tuned: Tuned) -> list[Configuration]:
        """The only row."""
        segment = partial(_by_words, self.model)
        return [Configuration(name, name, self.by, segment, parameters=option_columns(self.options))]

    @property
    def options(self) -> WordOptions:
        """The options of the word model."""
        return self._options


METHODS: dict[str, type[Any]] = {
    "statistics": StatisticalMethod,
    "entropy": EntropyMethod,
    "both": CombinedMethod,
    "words": WordMethod,
}
"""The kinds by the names that `by` takes."""


class SegmentedCorpus(Parameters):
    """A corpus to segment. `entropy`: whether the stage `entropy` scores it; without predictive entropies, the methods
    that need them are left out."""

    entropy: bool = False


def read_methods(stage: Stage) -> dict[Training, Methods]:
    """The methods of both tables of the stage's corpus: for `subset` all, for `full` those of `segmentation.full`."""
    has_entropy = stage.parameters(f"segmentation.corpora.{stage.variant}", SegmentedCorpus).entropy
    every = read_sections(stage)
    methods = {name: method for name, method in every.items() if has_entropy or not method.needs_entropy}
    of_full = {name: every[name] for name in stage.parameters("segmentation.full.methods", list[str])}
    return {"subset": methods, "full": {name: method for name, method in of_full.items() if name in methods}}


def read_sections(stage: Stage) -> Methods:
    """The methods of `segmentation.methods`. Raises ParameterError for an unknown kind or an invalid section."""
    found: dict[str, Method] = {}
    for name, section in stage.parameters("segmentation.methods", dict[str, dict[str, Any]]).items():
        place = f"segmentation.methods.{name}"
        check_choice(f"{stage.params_file}: {place}.by", section.get("by"), METHODS)
        found[name] = method = stage.parameters(place, METHODS[section["by"]])
        if isinstance(method, WordMethod):
            method._options = stage.parameters(f"segmentation.word_models.{method.model}", WordOptions)
    return found


def configurations(methods: Methods, tuned: Tuned) -> list[Configuration]:
    """All rows of a table, in the order of its methods."""
    return [row for name, method in methods.items() for row in method.configurations(name, methods, tuned)]


def boundaries_of(batches: Iterable[Segmentation]) -> Iterator[list[int]]:
    """For each sentence the offsets at which its second and later segments begin."""
    return ([start for start, _ in spans[1:]] for batch in batches for spans in batch.spans())


def _by_statistics(
    options: SegmentOptions, nu: float | None, texts: Sequence[str], entropies: Entropies | None, signals: Signals
) -> Iterator[list[int]]:
    """By the statistics of a training split; nu: the weight of the entropies minus theta, None without them."""
    scores = None
    if nu is not None:
        assert entropies is not None and signals.theta is not None, "methods that need entropies are left out without"
        scores = [boundary_scores(values, nu, signals.theta) for values in entropies]
    return boundaries_of(Segmenter(signals.statistics, options).segment(texts, scores))


def _by_entropy(
    options: BoundaryOptions, isolate: Isolate, texts: Sequence[str], entropies: Entropies | None, signals: Signals
) -> Iterator[list[int]]:
    """By the own entropies of sentences alone."""
    assert entropies is not None, "methods that need entropies are left out without"
    for first in range(0, len(texts), _SENTENCES_PER_BATCH):
        some = slice(first, first + _SENTENCES_PER_BATCH)
        yield from boundaries_of([segment_by_entropy(texts[some], entropies[some], options, isolate)])


def _by_words(model: str, texts: Sequence[str], entropies: Entropies | None, signals: Signals) -> Iterator[list[int]]:
    """By the word model of a training split."""
    return boundaries_of(WordModel.load(signals.word_models / model / f"{signals.split}.safetensors").segment(texts))


def option_columns(options: SegmentOptions | WordOptions | None) -> dict[str, Any]:
    """The options as parameters of a row; lambda is a column of its own."""
    if options is None:
        return {}
    if isinstance(options, WordOptions):
        return {f"word_model.{name}": value for name, value in asdict(options).items()}
    columns = {name: value for name, value in asdict(options).items() if name != "weight"}
    return columns | {"single_character": str(options.single_character)}


def _grid_column(grid: Sequence[float]) -> dict[str, str]:
    return {"grid": ", ".join(f"{value:g}" for value in grid)} if grid else {}
