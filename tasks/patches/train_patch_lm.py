"""Stage `train_patch_lm`: language models over tokens, bytes, patches and learned chunks of one corpus, at equal
training FLOPs or with equal updates.

With a search, each is also trained with a share of the budget; there the first seed tries several learning rates, and
validation text chooses that of all trainings of its variant.

All models see the same bytes in the same rows in the same order. Each training is a job of its own in a pool of
processes, and resumes from its checkpoint where it was interrupted.
"""

import shutil
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tasks.patches.models import Patched, Planned, planned, planned_small, read_patched
from tasks.patches.parameters import ModelSettings, Size, Variant, read_model_settings
from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.pool import in_processes, in_processes_of_training
from tasks.runtime.stage import Stage, run, write_json
from tasks.runtime.tables import write_table
from tokenlab.core.files import atomic_folder
from tokenlab.language.coding import Coder
from tokenlab.language.options import LanguageTraining
from tokenlab.language.passages import Passages, open_passages, shuffled_batches
from tokenlab.language.stored import LanguageModel, save_language_model
from tokenlab.language.training import train
from tokenlab.networks.cost import parameter_count, training_flops_per_byte
from tokenlab.networks.options import ChunkShape, Computation, PatchShape, Shape, TokenShape
from tokenlab.networks.stored import build_network
from tokenlab.training import processes
from tokenlab.training.checkpoint import Evaluation

_SAMPLE = 1 << 21
"""Bytes of training text on which the cost of a byte is measured."""

_BATCHES = 64
"""Batches on which the bytes of a batch are measured."""


def train_models(stage: Stage) -> None:
    """Write all models, their loss curves and metrics."""
    settings = read_model_settings(stage)
    name, texts = stage.variant, settings.models.texts
    passages, patchers = stage.data("patches", texts), stage.models("patchers", texts)
    models, reports = stage.models("patch_models", name), stage.reports("patch_models", name)
    inputs = [passages / part for part in ("training", "validation")]
    work = checkpoint_folder(f"train_patch_lm.{name}", settings.of_results(), inputs)

    trained, tried = train_all(settings, read_patched(patchers), passages, work)
    about = {"name": name, "size": settings.models.size, "corpus": texts}
    training_bytes = open_passages(passages / "training").bytes

    with atomic_folder(models) as folder:
        for one in trained:
            shutil.copytree(one.folder, folder / one.model.name)
    write_table(reports / "loss.csv", _loss_rows(about, [*trained, *tried]))
    facts = {one.model.name: _facts(one, training_bytes) for one in trained}
    write_json(reports / "metrics.json", {"training_bytes": training_bytes, "models": facts})
    shutil.rmtree(work, ignore_errors=True)


class Cost(NamedTuple):
    """What training a network costs. context: mean size of a passage over bytes. symbols, patches: for each byte."""

    context: float
    symbols: float
    patches: float
    flops: float
    """Operations for each byte of training text."""


class Plan(NamedTuple):
    """What all seeds of a variant share."""

    shape: Shape
    cost: Cost
    steps: int
    parameters: int


class Trained(NamedTuple):
    """A trained model, in a folder."""

    model: Planned
    plan: Plan
    learning_rate: float
    folder: Path
    curve: list[Evaluation]


class Job(NamedTuple):
    """A model and its training. passages: the folder of those of a corpus. folder: where the trained model is written,
    and beside it the checkpoint."""

    model: Planned
    plan: Plan
    patched: Patched
    passages: Path
    options: LanguageTraining
    computation: Computation
    folder: Path


def _loss_rows(about: Mapping[str, str], trained: Sequence[Trained]) -> list[dict[str, Any]]:
    return [
        {
            **about,
            "variant": one.model.label,
            "seed": one.model.seed,
            "small": one.model.small,
            "learning_rate": one.learning_rate,
            "step": evaluation.step,
            "bytes": evaluation.size,
            "flops": evaluation.size * one.plan.cost.flops,
            "training": evaluation.training,
            "held_out": evaluation.held_out,
        }
        for one in trained
        for evaluation in one.curve
    ]


def _facts(trained: Trained, corpus: int) -> dict[str, Any]:
    """Facts of a training, from its plan and its last evaluation; corpus: bytes of the training text."""
    last, plan = trained.curve[-1], trained.plan
    return {
        "steps": last.step,
        "training_bytes": last.size,
        "epochs": last.size / corpus,
        "training_flops": last.size * plan.cost.flops,
        "parameters": plan.parameters,
        "learning_rate": trained.learning_rate,
        "validation_bits_per_byte": last.held_out,
        "mean_piece": plan.cost.context,
    }


