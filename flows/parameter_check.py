"""All parameters of a preset are checked before any of its stages starts (`tasks.parameters`).

The check imports what the stages import, which takes seconds, so it runs as a process, and only where the parameters,
dvc.yaml or the code of the stages changed since it last passed: then a run that has nothing to do does not pay for it.
"""

import contextlib
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from flows.run.presets import find_targets
from flows.run.processes import PIPELINE, environment
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import write_text

_CODE = Path(__file__).resolve().parents[1]
_PACKAGES = ("tasks", "tokenlab")
_OUR_STAGES = b"python -m tasks."
"""In a dvc.yaml with stages of this project; the parameters of others are unknown here."""

_RAW = Path("data", "raw")


class _Unchecked(NamedTuple):
    """The record to write of a preset that passes, and the state that it is about."""

    record: Path
    state: str


def require_valid_parameters(root: Path, preset: str) -> None:
    """Raises ParameterError with all problems of a preset's parameters; see `find_problems`."""
    if problems := find_problems(root, [preset]):
        raise ParameterError("; ".join(problems))


def find_problems(root: Path, presets: Sequence[str]) -> list[str]:
    """A line for each problem in the parameters of these presets; each names the file and the key.

    Raises ParameterError for an unknown preset, and InputError where the check itself cannot run.
    """
    unknown: dict[str, _Unchecked] = {}
    for preset in presets:
        pipeline = Path(find_targets(root, preset, None)[0])
        if (root / pipeline).exists() and _OUR_STAGES in (root / pipeline).read_bytes():
            record = root / ".dvc" / "tmp" / "tokenlab-parameters" / f"{preset}.json"
            state = _state(root, pipeline)
            if not _passed(record, state, root):
                unknown[str(pipeline)] = _Unchecked(record, state)
    if not unknown:
        return []
    problems: dict[str, None] = {}
    for name, found in _check(root, list(unknown)).items():
        problems |= dict.fromkeys(found["problems"])
        if not found["problems"]:
            record, state = unknown[name]
            texts = {path: _stamp(root / path) for path in found["paths"]}
            write_text(record, json.dumps({"state": state, "texts": texts}) + "\n")
    return [*problems]


def _check(root: Path, pipelines: list[str]) -> dict[str, Any]:
    """Pipeline -> its problems, and the paths in its parameters that no stage makes."""
    given = {name: value for name, value in environment(root).items() if name != PIPELINE}  # it works in no workspace
    ended = subprocess.run(
        [sys.executable, "-m", "tasks.parameters.check", *pipelines],
        cwd=root,
        env=given,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Control-C is for this process, which then ends that one
    )
    if ended.returncode != 0:
        raise InputError(f"the parameters were not checked (exit status {ended.returncode}, see above)")
    result: dict[str, Any] = json.loads(ended.stdout)
    return result


def _passed(record: Path, state: str, root: Path) -> bool:
    """Whether these files passed before, and the texts that they name are as they were."""
    try:
        content = json.loads(record.read_bytes())
        texts = content["texts"].items()
        return content["state"] == state and all(_stamp(root / path) == stamp for path, stamp in texts)
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _stamp(path: Path) -> list[list[Any]]:
    """The name, size and time of a file, or of a folder and all that is below it; empty where there is none."""
    found = []
    for place in (path, *sorted(path.rglob("*"))):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            status = place.stat()
            found.append([str(place), status.st_size, status.st_mtime_ns])
    return found


def _state(root: Path, pipeline: Path) -> str:
    """A hash of the files that the result depends on; of code the names, sizes and times."""
    state = hashlib.sha256()
    for folder in (pipeline.parent, _RAW):
        for name in ("dvc.yaml", "params.yaml"):
            path = root / folder / name
            content = path.read_bytes() if path.is_file() else b""
            state.update(f"{folder / name} {len(content)}\n".encode() + content)
    for line in _code():
        state.update(line.encode())
    return state.hexdigest()


def _code() -> Iterator[str]:
    for package in _PACKAGES:
        for path in sorted((_CODE / package).rglob("*.py")):
            status = path.stat()
            yield f"{path} {status.st_size} {status.st_mtime_ns}\n"
