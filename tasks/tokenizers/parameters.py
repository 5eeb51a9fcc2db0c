"""Parameters of tokenizers that are trained, and of the language models that compare them."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from tasks.patches.parameters import Training
from tasks.runtime.stage import MixedParameters, Parameters
from tokenlab.networks.options import StackShape
from tokenlab.tokenizers.cuts import check_cut
from tokenlab.tokenizers.options import TrainOptions


class TrainedCorpus(Parameters):
    """A corpus, and the sizes of all tokenizers that are trained on it."""

    corpus: str
    vocabularies: tuple[Annotated[int, Field(ge=1)], ...] = Field(min_length=1)


class Candidate(MixedParameters):
    """A tokenizer: its cut, as of `tokenlab train`; the undeclared keys are options of the library."""

    cut: str

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_cut(self.cut)
        self.options((1000,))  # Raises ParameterError where the values do not fit together.
        return self

    def options(self, vocabulary: tuple[int, ...]) -> TrainOptions:
        """The options of a training of these sizes, without special tokens."""
        return self.library_options(TrainOptions, vocabulary=vocabulary, special_tokens=())


class ComparedModels(Parameters):
    """The language models over every tokenizer, at equal training FLOPs. context: bytes of a row."""

    stack: StackShape
    context: int = Field(ge=8)
    flops: float = Field(gt=0)
    seeds: tuple[int, ...] = Field(min_length=1)
    training: Training
    workers: int = Field(ge=1)
    """Trainings at a time."""
