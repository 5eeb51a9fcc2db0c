"""Stage `zero_shot`: tasks of lm-evaluation-harness for the language models of a corpus, without examples in the
prompt, from task files that lie here.

A task is evaluated where the folder has its file, TASK.jsonl. Chance is what guessing scores.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from tasks.patches.models import Planned, loaded, planned
from tasks.patches.parameters import ModelSettings, ZeroShot, read_model_settings
from tasks.runtime.pool import in_processes
from tasks.runtime.stage import Stage, run, write_json
from tasks.runtime.tables import nested, write_table
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.language.harness.adapter import HarnessModel
from tokenlab.language.harness.tasks import TaskScore, evaluate_tasks

TASKS = {
    "hellaswag": "hellaswag",
    "piqa": "piqa",
    "winogrande": "winogrande",
    "arc_easy": "arc_easy",
    "arc_challenge": "arc_challenge",
    "lambada": "lambada_openai",
    "mmlu": "mmlu",
}
"""Name of a file -> the harness's name of the task."""

CHANCE = {"hellaswag": 0.25, "piqa": 0.5, "winogrande": 0.5, "arc_easy": 0.25, "arc_challenge": 0.25, "mmlu": 0.25}


def evaluate_models(stage: Stage) -> None:
    """Write the table and metrics."""
    parameters = stage.parameters(f"patches.zero_shot.{stage.variant}", ZeroShot)
    settings = read_model_settings(stage, parameters.models)
    models = _chosen(stage, parameters, settings)
    folder = Path(parameters.files)
    files = {TASKS[name]: folder / f"{name}.jsonl" for name in TASKS if (folder / f"{name}.jsonl").exists()}
    if not files:
        raise InputError(f"{folder}: no file of a task ({', '.join(TASKS)}, each .jsonl); name another folder")
    trained = stage.models("patch_models", parameters.models)
    scores_of = partial(_scores, folder=trained, settings=settings, files=files, limit=parameters.limit)
    found = in_processes(scores_of, models, settings.workers, "tasks")
    names = {task: name for name, task in TASKS.items()}
    rows = [
        {
            "name": parameters.models,
            "size": settings.models.size,
            "corpus": settings.models.texts,
            "variant": model.label,
            "seed": model.seed,
            **score._asdict(),
            "task": names[score.task],
            "chance": CHANCE.get(names[score.task]),
        }
        for model, scores in zip(models, found, strict=True)
        for score in scores
    ]
    reports = stage.reports("zero_shot", stage.variant)
    write_table(reports / "zero_shot.parquet", rows)
    key = ("variant", "seed")
    values = ({name: row[name] for name in key} | {f"{row['task']}_{row['metric']}": row["value"]} for row in rows)
    write_json(reports / "metrics.json", nested(values, *key))


def _scores(
    model: Planned, folder: Path, settings: ModelSettings, files: Mapping[str, Path], limit: int | None
) -> list[TaskScore]:
    """The scores of one of the models in a folder."""
    options = settings.options(model.variant, steps=1)
    with loaded(folder / model.name, settings.computation, options) as trained:
        return evaluate_tasks(HarnessModel(trained), files, limit)


def _chosen(stage: Stage, parameters: ZeroShot, settings: ModelSettings) -> list[Planned]:
    """The models that take part."""
    variants = parameters.variants
    chosen = [
        model
        for model in planned(settings)
        if (model.variant.ablation is None if variants is None else model.label in variants)
        and (parameters.seeds is None or model.seed in parameters.seeds)
    ]
    if not chosen:
        raise ParameterError(f"{stage.params_file}: patches.zero_shot.{stage.variant} names no model; change its seeds")
    return chosen


if __name__ == "__main__":
    run(evaluate_models)
