"""Stage `train_patch_lm`: language models over tokens, bytes, patches and learned chunks of one corpus, at equal
training FLOPs or with equal updates."""

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tasks.patches.models import Trained, read_patched, train_all, training_passages
from tasks.patches.parameters import read_model_settings
from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.stage import Stage, run, write_json
from tokenlab.core.files import atomic_file, atomic_folder


def train_models(stage: Stage) -> None:
    """Write all models, their loss curves and metrics."""
    settings = read_model_settings(stage)
    name, texts = stage.variant, settings.models.texts
    passages, patchers = stage.data("patches", texts), stage.models("patchers", texts)
    models, reports = stage.models("patch_models", name), stage.reports("patch_models", name)
    inputs = [passages / part for part in ("training", "validation")]
    work = checkpoint_folder(f"train_patch_lm.{name}", settings.of_results(), inputs)

    trained = train_all(settings, read_patched(patchers), passages, work)
    about = {"name": name, "size": settings.models.size, "corpus": texts}
    training_bytes = training_passages(passages, None)[0].bytes

    with atomic_folder(models) as folder:
        for one in trained:
            shutil.copytree(work / one.model.name, folder / one.model.name)
    with atomic_file(reports / "loss.csv") as path:
        pl.DataFrame(_loss_rows(about, trained)).write_csv(path)
    facts = {one.model.name: _facts(one, training_bytes) for one in trained}
    write_json(reports / "metrics.json", {"training_bytes": training_bytes, "models": facts})
    shutil.rmtree(work, ignore_errors=True)


def _loss_rows(about: Mapping[str, str], trained: Sequence[Trained]) -> list[dict[str, Any]]:
    return [
        {
            **about,
            "variant": model.label,
            "seed": model.seed,
            "step": evaluation.step,
            "bytes": evaluation.size,
            "flops": evaluation.size * plan.cost.flops,
            "training": evaluation.training,
            "held_out": evaluation.held_out,
        }
        for model, plan, curve in trained
        for evaluation in curve
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
        "validation_bits_per_byte": last.held_out,
        "mean_piece": plan.cost.context,
    }


if __name__ == "__main__":
    run(train_models)
