"""Files of zero-shot tasks: JSON lines, plain or compressed, checked and brought to the columns that the definitions of
lm-evaluation-harness expect.

hellaswag       activity_label, ctx, endings, label: cleaned of [header] marks already; or ctx_a and ctx_b, as published
piqa            goal, sol1, sol2, label
winogrande      sentence with one _, option1, option2, answer ("1" or "2")
arc_easy        question, choices {text, label}, answerKey
arc_challenge   the same
lambada_openai  text: its last word is asked for
mmlu            question, subject, choices (four), answer (0-3)
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.text.lines import read_lines

Row = dict[str, Any]


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
