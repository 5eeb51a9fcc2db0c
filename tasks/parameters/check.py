"""Check all parameters of presets before any stage starts: `python -m tasks.parameters.check DVC_YAML...`.

One model of the whole file (`sections`) finds unknown, missing and invalid values; then names that refer to other
parameters (`references`) and paths (`paths`) are checked. The result is JSON on standard output. This imports what the
stages import, PyTorch too, because they declare the parameters; so `flows.check` starts it as a process of its own,
and only where a file has changed.
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

from tasks.parameters.messages import describe
from tasks.parameters.outputs import outputs_of
from tasks.parameters.patch_references import check_patches
from tasks.parameters.paths import check_paths, not_made
from tasks.parameters.references import check_references
from tasks.parameters.scripts import check_scripts
from tasks.parameters.sections import RawSections, Sections
from tasks.parameters.yaml_file import read_sections
from tasks.runtime.parent_death import die_with_parent
from tokenlab.core.errors import TokenlabError, one_line

PARAMS, PIPELINE = "params.yaml", "dvc.yaml"
RAW = Path("data", "raw")
"""The folder of the raw data, which all presets share, with a pipeline and parameters of its own."""

_CARDS = 1 << 10
"""GPUs of the machine on which the stages may run; it may be another one."""


def problems_of_raw_data(root: Path) -> list[str]:
    """A line for each problem in the parameters of the raw data."""
    name = str(RAW / PARAMS)
    return [f"{name}: {line}" for line in _validate(RawSections, read_sections(root / name, name))[1]]


def problems_of_preset(root: Path, pipeline: Path) -> tuple[list[str], list[str]]:
    """A line for each problem in the parameters beside a dvc.yaml, and the paths in them that no stage makes.

    Raises TokenlabError or OSError for a file that cannot be read at all.
    """
    name = str(pipeline.with_name(PARAMS))
    given = read_sections(root / name, name)
    paths: dict[str, str] = {}
    sections, lines = _validate(Sections, given)
    if sections is not None:
        lines = [*_whereabouts(pipeline, sections)]
    if sections is not None and not lines:
        lines += check_references(sections)
        lines += check_patches(sections.patches, [*sections.corpora, *sections.concatenated])
        made = {*outputs_of(root / pipeline, str(pipeline), given)}
        raw = read_sections(root / RAW / PARAMS, str(RAW / PARAMS))
        made |= {*outputs_of(root / RAW / PIPELINE, str(RAW / PIPELINE), raw)}
        paths = not_made(sections, made)
        lines += check_paths(root, sections.preset, paths)
    if sections is not None and not lines:
        lines += check_scripts(root, sections, paths)
    return [f"{name}: {line}" for line in lines], [*paths.values()]


def _validate(model: type[BaseModel], given: Mapping[str, Any]) -> tuple[Any, list[str]]:
    try:
        with _any_machine():
            return model.model_validate(given), []
    except ValidationError as error:
        return None, list(dict.fromkeys(describe(error, given)))


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


if __name__ == "__main__":
    main(sys.argv[1:])
