"""The models of a comparison: their coders and shapes, what a byte of training costs them, how long they train, and
their trainings.

All models see the same bytes in the same rows in the same order. Each model and seed is a job of its own in a pool of
processes, and resumes from its checkpoint where it was interrupted.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tasks.patches.parameters import BPE, ModelSettings, Size, Variant, patcher_name
from tasks.patches.stored_tokenizers import FACTS, PATCHER, TOKENS, StoredTokenizer
from tasks.runtime.pool import in_processes, in_processes_of_training
from tasks.runtime.stage import read_json
from tokenlab.core.errors import ParameterError
from tokenlab.core.files import atomic_folder
from tokenlab.language.coding import ByteCoder, Coder, PatchCoder, TokenCoder
from tokenlab.language.options import LanguageTraining
from tokenlab.language.passages import Passages, open_passages, shuffled_batches
from tokenlab.language.stored import LanguageModel, save_language_model
from tokenlab.language.training import train
from tokenlab.networks.cost import parameter_count, training_flops_per_byte
from tokenlab.networks.options import ChunkShape, Computation, PatchShape, Shape, TokenShape
from tokenlab.networks.stored import build_network
from tokenlab.patches.registry import read_patcher
from tokenlab.training import processes
from tokenlab.training.checkpoint import Evaluation

_SAMPLE = 1 << 21
"""Bytes of training text on which the cost of a byte is measured."""
_BATCHES = 64
"""Batches on which the bytes of a batch are measured."""


class Planned(NamedTuple):
    """A model to train."""

    label: str
    variant: Variant
    seed: int

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"{self.label}-seed{self.seed}"


class Patched(NamedTuple):
    """The patchers of a corpus, in the folder that the stage `patches` wrote. vocabulary: the main size."""

    folder: Path
    vocabulary: int
    tokenizers: dict[str, str]
    """Label of the tokenizer of a patcher whose patches are tokens."""

    def column(self, variant: Variant) -> str | None:
        """The patcher whose patches a variant reads; None for bytes and learned chunks."""
        if variant.model not in ("patches", "tokens"):
            return None
        name = patcher_name(variant.patcher or BPE, variant.vocabulary, self.vocabulary)
        if not (self.folder / name).is_dir():
            raise ParameterError(
                f"patches.variants: there is no patcher {name} with models; correct the name or the size"
            )
        return name

    def size(self, variant: Variant) -> int | None:
        """The number of tokens of a variant's tokenizer; None where it has none."""
        column = self.column(variant)
        return (variant.vocabulary or self.vocabulary) if column in self.tokenizers else None

    def coder(self, variant: Variant) -> Coder:
        """The code of a variant's text."""
        column = self.column(variant)
        if column is None:
            return ByteCoder()
        tokens = StoredTokenizer(column, 0, self.folder / column / TOKENS)
        if variant.model == "tokens":
            return _token_coder(tokens.tokenizer)
        patcher = read_patcher(self.folder / column / PATCHER)
        return PatchCoder(patcher, None if variant.longest is None else tokens.hierarchical(variant.longest))


@lru_cache(maxsize=8)
def _token_coder(tokenizer: Path) -> TokenCoder:
    """Reading a tokenizer takes longer than training a small model."""
    return TokenCoder(tokenizer)


def read_patched(folder: Path) -> Patched:
    """The patchers of a corpus."""
    return Patched(folder, **read_json(folder / FACTS))


def planned(settings: ModelSettings) -> list[Planned]:
    """All models, variant by variant."""
    return [
        Planned(label, variant, seed)
        for label, variant in settings.variants.items()
        for seed in (settings.models.seeds if variant.seeds is None else variant.seeds)
    ]


def shape_of(variant: Variant, size: Size, symbols: int) -> Shape:
    """The shape of a variant's network over so many symbols."""
    if variant.model == "patches":
        return PatchShape(symbols, variant.longest is not None, size.latent, size.local, variant.hash)
    if variant.model == "chunks":
        return ChunkShape(size.latent, size.local, variant.ratio, variant.ratio_weight)
    return TokenShape(symbols, size.latent)


class Cost(NamedTuple):
    """What training a network costs. context: mean size of a passage over bytes. symbols, patches: for each byte."""

    context: float
    symbols: float
    patches: float
    flops: float
    """Operations for each byte of training text."""


