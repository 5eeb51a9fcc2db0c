"""Readings of the methods: parameters, and the rows of the tables that they stand for."""

from pathlib import Path
from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from tasks.bpe import Rest
from tasks.stage import Parameters, Stage
from tokenlab.entropy import BoundaryOptions
from tokenlab.entropy.boundaries import Rule
from tokenlab.errors import ParameterError
from tokenlab.segment import SegmentOptions
from tokenlab.segment.utility import Isolate

Signal = Literal["statistics", "entropy", "both"]

FACTS = ("reading", "signal", "lambda", "threshold", "nu")
"""What tells the rows of the tables from each other; a baseline has none of it."""


class StatisticalReading(Parameters):
    """One reading of the statistical method. Each of `weights` (lambda) is a row; with `candidates` there is one row,
    whose lambda is the candidate with the best word F1 on validation sentences, or `weights[0]` where no gold is known.
    """

    decoder: Literal["viterbi", "greedy"]
    isolate: Isolate
    single_character: Literal["literal", "self", "fallback"] | float
    tie: Literal["short", "long"] = "short"
    variation: float = 0.0
    weights: list[float] = Field(min_length=1)
    entropy_only: bool = False
    candidates: tuple[float, ...] = ()

    @model_validator(mode="after")
    def _one_row_or_many(self) -> Self:
        if self.candidates and (self.entropy_only or len(self.weights) > 1):
            raise ValueError("candidates give one row: leave entropy_only out, and one weight for text without gold")
        return self


class EntropyReading(Parameters):
    """One way of cutting where a language model's prediction is unsure: one row. With `candidates` the threshold is the
    one with the best word F1 on validation sentences, or `threshold` where no gold is known."""

    boundaries: Rule
    isolate: Isolate
    threshold: float | None = None
    candidates: tuple[float, ...] = ()

    @model_validator(mode="after")
    def _threshold_where_it_has_meaning(self) -> Self:
        if self.boundaries == "maxima" and (self.threshold is not None or self.candidates):
            raise ValueError("maxima have no threshold: leave it and candidates out")
        if self.boundaries != "maxima" and self.threshold is None:
            raise ValueError(f"{self.boundaries} needs a threshold, in nats, also for text without gold")
        return self


class CombinedReading(Parameters):
    """Both signals, one row: a statistical reading of one row, with the lambda that it has or has chosen, and
    predictive entropy as evidence at boundaries (`tokenlab.entropy.boundary_evidence`).

    nu is the one of `evidence` with the best word F1 on validation sentences, the first where no gold is known; theta
    is the mean entropy of the training part.
    """

    statistics: str
    evidence: tuple[float, ...] = Field(min_length=1)


Reading = StatisticalReading | EntropyReading | CombinedReading

Chosen = dict[str, float | None]
"""The value of each reading that chooses one."""


class SegmentedCorpus(Parameters):
    """A corpus to segment. `entropy`: the folder of its entropies, which the stage `entropy` writes, or a file where
    there are none; then the readings that need them have no rows."""

    entropy: str


class EntropyOptions(NamedTuple):
    """Boundaries by predictive entropy alone."""

    boundaries: BoundaryOptions
    isolate: Isolate


class Method(NamedTuple):
    """One row of the tables before BPE; the name is that of files too. `nu`: the weight of the evidence, if any."""

    name: str
    reading: str
    options: SegmentOptions | EntropyOptions
    nu: float | None = None

    @property
    def facts(self) -> dict[str, str | float | None]:
        """The reading, the signals and the numbers that tell the row from others."""
        signal: Signal = "statistics" if self.nu is None else "both"
        weight = threshold = None
        if isinstance(self.options, EntropyOptions):
            signal, threshold = "entropy", self.options.boundaries.threshold
        elif not self.options.entropy_only:
            weight = self.options.weight
        return dict(zip(FACTS, (self.reading, signal, weight, threshold, self.nu), strict=True))


class Choice(NamedTuple):
    """What a reading chooses on validation sentences: a parameter, from these values, or else the last."""

    parameter: Literal["lambda", "threshold", "nu"]
    values: tuple[float, ...]
    otherwise: float | None


