"""Zero-shot tasks of lm-evaluation-harness over local files.

The definitions (prompts, choices, metrics) are the installed library's own YAML files, and the library scores the
answers; only the data comes from files that are given. Nothing is fetched and no code of a data set runs.
"""

import contextlib
import io
import logging
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import lm_eval
from lm_eval.api.metrics import mean_stderr
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

from tokenlab.core.errors import InputError
from tokenlab.core.options import check_least
from tokenlab.language.harness.files import Row, check_task, read_items

_FOLDERS = ("hellaswag", "piqa", "winogrande", "arc", "lambada", "mmlu/default")
"""Folders of definitions; only these are indexed, since all of them take half a minute."""


class TaskScore(NamedTuple):
    """A metric of a task."""

    task: str
    metric: str
    """"acc", "acc_norm" (the answer's log-likelihood divided by its length in characters) or "perplexity" (of the last
    word)."""
    value: float
    stderr: float | None
    """Standard error of the value over items; of a perplexity by the delta method. None for a single item."""
    items: int


def evaluate_tasks(lm: LM, files: Mapping[str, str | Path], limit: int | None = None) -> list[TaskScore]:
    """Scores of a model on tasks, without examples in the prompt.

    Args:
        lm: a model behind the library's interface, such as `adapter.HarnessModel`.
        files: task -> its file, as `files.read_items` reads it.
        limit: the first items only of each task, of MMLU of each subject.

    Returns:
        Scores by task in the order of `files`, then by metric in the order of the definition. MMLU is one task: the
        mean over all items of all subjects.

    Raises:
        ParameterError: an unknown task, or a limit below 1.
        InputError: what `files.read_items` raises, or a subject that MMLU does not have.
    """
    check_least("limit", limit, 1)
    subtasks = {task: _definitions(task, path) for task, path in files.items()}
    loaded = load_tasks([definition for definitions in subtasks.values() for definition in definitions])
    with _quiet():
        results = lm_eval.evaluate(lm, loaded, limit=limit, bootstrap_iters=0, log_samples=True)
    scores: list[TaskScore] = []
    for task, definitions in subtasks.items():
        samples = [sample for definition in definitions for sample in results["samples"][definition["task"]]]
        metrics = samples[0]["metrics"]
        scores.extend(_score(task, metric, [float(sample[metric]) for sample in samples]) for metric in metrics)
    return scores


def load_tasks(definitions: Sequence[Row]) -> Any:
    """Tasks of the library, for `lm_eval.evaluate`.

    Args:
        definitions: `task`, a name, and what replaces fields of its definition.

    Raises InputError for a name that the library does not have among the tasks used here.
    """
    root = Path(lm_eval.__file__).parent / "tasks"
    with _quiet():
        manager = TaskManager(include_path=[str(root / folder) for folder in _FOLDERS], include_defaults=False)
        for definition in definitions:
            if definition["task"] not in manager.all_subtasks:
                raise InputError(
                    f"lm-evaluation-harness has no task {definition['task']!r}; check the file of the task"
                )
        return manager.load([{"group": "tokenlab", "task": list(definitions)}])


def _definitions(task: str, path: str | Path) -> list[Row]:
    """The definition of a task with its data; several for MMLU, a task for each subject."""
    check_task(task)
    items = read_items(task, path)
    if task != "mmlu":
        changes = _with_items(items)
        # Items that are cleaned already do not pass through the definition's own cleaning.
        return [{"task": task, **changes, **({"process_docs": None} if "query" in items[0] else {})}]
    subjects: defaultdict[str, list[Row]] = defaultdict(list)
    for item in items:
        subjects[item["subject"]].append(item)
    return [{"task": f"mmlu_{subject}", **_with_items(rows)} for subject, rows in subjects.items()]


def _with_items(items: list[Row]) -> Row:
    data = datasets.DatasetDict({"validation": datasets.Dataset.from_list(items)})
    return {
        "custom_dataset": lambda **_: data,
        "training_split": None,
        "validation_split": "validation",
        "test_split": None,
        "fewshot_split": None,
    }


def _score(task: str, metric: str, values: list[float]) -> TaskScore:
    value = math.fsum(values) / len(values)
    stderr = mean_stderr(values) if len(values) > 1 else None
    if metric == "perplexity":
        # The library's definition: exp of the mean negative log-likelihood.
        value = math.exp(-value)
        stderr = None if stderr is None else value * stderr
    return TaskScore(task, metric, value, stderr, len(values))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the library's warnings about definitions and its progress bars, one for each task."""
    logger = logging.getLogger("lm_eval")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logger.setLevel(level)
