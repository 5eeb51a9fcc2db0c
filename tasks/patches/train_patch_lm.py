"""Stage `train_patch_lm`: language models over tokens, bytes, patches and learned chunks of one corpus, at equal
training FLOPs or with equal updates.

All models see the same bytes in the same rows in the same order. Each model and seed is a job of its own in a pool of
processes, and resumes from its checkpoint where it was interrupted.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tasks.bits.translation.workers import in_processes
from tasks.patches.models.jobs import Job, run_job
from tasks.patches.models.variants import (
    Cost,
    Patched,
    Planned,
    batch_bytes,
    cost_of,
    planned,
    read_patched,
    shape_of,
    training_passages,
    updates,
)
from tasks.patches.parameters import ModelSettings, Variant, read_model_settings
from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.stage import Stage, run, write_json
from tokenlab.core.files import atomic_file, atomic_folder
from tokenlab.networks.cost import parameter_count
from tokenlab.networks.options import Shape
from tokenlab.training.checkpoint import Evaluation


class Plan(NamedTuple):
    """What all seeds of a variant share."""

    shape: Shape
    cost: Cost
    steps: int


Curves = Sequence[tuple[Planned, Sequence[Evaluation]]]


def train_models(stage: Stage) -> None:
    """Write all models, their loss curves and metrics."""
    settings = read_model_settings(stage)
    texts = settings.models.texts
    passages, patched = stage.data("patches", texts), read_patched(stage.models("patchers", texts))
    used = {
        "models": settings.models.model_dump(),
        "size": settings.size.model_dump(),
        "context": settings.context,
        "variants": {label: variant.model_dump() for label, variant in settings.variants.items()},
        "training": settings.training.model_dump(),
    }
    inputs = [passages / part for part in ("training", "validation")]
    work = checkpoint_folder(f"train_patch_lm.{stage.variant}", used, inputs)
    plans = {label: _plan(variant, settings, patched, passages) for label, variant in settings.variants.items()}
    models = planned(settings)
    jobs = [_job(model, plans[model.label], settings, patched, passages, work) for model in models]
    # The longest first, so that no worker waits long for the last.
    order = sorted(range(len(jobs)), key=lambda number: -jobs[number].options.steps)
    found = in_processes(run_job, [jobs[number] for number in order], settings.workers, "training")
    by_number = dict(zip(order, found, strict=True))
    curves = [(model, by_number[number]) for number, model in enumerate(models)]

    with atomic_folder(stage.models("patch_models", stage.variant)) as folder:
        for model in models:
            shutil.copytree(work / model.name, folder / model.name)
    reports = stage.reports("patch_models", stage.variant)
    about = {"name": stage.variant, "size": settings.models.size, "corpus": texts}
    with atomic_file(reports / "loss.csv") as path:
        pl.DataFrame(_loss_rows(about, curves, plans)).write_csv(path)
    training = training_passages(passages, None)[0]
    facts = {model.name: _facts(curve, plans[model.label], training.bytes) for model, curve in curves}
    write_json(reports / "metrics.json", {"training_bytes": training.bytes, "models": facts})
    shutil.rmtree(work, ignore_errors=True)


def _plan(variant: Variant, settings: ModelSettings, patched: Patched, passages: Path) -> Plan:
    training, _ = training_passages(passages, patched.column(variant))
    coder = patched.coder(variant)
    shape = shape_of(variant, settings.size, len(coder.spellings))
    cost = cost_of(variant, shape, coder, training)
    rows = settings.options(variant, steps=1).batch
    size = batch_bytes(training_passages(passages, None)[0], settings.context, rows, settings.models.seeds[0])
    return Plan(shape, cost, updates(settings, cost, size))


def _job(model: Planned, plan: Plan, settings: ModelSettings, patched: Patched, passages: Path, work: Path) -> Job:
    options = settings.options(model.variant, plan.steps, model.seed)
    return Job(
        model.name, model.variant, plan.shape, patched, passages, options, settings.computation, work / model.name
    )


def _loss_rows(about: Mapping[str, str], curves: Curves, plans: Mapping[str, Plan]) -> list[dict[str, Any]]:
    return [
        {
            **about,
            "variant": model.label,
            "seed": model.seed,
            "step": evaluation.step,
            "bytes": evaluation.size,
            "flops": evaluation.size * plans[model.label].cost.flops,
            "training": evaluation.training,
            "held_out": evaluation.held_out,
        }
        for model, curve in curves
        for evaluation in curve
    ]


def _facts(curve: Sequence[Evaluation], plan: Plan, corpus: int) -> dict[str, Any]:
    """What the evaluation tells of a training."""
    last = curve[-1]
    return {
        "steps": last.step,
        "training_bytes": last.size,
        "epochs": last.size / corpus,
        "training_flops": last.size * plan.cost.flops,
        "parameters": parameter_count(plan.shape),
        "validation_bits_per_byte": last.held_out,
        "mean_piece": plan.cost.context,
    }


if __name__ == "__main__":
    run(train_models)
