"""Readings of the statistical method: parameters, and the rows of the tables that they stand for."""

from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from tasks.bpe import Rest
from tasks.stage import Parameters, Stage
from tokenlab.errors import ParameterError
from tokenlab.segment import SegmentOptions


class Reading(Parameters):
    """One reading of the method. Each of `weights` (lambda) is a row; with `candidates` there is one row, whose lambda
    is the candidate with the best word F1 on validation sentences, or `weights[0]` where no gold is known."""

    decoder: Literal["viterbi", "greedy"]
    isolate: Literal["script", "punctuation", "none"]
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


class Method(NamedTuple):
    """One row of the tables before BPE; the name is that of files too."""

    name: str
    reading: str
    options: SegmentOptions


def options_of(reading: Reading, weight: float, *, entropy_only: bool = False) -> SegmentOptions:
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


def methods(readings: dict[str, Reading], chosen: dict[str, float]) -> list[Method]:
    """All rows of the readings; `chosen` gives the lambda of those that choose it."""
    rows = []
    for name, reading in readings.items():
        if reading.candidates:
            rows.append(Method(name, name, options_of(reading, chosen[name])))
            continue
        rows += [Method(f"{name}-{weight:.12g}", name, options_of(reading, weight)) for weight in reading.weights]
        if reading.entropy_only:
            rows.append(Method(f"{name}-entropy", name, options_of(reading, 1.0, entropy_only=True)))
    return rows


def scopes(stage: Stage) -> dict[str, dict[str, Reading]]:
    """The readings of each scope: all of them for `draw`, those that `segmentation.rest` names for `rest`."""
    names = stage.sections.get("segmentation", {}).get("readings") or {}
    readings = {name: stage.parameters(f"segmentation.readings.{name}", Reading) for name in names}
    of_rest = stage.parameters("segmentation.rest", Rest).readings
    if unknown := set(of_rest) - set(readings):
        raise ParameterError(
            f"{stage.params_file}: segmentation.rest.readings: {', '.join(sorted(unknown))} is none of the readings "
            f"{', '.join(readings)}"
        )
    return {"draw": readings, "rest": {name: readings[name] for name in of_rest}}
