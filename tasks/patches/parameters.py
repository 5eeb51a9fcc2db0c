"""Parameters of the patch models."""

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from tasks.patches.texts import Texts
from tasks.runtime.stage import MixedParameters, Parameters, Stage
from tokenlab.language.options import LanguageTraining
from tokenlab.networks.options import Computation, HashShape, StackShape
from tokenlab.patches.options import EntropyOptions, FixedOptions, SpaceOptions

BPE = "bpe"
"""The patcher whose patches are the tokens of a corpus's main tokenizer; `bpe-1024` are those of another size."""

Ablation = Literal["vocabulary", "longest"]
"""What differs from the main comparison: the size of the vocabulary, or the longest patch (S)."""


class PatchCorpus(Parameters):
    """A corpus and its patches. gold: the corpus with whose words boundaries are compared, on its test documents; one
    without gold words leaves whitespace alone. tokenizer, vocabulary: an entry of `tokenizers` and the main size.
    published: entries of tokenizers that are measured on the same text, but not modelled."""

    corpus: str
    gold: str
    tokenizer: str
    vocabulary: int = Field(ge=257)
    published: list[str] = Field(default=[])


class Patcher(MixedParameters):
    """A patcher; its undeclared keys are options of the library. target, tolerance: an entropy threshold is calibrated
    on validation text so that patches have so many bytes in the mean; null: the threshold is as given. modelled: models
    can be trained on it."""

    kind: Literal["bpe", "space", "entropy", "character", "fixed"]
    target: float | None = Field(default=None, gt=1)
    tolerance: float = Field(default=0.1, gt=0)
    modelled: bool = True

    @model_validator(mode="after")
    def _consistent(self) -> "Patcher":
        if self.target is not None and self.kind != "entropy":
            raise ValueError("target is an option of the kind entropy")
        options: Any = self.options
        if options is None and self.model_extra:
            raise ValueError(f"{min(self.model_extra)} is no option of the kind {self.kind}")
        return self

    @property
    def options(self) -> SpaceOptions | EntropyOptions | FixedOptions | None:
        """The options of the library, where the kind has any."""
        kinds = {"space": SpaceOptions, "entropy": EntropyOptions, "fixed": FixedOptions}
        return self.library_options(kinds[self.kind]) if self.kind in kinds else None