def choice(reading: Reading) -> Choice | None:
    """The choice of a reading that makes one."""
    if isinstance(reading, CombinedReading):
        return Choice("nu", reading.evidence, reading.evidence[0])
    if not reading.candidates:
        return None
    if isinstance(reading, EntropyReading):
        return Choice("threshold", reading.candidates, reading.threshold)
    return Choice("lambda", reading.candidates, reading.weights[0])


def one_row(name: str, readings: dict[str, Reading], chosen: Chosen) -> Method:
    """The row of a reading that has one, with the value that it has chosen."""
    reading = readings[name]
    if isinstance(reading, EntropyReading):
        threshold = chosen.get(name, reading.threshold)
        return Method(name, name, EntropyOptions(BoundaryOptions(reading.boundaries, threshold), reading.isolate))
    if isinstance(reading, CombinedReading):
        statistics = one_row(reading.statistics, readings, chosen).options
        return Method(name, name, statistics, chosen[name])
    weight = chosen.get(name)
    return Method(name, name, options_of(reading, reading.weights[0] if weight is None else weight))


def options_of(reading: StatisticalReading, weight: float, *, entropy_only: bool = False) -> SegmentOptions:
    """The options of a row, checked."""
    return SegmentOptions(
        weight=weight,
        entropy_only=entropy_only,
        single_character=reading.single_character,
        decoder=reading.decoder,
        isolate=reading.isolate,
        tie=reading.tie,
        variation=reading.variation,
    )


def methods(readings: dict[str, Reading], chosen: Chosen) -> list[Method]:
    """All rows of the readings."""
    rows = []
    for name, reading in readings.items():
        if not isinstance(reading, StatisticalReading) or reading.candidates:
            rows.append(one_row(name, readings, chosen))
            continue
        rows += [Method(f"{name}-{weight:.12g}", name, options_of(reading, weight)) for weight in reading.weights]
        if reading.entropy_only:
            rows.append(Method(f"{name}-entropy", name, options_of(reading, 1.0, entropy_only=True)))
    return rows


def entropy_folder(stage: Stage) -> Path | None:
    """The entropies of the stage's corpus, if it has any."""
    path = Path(stage.parameters(f"segmentation.corpora.{stage.variant}", SegmentedCorpus).entropy)
    return None if path.is_file() else path


def scopes(stage: Stage) -> dict[str, dict[str, Reading]]:
    """The readings of each scope: all of them for `draw`, those that `segmentation.rest` names for `rest`; without
    those of predictive entropy where the stage's corpus has none."""
    sections = stage.sections.get("segmentation", {}).get("readings") or {}
    readings = {name: _reading(stage, name) for name in sections}
    of_rest = stage.parameters("segmentation.rest", Rest).readings
    if unknown := set(of_rest) - set(readings):
        raise ParameterError(
            f"{stage.params_file}: segmentation.rest.readings: {', '.join(sorted(unknown))} is none of the readings "
            f"{', '.join(readings)}"
        )
    if entropy_folder(stage) is None:
        readings = {name: reading for name, reading in readings.items() if isinstance(reading, StatisticalReading)}
    found = {"draw": readings, "rest": {name: readings[name] for name in of_rest if name in readings}}
    for scope, of_scope in found.items():
        _check_combined(stage, scope, of_scope)
    return found


def _reading(stage: Stage, name: str) -> Reading:
    section = stage.sections["segmentation"]["readings"][name]
    where = f"segmentation.readings.{name}"
    names = section if isinstance(section, dict) else {}
    if "boundaries" in names:
        return stage.parameters(where, EntropyReading)
    if "statistics" in names:
        return stage.parameters(where, CombinedReading)
    return stage.parameters(where, StatisticalReading)


def _check_combined(stage: Stage, scope: str, readings: dict[str, Reading]) -> None:
    """Raise ParameterError where a combined reading does not name one that can be combined."""
    for name, reading in readings.items():
        if isinstance(reading, CombinedReading) and not _can_be_combined(readings.get(reading.statistics)):
            raise ParameterError(
                f"{stage.params_file}: segmentation.readings.{name}.statistics: {reading.statistics!r} is no reading "
                f"by statistics, with decoder viterbi and one row, in the scope {scope}"
            )


def _can_be_combined(reading: Reading | None) -> bool:
    if not isinstance(reading, StatisticalReading):
        return False
    return reading.decoder == "viterbi" and len(reading.weights) == 1 and not reading.entropy_only
