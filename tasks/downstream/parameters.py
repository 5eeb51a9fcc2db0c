"""Parameters of the downstream family: labelled corpora, and what is trained on which cuts of them."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tasks.runtime.stage import MixedParameters, Parameters
from tokenlab.classification.options import ClassifierShape, ClassifierTraining
from tokenlab.codes.interface import Unknown
from tokenlab.language.options import GenerationOptions
from tokenlab.networks.options import StackShape
from tokenlab.training.options import TrainingOptions

PartName = Literal["train", "validation", "test"]


class Split(Parameters):
    """Shares of the texts for validation and test, drawn by passages; the others are for training.

    seed: of the draw, and of the sentences of the built-in corpora. largest: at most so many texts of each part, drawn
    from it; a part that is missing is whole.
    """

    validation: float = Field(gt=0, lt=1)
    test: float = Field(gt=0, lt=1)
    seed: int = Field(ge=0)
    largest: dict[PartName, Annotated[int, Field(ge=1)]] = Field(default={})


class Labelled(Parameters):
    """A labelled corpus in some languages.

    `bible`: verses in CES XML by groups of books; `topics`: the built-in corpora; the others are files of reviews
    (`tokenlab.classification.labelled.read_labelled`). Verses and built-in sentences are those that all languages have.
    """

    path: str
    """A folder; for `topics` the grammar, tokenlab/generated."""
    format: Literal["bible", "topics", "text", "jsonl", "csv", "parquet"]
    languages: dict[str, str] = Field(min_length=1)
    """Language -> its file below `path`, its code in the built-in corpora, or for `text` a folder below `path`."""
    split: Split
    sentences: int | None = None
    """Of the built-in corpora."""
    text_key: str = "review_body"
    label_key: str = "stars"
    only: dict[str, dict[str, str]] = Field(default={})
    """Language -> keys and their values: other rows of its file are left out."""
    classes: tuple[str, ...] | None = None
    """The labels of reviews; by default all that occur."""

    @model_validator(mode="after")
    def _check_sentences(self) -> Self:
        if (self.format == "topics") != (self.sentences is not None):
            raise ValueError("sentences belongs to the format topics, which needs it")
        return self


class CutChoice(Parameters):
    """The cuts of a corpus by its codes: tokenizers over the atoms of each code, and vocabulary sizes."""

    tokenizers: tuple[Literal["none", "bpe", "unigram"], ...] = Field(min_length=1)
    """`none`: the atoms themselves, of which there is one size."""
    sizes: tuple[int | Literal["characters"], ...]
    """Vocabulary sizes; `characters` is |C|. Where a code has more atoms, these alone are the vocabulary."""
    unknown: Unknown
    """What a code does with a character of a text that it lacks."""


class Classified(Parameters):
    """A language of a labelled corpus, classified in all cuts of the corpus of the same name in `codes.corpora`."""

    labelled: str
    language: str
    tokenizers: str
    """A folder of tokenizers of text, cuts as well; the folder of its tokenizers over codes for none."""


class Architecture(MixedParameters):
    """A classifier and its training; the undeclared keys are options of the library. seeds are given elsewhere."""

    shape: ClassifierShape
    texts: int = Field(ge=1)
    """Of an update, on average: in tokens, a shorter cut would see more texts."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self.options(batch=100, seed=0)  # Raises ParameterError where the values do not fit together.
        return self

    def options(self, batch: int, seed: int) -> ClassifierTraining:
        """The options of a training with batches of so many tokens."""
        return self.library_options(ClassifierTraining, batch=batch, seed=seed)


class Classification(Parameters):
    """Classifiers of all labelled corpora; each is trained once for each seed."""

    cuts: CutChoice
    seeds: tuple[int, ...] = Field(min_length=1)
    architectures: dict[str, Architecture]
    linear: bool
    """Whether the linear control is fitted, too."""
    perturbed: int = Field(ge=1)
    """Test texts that are classified again as each perturbation leaves them, at most."""
    workers: int = Field(ge=1)
    """Trainings at a time."""


class Modelled(Parameters):
    """A language of a labelled corpus, whose texts language models of every code of `codes.corpora` learn."""

    labelled: str
    language: str


class LanguageModels(MixedParameters):
    """The language models of all codes; the undeclared keys are options of a training, whose batch is in texts."""

    cuts: CutChoice
    seeds: tuple[int, ...] = Field(min_length=1)
    stack: StackShape
    longest: int = Field(ge=1)
    """Characters of a text that are trained on and evaluated; what follows is left out."""
    workers: int = Field(ge=1)
    """Trainings at a time, and models that generate."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.cuts.tokenizers != ("bpe",):
            raise ValueError("the tokenizers of language models are [bpe]")
        self.options(seed=0)  # Raises ParameterError where the values do not fit together.
        return self

    def options(self, seed: int) -> TrainingOptions:
        """The options of a training."""
        return self.library_options(TrainingOptions, seed=seed)


class Generation(MixedParameters):
    """Texts of each language model, free and constrained; the undeclared keys are options of the library."""

    count: int = Field(ge=1)
    """Texts of each model and way."""
    scored: int = Field(ge=1)
    """Validation texts on which the cost of the constraint is measured, at most."""
    examples: int = Field(ge=0)
    """Texts of each model that are shown."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self.options(seed=0)
        return self

    def options(self, seed: int) -> GenerationOptions:
        """How a model generates."""
        return self.library_options(GenerationOptions, seed=seed)
