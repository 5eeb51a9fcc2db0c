"""Check all parameters of presets before any stage starts: `python -m tasks.parameters.check DVC_YAML...`.

One model of the whole file (`sections`) finds unknown, missing and invalid values; then names that refer to other
parameters (`references`) and paths (`paths`) are checked. The result is JSON on standard output. This imports what the
stages import, PyTorch too, because they declare the parameters; so `flows.parameter_check` starts it as a process of
its own, and only where a file has changed.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from pydantic import BaseModel, ValidationError

from tasks.parameters.paths import check_paths, check_scripts, not_made, outputs_of
from tasks.parameters.references import check_references
from tasks.parameters.sections import RawSections, Sections
from tasks.runtime.params import numbers_from_booleans, read_params
from tokenlab.core.errors import TokenlabError, one_line
from tokenlab.core.parent_death import die_with_parent

PARAMS, PIPELINE = "params.yaml", "dvc.yaml"
RAW = Path("data", "raw")
"""The folder of the raw data, which all presets share, with a pipeline and parameters of its own."""

_CARDS = 1 << 10
"""GPUs of the machine on which the stages may run; it may be another one."""


def problems_of_raw_data(root: Path) -> list[str]:
    """A line for each problem in the parameters of the raw data."""
    name = str(RAW / PARAMS)
    return [f"{name}: {line}" for line in _validate(RawSections, read_params(root / name, name))[1]]


def problems_of_preset(root: Path, pipeline: Path) -> tuple[list[str], list[str]]:
    """A line for each problem in the parameters of a preset, and the paths in them that no stage makes.

    pipeline: the dvc.yaml beside them, which need not exist: every preset has the stages of the root's.

    Raises TokenlabError or OSError for a file that cannot be read at all.
    """
    name = str(pipeline.with_name(PARAMS))
    given = read_params(root / name, name)
    paths: dict[str, str] = {}
    sections, lines = _validate(Sections, given)
    if sections is not None:
        lines = [*_whereabouts(pipeline, sections)]
    if sections is not None and not lines:
        lines += check_references(sections)
        made = outputs_of(root, Path(PIPELINE), pipeline.parent) | outputs_of(root, RAW / PIPELINE, RAW)
        paths = not_made(sections, made)
        lines += check_paths(root, sections.preset, paths)
    if sections is not None and not lines:
        lines += check_scripts(root, sections, paths)
    return [f"{name}: {line}" for line in lines], [*paths.values()]


def _validate(model: type[BaseModel], given: Mapping[str, Any]) -> tuple[Any, list[str]]:
    try:
        with _any_machine():
            found = model.model_validate(given)
    except ValidationError as error:
        return None, list(dict.fromkeys(describe(error, given)))
    lines = [f"{place} is {value}; it should be a number" for place, value in numbers_from_booleans(given, found)]
    return None if lines else found, lines


@contextmanager
def _any_machine() -> Iterator[None]:
    """Within the block, options that name a GPU are valid on a machine without one: only the file is checked."""
    with (
        patch.object(torch.cuda, "device_count", lambda: _CARDS),
        patch.object(torch.cuda, "is_bf16_supported", lambda including_emulation=True: True),
    ):
        yield


def _whereabouts(pipeline: Path, sections: Sections) -> Iterator[str]:
    """The three parameters by which DVC and the stages find a preset's files."""
    folder = pipeline.parent
    right = {
        "preset": folder.name or "sample",
        "root": "/".join([".."] * len(folder.parts)) or ".",
        "params_file": str(pipeline.with_name(PARAMS)),
    }
    for name, value in right.items():
        if (given := getattr(sections, name)) != value:
            yield f"{name} is {given!r}; in this folder it must be {value!r}"


def main(pipelines: list[str]) -> None:
    """Write the problems of each preset, by its pipeline, and the paths in its parameters that no stage makes."""
    die_with_parent()
    found = {}
    for pipeline in pipelines:
        problems: list[str] = []
        paths: list[str] = []
        try:
            problems = problems_of_raw_data(Path())
            of_preset, paths = problems_of_preset(Path(), Path(pipeline))
            problems += of_preset
        except (TokenlabError, OSError) as error:
            problems.append(one_line(error))
        found[pipeline] = {"problems": problems, "paths": paths}
    json.dump(found, sys.stdout)


_LONGEST = 60
"""Characters of a value in a message."""


def describe(error: ValidationError, sections: Mapping[Any, Any]) -> Iterator[str]:
    """A line for each error: `segmentation.bpe.vocabulary_size: ...`."""
    for problem in error.errors():
        is_name = problem["loc"][-1:] == ("[key]",) and problem["type"] != "string_pattern_mismatch"
        where = _place(problem["loc"][:-2] if is_name else problem["loc"], sections)
        cause = problem.get("ctx", {}).get("error")
        if isinstance(cause, ValidationError):  # of the options of the library inside a section
            inner = cause.errors()[0]
            yield _line(_join(where, _place(inner["loc"], {})), inner)
        else:
            yield _line(where, problem)


def _line(where: str, problem: Any) -> str:
    kind, given = problem["type"], _short(problem["input"])
    cause = problem.get("ctx", {}).get("error")
    if kind in ("missing", "missing_argument"):
        return f"{where} is missing; add it"
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{where} is no parameter; correct its name, or remove it"
    if problem["loc"][-1:] == ("[key]",) and kind != "string_pattern_mismatch":
        return f"{where}: a name is read as {given}; write it in quotes"
    if kind == "dict_type":
        return f"{where} is {'empty' if problem['input'] is None else given}; it should be a mapping, {{}} for none"
    if kind == "string_pattern_mismatch":
        return f"{where}: the name may have letters, digits, - and _ alone, for it is a part of paths; rename it"
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        told = {name: str(text).replace("'", "") for name, text in problem["ctx"].items()}
        key = f"{where}.{told['discriminator']}"
        return (
            f"{key} is {told['tag']!r}; it is one of {told['expected_tags']}"
            if "tag" in told
            else f"{key} is missing; add it"
        )
    if cause is not None:  # a check of our own, which says what to do
        return f"{where}: {one_line(cause)}"
    message = problem["msg"][0].lower() + problem["msg"][1:]
    return f"{where} is {given}; {message.replace('input should', 'it should')}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _place(loc: tuple[Any, ...], sections: Any) -> str:
    """The keys to a place. Among them pydantic lists marks of its own (`[key]`, the kind of a method), which no section
    has."""
    found, at = [], sections
    for number, part in enumerate(loc):
        last = number == len(loc) - 1
        if part == "[key]" or (isinstance(at, Mapping) and part not in at and not last):
            continue
        found.append(str(part))
        at = at[part] if isinstance(at, Mapping) and part in at else at[part] if _is_index(at, part) else None
    return ".".join(found)


def _is_index(at: Any, part: Any) -> bool:
    return isinstance(at, list | tuple) and isinstance(part, int) and part < len(at)


def _join(where: str, inner: str) -> str:
    return f"{where}.{inner}" if inner else where


if __name__ == "__main__":
    main(sys.argv[1:])
