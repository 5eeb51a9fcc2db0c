"""Parameters of the comparison: ways of cutting, and the language models that compare them."""

import shlex
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from tasks.patches.texts import Texts
from tasks.runtime.stage import MixedParameters, Parameters, Stage
from tokenlab.cli.options import flags_of
from tokenlab.codes.registry import KINDS
from tokenlab.comparison.trials import Body
from tokenlab.core.errors import ParameterError
from tokenlab.networks.options import StackShape
from tokenlab.patches.options import EntropyOptions, FixedOptions, SpaceOptions
from tokenlab.tokenizers.cuts import check_cut
from tokenlab.tokenizers.options import TrainOptions

ENTROPY = "entropy"
"""The cut at the local maxima of predictive entropy, by the byte model of the corpus; and the patches of this model."""
PATCHERS = {"space": SpaceOptions, ENTROPY: EntropyOptions, "fixed": FixedOptions}
"""Patchers by bytes, with their options; others are tokens of a method."""


class ComparedCorpus(Parameters):
    """A corpus, and the entries of all vocabularies that are learned from it. texts: values that replace those of the
    section."""

    corpus: str
    vocabulary: int = Field(ge=1)
    texts: dict[str, Any] = Field(default={})


class _Method(Parameters):
    """What all methods have. seeds: instead of those of the section. corpora: null is all of them."""

    seeds: tuple[int, ...] | None = Field(default=None, min_length=1)
    corpora: tuple[str, ...] | None = None


class Bytes(_Method):
    """The bytes of UTF-8."""

    kind: Literal["bytes"]


class Tokens(_Method, MixedParameters):
    """A tokenizer: its cut, as of `tokenlab train`, or `entropy`; the undeclared keys are options of the library."""

    kind: Literal["tokens"]
    cut: str

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _check_cut(self.cut)
        self.options(1000)  # Raises ParameterError where the values do not fit together.
        return self

    def options(self, vocabulary: int) -> TrainOptions:
        """The options of a training, without special tokens."""
        return self.library_options(TrainOptions, vocabulary=(vocabulary,), special_tokens=())

    @property
    def command(self) -> str | None:
        """The command that trains this tokenizer; None for the cut `entropy`, which the command has not."""
        if self.cut == ENTROPY:
            return None
        flags, given = flags_of(TrainOptions, cut="--cut"), {"cut": self.cut, **(self.model_extra or {})}
        return shlex.join(["tokenlab", "train", *(word for name in given for word in (flags[name], str(given[name])))])


class Code(_Method):
    """A character code by its kind in the library, and BPE over its atoms inside the pieces of a cut. merges: false
    takes the atoms alone."""

    kind: Literal["code"]
    code: str
    cut: str = "none"
    merges: bool = True

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _check_cut(self.cut)
        if self.code not in KINDS:
            raise ParameterError(f"code is {self.code!r}; use one of {', '.join(KINDS)}")
        return self


class Patches(_Method, MixedParameters):
    """Patches by a patcher of bytes, or the tokens of a method, which a second BPE spells in at most `longest` symbols.
    code: a method of the kind code, whose atoms are the symbols instead of bytes. target, tolerance: the threshold of
    entropy is calibrated to so many bytes in the mean. The undeclared keys are options of the library."""

    kind: Literal["patches"]
    of: str
    longest: int | None = Field(default=None, ge=2)
    code: str | None = None
    target: float | None = Field(default=None, gt=1)
    tolerance: float = Field(default=0.1, gt=0)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.longest is None) != (self.of in PATCHERS):
            raise ValueError("patches of the tokens of a method, and no others, have a longest length")
        if self.code is not None and self.of not in PATCHERS:
            raise ValueError(f"code is for patches of bytes: {', '.join(PATCHERS)}")
        if self.target is not None and self.of != ENTROPY:
            raise ValueError("target is an option of patches of entropy")
        if self.of in PATCHERS:
            self.options  # noqa: B018  Raises where the values do not fit together.
        elif self.model_extra:
            raise ValueError(f"{min(self.model_extra)} is no option of patches of the tokens of a method")
        return self

    @property
    def options(self) -> SpaceOptions | EntropyOptions | FixedOptions:
        """The options of the patcher."""
        found: SpaceOptions | EntropyOptions | FixedOptions = self.library_options(PATCHERS[self.of])
        return found


class Chunks(_Method):
    """Bytes of which the model learns chunks of about `ratio` bytes."""

    kind: Literal["chunks"]
    ratio: float = Field(gt=1)


Method = Bytes | Tokens | Code | Patches | Chunks
Methods = dict[str, Annotated[Method, Field(discriminator="kind")]]


class ByteModel(Parameters):
    """The model whose entropies cut words and patches: its stack, and the bytes that it is trained on."""

    stack: StackShape
    bytes: float = Field(gt=0)


class EqualBytes(Parameters):
    """A second training of every method: all read so many bytes, whatever that costs."""

    bytes: float = Field(gt=0)
    seeds: tuple[int, ...] = Field(min_length=1)


class Trainings(Parameters):
    """The language models: all have one body and the same operations, forward and backward."""

    body: Body
    flops: float = Field(gt=0)
    seeds: tuple[int, ...] = Field(min_length=1)
    equal_bytes: EqualBytes | None
    byte_model: ByteModel


class Exact(Parameters):
    """The texts whose exact probability is computed: the beginnings of so many passages, of at most so many bytes."""

    texts: int = Field(ge=1)
    bytes: int = Field(ge=1)


class Evaluation(Parameters):
    """What is measured beside bits per byte; on trained models, those of the first seed. ngrams: the highest order of
    n-grams of bytes that validation text may choose. perturbed: test documents, at most. exact: null leaves it out."""

    ngrams: int = Field(ge=1, le=7)
    perturbed: int = Field(ge=1)
    exact: Exact | None
    seed: int = Field(ge=0)


def read_corpus_parameters(stage: Stage) -> tuple[ComparedCorpus, Texts]:
    """The stage's corpus, and how its text is divided."""
    compared = stage.parameters(f"compared.corpora.{stage.variant}", ComparedCorpus)
    given: dict[str, Any] = stage.sections["compared"]["texts"] | compared.texts
    checked = stage._replace(sections={"compared": {"texts": given}})
    return compared, checked.parameters("compared.texts", Texts)


def read_methods(stage: Stage) -> Methods:
    """The methods of the stage's corpus."""
    methods = stage.parameters("compared.methods", Methods)
    return {
        name: method for name, method in methods.items() if method.corpora is None or stage.variant in method.corpora
    }


def _check_cut(cut: str) -> None:
    if cut != ENTROPY:
        check_cut(cut)