class Training(MixedParameters):
    """Settings of trainings, the same for all models; its undeclared keys are options of the library. warmup: share of
    the updates. evaluations: their number. bytes in rows, numbers of updates and seeds are given elsewhere."""

    warmup: float = Field(ge=0, lt=1)
    evaluations: int = Field(ge=1)

    @model_validator(mode="after")
    def _consistent(self) -> "Training":
        self.options(steps=100, context=8, seed=0)  # Raises ParameterError where the values do not fit together.
        return self

    def options(self, steps: int, context: int, seed: int, **others: Any) -> LanguageTraining:
        """The options of a training of so many updates; `others` replace those given here."""
        given = {"steps": steps, "context": context, "seed": seed}
        every = max(1, -(-steps // self.evaluations))
        warmup = min(round(self.warmup * steps), steps - 1)
        return self.library_options(LanguageTraining, **others, **given, warmup=warmup, evaluate_every=every)


class EntropyModel(Parameters):
    """The byte model whose entropies cut patches: a TokenNetwork over 256 bytes. bytes: it is trained on the beginning
    of the training text."""

    stack: StackShape
    steps: int = Field(ge=1)
    seed: int = Field(ge=0)
    training: Training


class Size(Parameters):
    """Sizes of the stacks. Models over tokens or bytes have the latent one alone."""

    latent: StackShape
    local: StackShape


class Variant(Parameters):
    """A model of the comparison. patcher: of the kinds patches and tokens (null: bpe), whose tokens these are.
    vocabulary: null is the main size. longest: S of patches that are tokens. hash: n-gram embeddings. ratio,
    ratio_weight: of learned chunks. ablation: null in the main comparison. seeds, models: null are all. training:
    values that replace those of the section `training`."""

    model: Literal["tokens", "bytes", "patches", "chunks"]
    patcher: str | None = None
    vocabulary: int | None = None
    longest: int | None = None
    hash: HashShape | None = None
    ratio: float = 4.0
    ratio_weight: float = 0.03
    ablation: Ablation | None = None
    seeds: list[int] | None = None
    models: list[str] | None = None
    training: dict[str, Any] = Field(default={})

    @model_validator(mode="after")
    def _consistent(self) -> "Variant":
        if (self.model == "patches") != (self.patcher is not None):
            raise ValueError("models of the kind patches, and no others, have a patcher")
        if (self.model == "patches" and self.patcher == BPE) != (self.longest is not None):
            raise ValueError(f"patches of the patcher {BPE}, and no others, have a longest length")
        if self.vocabulary is not None and self.model != "tokens" and self.patcher != BPE:
            raise ValueError(f"only tokens, and patches of the patcher {BPE}, have a vocabulary")
        return self


class Budget(Parameters):
    """How long models are trained: to equal training FLOPs (as built), or with equal updates."""

    flops: float | None = Field(default=None, gt=0)
    steps: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _consistent(self) -> "Budget":
        if (self.flops is None) == (self.steps is None):
            raise ValueError("give either flops or steps")
        return self


class Search(Parameters):
    """A second training of each model, with `share` of the budget and a schedule of its own. There the first seed tries
    all learning rates; a variant is trained with the one that gives the fewest bits per byte of validation text."""

    share: float = Field(gt=0, lt=1)
    learning_rates: list[Annotated[float, Field(gt=0)]] = Field(min_length=1)


class Models(Parameters):
    """Models of one corpus (an entry of `corpora`) and size. search: null: the learning rates are as given, and the
    budget is the only one. training: values that replace those of the section `training`."""

    texts: str
    size: str
    budget: Budget
    seeds: list[int] = Field(min_length=1)
    search: Search | None = None
    training: dict[str, Any] = Field(default={})


class Ngrams(Parameters):
    """N-gram models of the training text, beside the trained models. longest: the highest order over bytes that
    validation text may choose. training: bytes of the training text that are counted; null: all of it."""

    longest: int = Field(ge=1, le=7)
    training: int | None = Field(default=None, ge=1)


class Evaluation(Parameters):
    """ngrams: null: without n-gram models. prompts: test passages whose beginnings the models of the first seed
    continue. prompt, generated: bytes."""

    ngrams: Ngrams | None = None
    prompts: int = Field(ge=0)
    prompt: int = Field(ge=1)
    generated: int = Field(ge=1)
    temperature: float = Field(ge=0)
    top_k: int | None = Field(default=None, ge=1)
    seed: int = Field(ge=0)


class ZeroShot(Parameters):
    """Tasks for the models of an entry of `models`. files: the folder of the task files. limit: items of a task at
    most; null: all. variants, seeds: null are all of the main comparison."""

    models: str
    files: str
    limit: int | None = Field(ge=1)
    variants: list[str] | None = None
    seeds: list[int] | None = None


class PatchSettings(NamedTuple):
    """What the stage `patches` reads."""

    corpus: PatchCorpus
    texts: Texts
    context: int
    longest: list[int]
    patchers: dict[str, Patcher]
    entropy: EntropyModel


class ModelSettings(NamedTuple):
    """What the stages of the models read."""

    models: Models
    size: Size
    context: int
    variants: dict[str, Variant]
    training: Training
    computation: Computation
    workers: int

    def of_results(self) -> dict[str, Any]:
        """The parameters that decide the results of training, as values of JSON."""
        return {
            "models": self.models.model_dump(),
            "size": self.size.model_dump(),
            "context": self.context,
            "variants": {label: variant.model_dump() for label, variant in self.variants.items()},
            "training": self.training.model_dump(),
        }

    def options(self, variant: Variant, steps: int, seed: int = 0, **chosen: Any) -> LanguageTraining:
        """The options of a variant's training; `chosen` ones replace those of the parameters."""
        others = {**self.models.training, **variant.training, **chosen}
        return self.training.options(steps, self.context, seed, **others)


def read_patch_settings(stage: Stage) -> PatchSettings:
    """The parameters of `patches`."""
    return PatchSettings(
        stage.parameters(f"patches.corpora.{stage.variant}", PatchCorpus),
        stage.parameters("patches.texts", Texts),
        stage.parameters("patches.context", int),
        stage.parameters("patches.longest", list[int]),
        stage.entries("patches.patchers", Patcher),
        stage.parameters("patches.entropy_model", EntropyModel),
    )


def read_model_settings(stage: Stage, key: str | None = None) -> ModelSettings:
    """The parameters of a key of `patches.models`, by default the stage's own."""
    name = key or stage.variant
    models = stage.parameters(f"patches.models.{name}", Models)
    variants = stage.entries("patches.variants", Variant)
    return ModelSettings(
        models,
        stage.parameters(f"patches.sizes.{models.size}", Size),
        stage.parameters("patches.context", int),
        {label: variant for label, variant in variants.items() if variant.models is None or name in variant.models},
        stage.parameters("patches.training", Training),
        stage.parameters("patches.computation", Computation),
        stage.parameters("patches.workers", int),
    )


def patcher_name(patcher: str, vocabulary: int | None, main: int) -> str:
    """The name of a patcher: that of another size of the vocabulary ends with the size."""
    return patcher if vocabulary in (None, main) else f"{patcher}-{vocabulary}"
