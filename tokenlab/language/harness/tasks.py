"""Zero-shot tasks of lm-evaluation-harness over local files.

The definitions (prompts, choices, metrics) are the installed library's own YAML files, and the library scores the
answers; only the data comes from files that are given. Nothing is fetched and no code of a data set runs.

Files of items are JSON lines, plain or compressed, checked and brought to the columns that the definitions expect:

hellaswag       activity_label, ctx, endings, label: cleaned of [header] marks already; or ctx_a and ctx_b, as published
piqa            goal, sol1, sol2, label
winogrande      sentence with one _, option1, option2, answer ("1" or "2")
arc_easy        question, choices {text, label}, answerKey
arc_challenge   the same
lambada_openai  text: its last word is asked for
mmlu            question, subject, choices (four), answer (0-3)
"""

import contextlib
import io
import json
import logging
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import lm_eval
from lm_eval.api.metrics import mean_stderr
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.options import check_least
from tokenlab.text.lines import read_lines

Row = dict[str, Any]

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
        files: task -> its file, as `read_items` reads it.
        limit: the first items only of each task, of MMLU of each subject.

    Returns:
        Scores by task in the order of `files`, then by metric in the order of the definition. MMLU is one task: the
        mean over all items of all subjects.

    Raises:
        ParameterError: an unknown task, or a limit below 1.
        InputError: what `read_items` raises, or a subject that MMLU does not have.
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


def read_items(task: str, path: str | Path) -> list[Row]:
    """The items of a task, in the order of the file, with the columns of the task's definition.

    Args:
        task: one of `TASKS`.
        path: JSON lines, plain, gzip or zstd.

    Raises:
        ParameterError: an unknown task.
        InputError: a file without items, or a line that is no item of this task, with its number.
    """
    check_task(task)
    items = []
    for number, line in enumerate(read_lines(path), 1):
        where = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            raise InputError(f"{where}: not JSON; give a file with one JSON object a line") from None
        try:
            items.append(_ITEMS[task](row))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            said = f"no field {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{where}: no item of {task} ({said}); give a file of this task") from None
    if not items:
        raise InputError(f"{path}: no items; give a file of {task} with one JSON object a line")
    return items


def check_task(task: str) -> None:
    """Raises ParameterError for a task that is none of `TASKS`."""
    if task not in _ITEMS:
        raise ParameterError(f"task {task!r} is unknown; use one of {', '.join(TASKS)}")


def _hellaswag(row: Mapping[str, Any]) -> Row:
    endings = _texts(row["endings"], 4)
    label = _among(int(row["label"]), 4)
    names = ("ctx_a", "ctx_b") if "ctx_a" in row else ("ctx",)
    texts = {name: _text(row[name]) for name in ("activity_label", *names)}
    if "ctx_a" in row:
        # As published: the definition's own function cleans it.
        return {**texts, "endings": endings, "label": label}
    return {"query": f"{texts['activity_label']}: {texts['ctx']}", "choices": endings, "label": label}


def _piqa(row: Mapping[str, Any]) -> Row:
    texts = {name: _text(row[name]) for name in ("goal", "sol1", "sol2")}
    return {**texts, "label": _among(int(row["label"]), 2)}


def _winogrande(row: Mapping[str, Any]) -> Row:
    texts = {name: _text(row[name]) for name in ("sentence", "option1", "option2")}
    if "_" not in texts["sentence"]:
        raise ValueError("the sentence has no _")
    return {**texts, "answer": str(_among(int(row["answer"]) - 1, 2) + 1)}


def _arc(row: Mapping[str, Any]) -> Row:
    labels, texts = row["choices"]["label"], row["choices"]["text"]
    if row["answerKey"] not in labels:
        raise ValueError(f"the answer {row['answerKey']!r} is none of the choices")
    choices = {"label": _texts(labels, len(texts)), "text": _texts(texts, len(labels))}
    return {"question": _text(row["question"]), "choices": choices, "answerKey": row["answerKey"]}


def _lambada(row: Mapping[str, Any]) -> Row:
    text = _text(row["text"])
    if not all(text.rpartition(" ")):
        raise ValueError("the text has no last word after a space")
    return {"text": text}


def _mmlu(row: Mapping[str, Any]) -> Row:
    question, subject, choices = _text(row["question"]), _text(row["subject"]), _texts(row["choices"], 4)
    return {"question": question, "subject": subject, "choices": choices, "answer": _among(int(row["answer"]), 4)}


_ITEMS: dict[str, Callable[[Mapping[str, Any]], Row]] = {
    "hellaswag": _hellaswag,
    "piqa": _piqa,
    "winogrande": _winogrande,
    "arc_easy": _arc,
    "arc_challenge": _arc,
    "lambada_openai": _lambada,
    "mmlu": _mmlu,
}

TASKS = tuple(_ITEMS)
"""The tasks of the paper's table 4, by the names of lm-evaluation-harness."""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is no text")
    return value


def _texts(values: Any, number: int) -> list[str]:
    if not isinstance(values, list) or len(values) != number:
        raise ValueError(f"{values!r} is no list of {number} texts")
    return [_text(value) for value in values]


def _among(value: int, number: int) -> int:
    if not 0 <= value < number:
        raise ValueError(f"the answer is none of {number}")
    return value
