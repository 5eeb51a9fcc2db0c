"""Parameters of the translation pilot: its pairs of corpora, and the settings that all of them share."""

from dataclasses import replace
from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from tasks.runtime.stage import Parameters, Stage
from tokenlab.codes.bits.options import BitOptions
from tokenlab.translation.options import GenerationOptions, TranslationShape, TranslationTraining

BYTES, BITS = "bytes", "bits"
"""The two codes: plain byte fallback, and the bit-level code over the same base vocabulary."""

SCRATCH = "scratch"
"""Random weights at the start."""

Initialisation = Literal["mean", "copy"]
"""New rows of a fine-tuned model: the mean of all rows, or copies of the rows of the bytes that share their bits."""


class TranslationPair(Parameters):
    """Two corpora with the same ids. bleu: the tokenizer of sacrebleu for the target, by words for Chinese (`zh`) or by
    characters."""

    source: str
    target: str
    bleu: Literal["zh", "char"]


class PairSplit(Parameters):
    """Numbers of pairs. training: at most so many; null takes all that validation and test leave."""

    training: int | None = Field(ge=1)
    validation: int = Field(ge=1)
    test: int = Field(ge=1)
    seed: int = Field(ge=0)


class BaseVocabulary(Parameters):
    """The base vocabulary of both languages. characters: so many of the most frequent ones are tokens, all others fall
    back to bytes."""

    size: int = Field(ge=261, le=1 << 20)
    characters: int = Field(ge=0)


class FineTuning(Parameters):
    """Fine-tuning of byte-fallback models on the bit-level code, from each seed by each initialisation; what is not
    said is as in `training`."""

    initialisations: list[Initialisation]
    seeds: list[int]
    steps: int = Field(ge=1)
    learning_rate: float = Field(gt=0)
    warmup: int = Field(ge=0)

    def options(self, training: TranslationTraining) -> TranslationTraining:
        """The settings of a fine-tuning."""
        return replace(training, steps=self.steps, learning_rate=self.learning_rate, warmup=self.warmup)


class Pilot(Parameters):
    """Settings of all pairs. longest: pairs with more tokens in a sentence, in either code, are left out. The seed of
    `training` is replaced by each of `seeds`. workers: models that are trained, or translate, at once; 1 on GPUs.
    examples: translations shown on the page."""

    split: PairSplit
    longest: int = Field(ge=2)
    vocabulary: BaseVocabulary
    code: BitOptions
    seeds: list[int] = Field(min_length=1)
    shape: TranslationShape
    training: TranslationTraining
    fine_tuning: FineTuning
    generation: GenerationOptions
    workers: int = Field(ge=1)
    examples: int = Field(ge=0)

    @model_validator(mode="after")
    def _consistent(self) -> "Pilot":
        if self.longest > self.shape.positions or self.generation.longest > self.shape.positions:
            raise ValueError(f"longest and generation.longest may be at most shape.positions, {self.shape.positions}")
        if missing := set(self.fine_tuning.seeds) - set(self.seeds):
            raise ValueError(f"fine_tuning.seeds: no model has seed {min(missing)}; take some of seeds")
        self.fine_tuning.options(self.training)  # Raises ParameterError where the values do not fit together.
        return self


class Variant(NamedTuple):
    """One model of a pair."""

    code: str
    init: str
    seed: int

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"{self.code}-{self.init}-seed{self.seed}"


def scratch_variants(pilot: Pilot) -> list[Variant]:
    """The models trained from random weights."""
    return [Variant(code, SCRATCH, seed) for code in (BYTES, BITS) for seed in pilot.seeds]


def fine_tuned_variants(pilot: Pilot) -> list[Variant]:
    """The models fine-tuned on the bit-level code."""
    tuning = pilot.fine_tuning
    return [Variant(BITS, init, seed) for init in tuning.initialisations for seed in tuning.seeds]


def read_parameters(stage: Stage) -> tuple[TranslationPair, Pilot]:
    """The sections of a stage."""
    pair = stage.parameters(f"bits.translation.{stage.variant}", TranslationPair)
    return pair, stage.parameters("bits.pilot", Pilot)
