"""What the stages of the segmentation family share: parameters, the parts of a corpus, and the list of methods."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from pydantic import ConfigDict, Field

from tasks.stage import Parameters, Stage
from tokenlab.errors import InputError, ParameterError
from tokenlab.ngrams import StatisticsOptions
from tokenlab.segment import SegmentOptions
from tokenlab.text.documents import Document
from tokenlab.text.splits import Split, draw_split
from tokenlab.text.store import read_corpus


class Draw(Parameters):
    """How many sentences a seed draws: for training and test together, the share of training, for validation."""

    sentences: int = Field(ge=2)
    train: float = Field(gt=0, lt=1)
    validation: int = Field(ge=0)


class Seeds(Parameters):
    """The seeds, each a row or more of its own; the other entries of the section are checked where they are used."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    seeds: list[int] = Field(min_length=1)


class Statistics(Parameters):
    """As tokenlab.ngrams.StatisticsOptions."""

    n_max: int
    count_tokens: Literal["ngram", "unigram", "bigram"]
    edge: Literal["skip", "symbol"]
    min_frequency: int
    log_base: Literal["e", "2"]

    def options(self) -> StatisticsOptions:
        """The options as the library takes them, checked."""
        return StatisticsOptions(**self.model_dump())


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


class Bpe(Parameters):
    """BPE: vocabulary for the drawn training part and for all the rest, and what it is applied to."""

    vocabulary_size: int
    inference: list[Literal["raw", "pretokenized"]]


class Rest(Parameters):
    """The second table: statistics and BPE from all sentences that no seed draws for test or validation."""

    readings: list[str]
    vocabulary_size: int


class Method(NamedTuple):
    """One row of the tables before BPE; the name is that of files too."""

    name: str
    reading: str
    options: SegmentOptions


BASELINES: dict[str, Literal["whitespace", "punctuation"]] = {"bpe": "whitespace", "bpe-punctuation": "punctuation"}
"""BPE on unsegmented text, and with punctuation split off."""


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
        rows += [Method(f"{name}-{weight:g}", name, options_of(reading, weight)) for weight in reading.weights]
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


@dataclass(frozen=True, eq=False)
class Parts:
    """A corpus in memory (its n-gram statistics take far more), and the parts that each seed draws from it."""

    documents: list[Document]
    splits: dict[int, Split]

    def select(self, numbers: Iterable[int]) -> list[Document]:
        """The sentences of these numbers, in their order."""
        return [self.documents[number] for number in numbers]

    @cached_property
    def rest(self) -> list[int]:
        """The numbers of all sentences that are in no test or validation part, nor equal to one that is.

        Raises InputError where there is none.
        """
        held_out = np.concatenate([np.concatenate((split.test, split.validation)) for split in self.splits.values()])
        texts = {self.documents[number].text for number in held_out}
        rest = [number for number, document in enumerate(self.documents) if document.text not in texts]
        if not rest:
            raise InputError("every sentence of the corpus equals one of a test or validation part; draw fewer of them")
        return rest


def parts(stage: Stage) -> Parts:
    """The parts of the stage's corpus, from `segmentation.seeds` and `segmentation.draw` alone."""
    draw = stage.parameters("segmentation.draw", Draw)
    documents = list(read_corpus(stage.data("corpora", stage.variant)))
    seeds = stage.parameters("segmentation", Seeds).seeds
    return Parts(documents, {seed: draw_split(len(documents), seed, **draw.model_dump()) for seed in seeds})