def cost_of(variant: Variant, shape: Shape, coder: Coder, passages: Passages) -> Cost:
    """The cost of a variant on the beginning of its training text."""
    sizes: list[int] = []
    symbols = patches = 0
    for block in passages.blocks():
        starts = None if passages.patcher is None else block.starts[passages.patcher]
        coded = coder.code(block.data, starts)
        sizes += (passage.size for passage in coded)
        symbols += sum(len(passage.ids) for passage in coded)
        patches += sum(len(passage.starts) for passage in coded)
        if sum(sizes) >= _SAMPLE:
            break
    total = sum(sizes)
    context = float(np.square(sizes, dtype=np.float64).sum() / total)
    of_patches = 1 / variant.ratio if variant.model == "chunks" else patches / total if patches else 1.0
    flops = training_flops_per_byte(shape, context, symbols / total, of_patches)
    return Cost(context, symbols / total, of_patches, flops)


def batch_bytes(passages: Passages, context: int, rows: int, seed: int) -> float:
    """Mean bytes of a batch: rows are not always full."""
    found = [
        sum(len(passage.data) for row in batch for passage in row) for batch in _some(passages, context, rows, seed)
    ]
    return float(np.mean(found))


def _some(passages: Passages, context: int, rows: int, seed: int) -> Iterator[list[list]]:
    return islice(shuffled_batches(passages, context, rows, seed), _BATCHES)


def updates(settings: ModelSettings, cost: Cost, batch: float) -> int:
    """The updates of a training: as many as the budget allows, the same for all seeds."""
    budget = settings.models.budget
    return budget.steps or max(1, round((budget.flops or 0) / (cost.flops * batch)))


def training_passages(folder: Path, column: str | None) -> tuple[Passages, Passages]:
    """The training and validation passages of a corpus."""
    return open_passages(folder / "training", column), open_passages(folder / "validation", column)


class Plan(NamedTuple):
    """What all seeds of a variant share."""

    shape: Shape
    cost: Cost
    steps: int
    parameters: int


def plan(variant: Variant, settings: ModelSettings, patched: Patched, folder: Path) -> Plan:
    """The plan of a variant, for the passages in `folder`."""
    training, _ = training_passages(folder, patched.column(variant))
    coder = patched.coder(variant)
    shape = shape_of(variant, settings.size, len(coder.spellings))
    cost = cost_of(variant, shape, coder, training)
    rows = settings.options(variant, steps=1).batch
    size = batch_bytes(training_passages(folder, None)[0], settings.context, rows, settings.models.seeds[0])
    return Plan(shape, cost, updates(settings, cost, size), parameter_count(shape))


class Trained(NamedTuple):
    """A trained model."""

    model: Planned
    plan: Plan
    curve: list[Evaluation]


class Job(NamedTuple):
    """A model and its training. passages: the folder of those of a corpus. folder: where the trained model is written,
    and beside it the checkpoint."""

    name: str
    variant: Variant
    shape: Shape
    patched: Patched
    passages: Path
    options: LanguageTraining
    computation: Computation
    folder: Path


def train_all(settings: ModelSettings, patched: Patched, passages: Path, work: Path) -> list[Trained]:
    """Train all models on the passages of a corpus; each is written to a folder of its name in `work`."""
    plans = {label: plan(variant, settings, patched, passages) for label, variant in settings.variants.items()}
    models = planned(settings)
    jobs: list[Job] = []
    for model in models:
        shape, _, steps, _ = plans[model.label]
        options = settings.options(model.variant, steps, model.seed)
        place = work / model.name
        jobs.append(Job(model.name, model.variant, shape, patched, passages, options, settings.computation, place))
    # The longest first, so that no worker waits long for the last.
    order = sorted(range(len(jobs)), key=lambda number: -jobs[number].options.steps)
    found = in_processes(_train, [jobs[number] for number in order], settings.workers, "training")
    curves: dict[int, Any] = dict(zip(order, found, strict=True))
    return [Trained(model, plans[model.label], curves[number]) for number, model in enumerate(models)]


def _train(job: Job) -> list[Evaluation]:
    """Train and write a model; returns the evaluations. A job that was interrupted continues from its checkpoint."""
    return in_processes_of_training(_train_here, job, job.options.processes, job.options.device)


def _train_here(job: Job) -> list[Evaluation]:
    network = build_network(job.shape, job.options.seed, job.computation)
    model = LanguageModel(network, job.patched.coder(job.variant), job.options.context)
    training, held_out = training_passages(job.passages, job.patched.column(job.variant))
    curve = train(model, training, held_out, job.options, job.folder.with_name(f"{job.name}.safetensors"), job.name)
    if processes.rank() == 0:
        with atomic_folder(job.folder) as folder:
            save_language_model(model, folder)
    return curve
