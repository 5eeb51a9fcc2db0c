"""All parameters of a preset are checked before any of its stages starts (`tasks.parameters`).

The check imports what the stages import, which takes seconds, so it runs as a process, and only where the parameters,
dvc.yaml, the texts that these name or the code of the stages changed since it last passed.
"""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from flows.run.plan import find_pipeline
from flows.run.processes import PIPELINE, environment
from flows.run.workspace import RAW
from tokenlab.core.errors import InputError
from tokenlab.core.files import write_text

_CODE = tuple(Path(__file__).resolve().parents[1] / package for package in ("tasks", "tokenlab"))
_STAGES = Path("dvc.yaml")
"""Those of every preset."""

_OUR_STAGES = b"python -m tasks."
"""In a dvc.yaml with stages of this project; the parameters of others are unknown here."""


def find_problems(root: Path, presets: Sequence[str]) -> list[str]:
    """A line for each problem in the parameters of these presets; each names the file and the key.

    Raises ParameterError for an unknown preset, and InputError where the check itself cannot run.
    """
    records: dict[str, Path] = {}
    for preset in presets:
        pipeline = find_pipeline(root, preset)
        if (root / _STAGES).exists() and _OUR_STAGES in (root / _STAGES).read_bytes():
            record = root / ".dvc" / "tmp" / "tokenlab-parameters" / f"{preset}.json"
            if not _passed(root, pipeline, record):
                records[str(pipeline)] = record
    problems: dict[str, None] = {}
    for name, found in (_check(root, list(records)) if records else {}).items():
        problems |= dict.fromkeys(found["problems"])
        if not found["problems"]:
            state = _state(root, Path(name), found["paths"])
            write_text(records[name], json.dumps({"state": state, "paths": found["paths"]}) + "\n")
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


def _passed(root: Path, pipeline: Path, record: Path) -> bool:
    """Whether these files and texts passed before as they are now."""
    try:
        content = json.loads(record.read_bytes())
        return bool(content["state"] == _state(root, pipeline, content["paths"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return False


def _state(root: Path, pipeline: Path, texts: Iterable[str]) -> str:
    """A hash of the files that the result depends on; of code and texts the names, sizes and times."""
    state = hashlib.sha256()
    for name in (_STAGES, pipeline.with_name("params.yaml"), RAW, RAW.with_name("params.yaml")):
        content = (root / name).read_bytes() if (root / name).is_file() else b""
        state.update(f"{name} {len(content)}\n".encode() + content)
    places = [path for folder in _CODE for path in folder.rglob("*.py")]
    places += [path for text in texts for path in (root / text, *(root / text).rglob("*"))]
    for path in sorted(filter(Path.exists, places)):
        state.update(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}\n".encode())
    return state.hexdigest()