def train_all(
    settings: ModelSettings, patched: Patched, passages: Path, work: Path
) -> tuple[list[Trained], list[Trained]]:
    """Train all models on the passages of a corpus, each in a folder in `work`.

    Returns the models, and those with learning rates that the search did not choose.
    """
    plans = {label: plan(variant, settings, patched, passages) for label, variant in settings.variants.items()}
    models, small, search = planned(settings), planned_small(settings), settings.models.search

    def job(model: Planned, name: str, **chosen: float) -> Job:
        of_model = plans[model.label]
        if model.small and search is not None:
            of_model = of_model._replace(steps=max(1, round(search.share * of_model.steps)))
        options = settings.options(model.variant, of_model.steps, model.seed, **chosen)
        return Job(model, of_model, patched, passages, options, settings.computation, work / name)

    first = {model.label: model for model in reversed(small)}
    rates = [] if search is None else search.learning_rates
    attempts = [job(first[label], f"{label}-{rate:g}", learning_rate=rate) for label in first for rate in rates]
    tried = _trained(attempts, settings.workers)
    found = {one.model.label: one for one in sorted(tried, key=lambda one: one.curve[-1].held_out, reverse=True)}
    chosen = {label: {"learning_rate": one.learning_rate} for label, one in found.items()}
    others = [model for model in [*models, *small] if model not in first.values()]
    trained = _trained([job(model, model.name, **chosen.get(model.label, {})) for model in others], settings.workers)
    return [*trained, *found.values()], [one for one in tried if one is not found[one.model.label]]


def _trained(jobs: Sequence[Job], workers: int) -> list[Trained]:
    """Do these trainings, the longest first, so that no worker waits long for the last."""
    order = sorted(jobs, key=lambda job: -job.plan.steps)
    found = in_processes(_train, order, workers, "training")
    curves = {job.folder: curve for job, curve in zip(order, found, strict=True)}
    return [Trained(job.model, job.plan, job.options.learning_rate, job.folder, curves[job.folder]) for job in jobs]


def _train(job: Job) -> list[Evaluation]:
    """Train and write a model; returns the evaluations. A job that was interrupted continues from its checkpoint."""
    return in_processes_of_training(_train_here, job, job.options.processes, job.options.device)


def _train_here(job: Job) -> list[Evaluation]:
    network = build_network(job.plan.shape, job.options.seed, job.computation)
    model = LanguageModel(network, job.patched.coder(job.model.variant), job.options.context)
    column, name = job.patched.column(job.model.variant), job.folder.name
    training, held_out = (open_passages(job.passages / part, column) for part in ("training", "validation"))
    curve = train(model, training, held_out, job.options, job.folder.with_name(f"{name}.safetensors"), name)
    if processes.rank() == 0:
        with atomic_folder(job.folder) as folder:
            save_language_model(model, folder)
    return curve


def plan(variant: Variant, settings: ModelSettings, patched: Patched, folder: Path) -> Plan:
    """The plan of a variant, for the passages in `folder`: as many updates as the budget allows, for all seeds."""
    coder = patched.coder(variant)
    shape = shape_of(variant, settings.size, len(coder.spellings))
    cost = cost_of(variant, shape, coder, open_passages(folder / "training", patched.column(variant)))
    rows = settings.options(variant, steps=1).batch
    size = batch_bytes(open_passages(folder / "training"), settings.context, rows, settings.models.seeds[0])
    budget = settings.models.budget
    steps = budget.steps or max(1, round((budget.flops or 0) / (cost.flops * size)))
    return Plan(shape, cost, steps, parameter_count(shape))


def shape_of(variant: Variant, size: Size, symbols: int) -> Shape:
    """The shape of a variant's network over so many symbols."""
    if variant.model == "patches":
        return PatchShape(symbols, variant.longest is not None, size.latent, size.local, variant.hash)
    if variant.model == "chunks":
        return ChunkShape(size.latent, size.local, variant.ratio, variant.ratio_weight)
    return TokenShape(symbols, size.latent)


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
    batches = islice(shuffled_batches(passages, context, rows, seed), _BATCHES)
    return float(np.mean([sum(len(passage.data) for row in batch for passage in row) for batch in batches]))


if __name__ == "__main__":
    run(train_models)
