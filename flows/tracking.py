"""Bring MLflow up to date with the pipeline: `python -m flows.tracking [--preset NAME] [--only TAG]`: `make track`.

`make repro` and the flow run it after their work. It starts from dvc.lock and the files that this names, so it is
complete when every stage came from the cache. Where nothing changed since it last ran, a stamp says so, and nothing
heavy is imported. The store lies in `.mlflow` (`flows.track_store`).
"""

import argparse
import hashlib
import sys
from pathlib import Path

from tasks.lifeline import die_with_parent
from tokenlab.errors import EXIT_STATUS, ParameterError, TokenlabError, one_line
from tokenlab.files import write_text

_PRESET = "sample"
_STAMPS = ".mlflow/tracked"
_DATABASE = ".mlflow/mlruns.db"


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 2 for what the user can mend."""
    parser = argparse.ArgumentParser(prog="python -m flows.tracking", description="Bring MLflow up to date.")
    parser.add_argument("--preset", default=_PRESET, help="sample (default), or a folder of presets/")
    parser.add_argument("--only", metavar="TAG", help="only what the stages with this tag in dvc.yaml have made")
    options = parser.parse_args(arguments)
    die_with_parent()
    try:
        if line := track(Path.cwd().resolve(), options.preset, options.only):
            print(line)
    except (TokenlabError, OSError) as error:
        print(f"tracking: {one_line(error)}", file=sys.stderr)
        return EXIT_STATUS
    except KeyboardInterrupt:
        print("tracking: interrupted; `make track` goes on from here", file=sys.stderr)
        return 130
    return 0


def track(root: Path, preset: str = _PRESET, tag: str | None = None) -> str:
    """Make the runs of a preset in MLflow be the rows of its evaluation stages, or of those that have a tag. Return a
    line that says what was done, empty where nothing had changed since the last time.

    Raises ParameterError for a preset that does not exist and InputError for results that are not to be had.
    """
    path = Path("dvc.yaml") if preset == _PRESET else Path("presets", preset, "dvc.yaml")
    if not (root / path).is_file():
        raise ParameterError(f"{path}: no such file; name a preset that there is, and run from the root of the project")
    stamp = root / _STAMPS / preset
    sources = _sources(root, path)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == sources + _identity(root):
        return ""
    from flows.track_lock import Pipeline
    from flows.track_rows import declared, rows_of
    from flows.track_store import Tracked, open_store

    pipeline = Pipeline(root, path)
    tracked: dict[str, Tracked] = {}
    for entry, declaration in declared(pipeline):
        if tag is not None and tag not in entry.meta.get("tags", []):
            continue
        of_question = tracked.setdefault(declaration.question.name, Tracked(declaration.question, [], []))
        of_question.declarations.append(declaration)
        of_question.rows += rows_of(pipeline, entry, declaration, preset)
    if tag is not None and not tracked:
        return ""
    with open_store(root) as store:
        changes = store.synchronise(preset, list(tracked.values()), pipeline, whole=tag is None)
    if tag is None:
        write_text(stamp, sources + _identity(root))
    return f"mlflow: {changes}; compare with {' or '.join(f'`make compare QUESTION={name}`' for name in tracked)}"


def _sources(root: Path, path: Path) -> str:
    """A hash of what the rows of a preset are made from: dvc.yaml, what it reads, and the dvc.lock files."""
    folders = (root / path.parent, root / "data" / "raw")
    state = hashlib.sha256()
    for file in (folder / name for folder in folders for name in ("dvc.yaml", "params.yaml", "dvc.lock")):
        content = file.read_bytes() if file.exists() else b""
        state.update(f"{file.relative_to(root)} {len(content)}\n".encode() + content)
    return state.hexdigest()


def _identity(root: Path) -> str:
    """Which database it is: another one knows nothing of what this one holds."""
    database = root / _DATABASE
    return f" {database.stat().st_ino}" if database.exists() else " none"


if __name__ == "__main__":
    sys.exit(main())
