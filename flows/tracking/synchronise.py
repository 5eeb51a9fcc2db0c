"""Bring MLflow up to date with the results of a preset.

It starts from dvc.lock and the files named there, so it works when every stage came from the cache. Where nothing has
changed since the last time, a stamp tells so before anything heavy is imported.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from flows.run.history import History
from flows.run.plan import DEFAULT_PRESET, find_pipeline
from flows.run.workspace import RAW
from flows.tracking import DATABASE, FOLDER
from tasks.views import VIEWS, View
from tokenlab.core.files import write_text

_STAMPS = FOLDER / "tracked"


def track(root: Path, preset: str = DEFAULT_PRESET, tag: str | None = None, views: Sequence[View] = VIEWS) -> str:
    """Make the MLflow runs of a preset equal to the rows of its evaluation stages, or of those with a tag in dvc.yaml.

    Returns a line about the changes, empty where nothing has changed since the last time. Raises ParameterError for a
    preset that does not exist and InputError for results that are neither in the workspace nor in the cache.
    """
    stamp = root / _STAMPS / preset
    sources = _sources(root, find_pipeline(root, preset), views)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == sources + _identity(root):
        return ""
    from flows.tracking.lock import Pipeline
    from flows.tracking.rows import Tracked, rows_of

    pipeline = Pipeline(root, preset)
    tracked = []
    for view in views:
        entries = [entry for entry in pipeline.stages(view.stage) if tag is None or tag in entry.tags]
        if entries:
            tracked.append(Tracked(view, [row for one in entries for row in rows_of(pipeline, one, view, preset)]))
    if tag is not None and not tracked:
        return ""
    os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "1", "MLFLOW_LOGGING_LEVEL": "WARNING"}
    from flows.tracking.store import open_store

    with open_store(pipeline, History.read(root, preset)) as store:
        changes = store.synchronise(preset, tracked, whole=tag is None)
        if tag is None:
            write_text(stamp, sources + _identity(root))
    commands = " or ".join(f"`make compare QUESTION={one.view.question.name}`" for one in tracked)
    return f"mlflow: {changes}" + (f"; compare with {commands}" if commands else "")


def _sources(root: Path, path: Path, views: Sequence[View]) -> str:
    """A hash of everything that the runs of a preset come from: views, dvc.yaml, parameters, dvc.lock, this code."""
    state = hashlib.sha256(repr(tuple(views)).encode())
    beside = [one.with_name(name) for one in (path, RAW) for name in ("params.yaml", "dvc.lock")]
    files = [root / name for name in (Path("dvc.yaml"), RAW, *beside)]
    for file in [*files, *sorted(Path(__file__).parent.glob("*.py"))]:
        content = file.read_bytes() if file.exists() else b""
        state.update(f"{file.name} {len(content)}\n".encode() + content)
    return state.hexdigest()


def _identity(root: Path) -> str:
    """The database file, for a new one lacks the runs of the old one, and its place, which the runs name."""
    database = root / DATABASE
    return f" {database.stat().st_ino if database.exists() else None} {root}"
