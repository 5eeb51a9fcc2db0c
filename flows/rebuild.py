"""Check that the committed results can be reproduced from the repository.

In a temporary clone of the last commit, without DVC's cache, the stages that neither train a model nor depend on a
trained one run again; the hashes of their outputs must equal the hashes in the committed dvc.lock.
"""

import contextlib
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from prefect.logging import get_run_logger

from flows.run.dvc_processes import DvcProcesses
from flows.run.history import is_running, process_identity
from flows.run.plan import Dag, Selection
from flows.run.reproduced import Hashes, differences, recorded_hashes
from flows.run.workspace import pipeline
from tokenlab.core.errors import InputError, TokenlabError

_NOTE = "process.json"
_SECONDS_TO_WRITE_A_NOTE = 60.0


class NotReproduced(TokenlabError):
    """The results in dvc.lock cannot be reproduced from the repository."""


def rebuild_and_compare(root: Path, selection: Selection) -> str:
    """Run the stages of `selection` that train nothing in a clone of the workspace `root`; return a line with their
    number.

    Raises NotReproduced, with a line for each stage that fails or produces other bytes, and InputError where the last
    commit has no results.
    """
    with _clone(root) as clone:
        before = _recorded_hashes(clone)
        if not before:
            raise InputError(f"{root}: the last commit has no dvc.lock; commit it after a run")
        addresses = _addresses(clone, selection)
        with pipeline(clone), DvcProcesses(clone) as processes:
            ended = processes.dvc(["repro", "--single-item", *addresses], get_run_logger().info)
        after = _recorded_hashes(clone)
        changed = [line for address in addresses for line in differences(address, before, after)]
        if ended.status != 0 or changed:
            failed = [f"{ended.events[-1]['stage']} failed ({ended.describe()})"] if ended.event == "failed" else []
            raise NotReproduced("not reproduced:\n  " + "\n  ".join(failed + changed or ended.lines))
    return f"{len(addresses)} stages reproduce the bytes in dvc.lock"


@contextlib.contextmanager
def _clone(root: Path) -> Iterator[Path]:
    """A clone of the last commit, removed at the end together with the clones that killed processes left."""
    folder = root / ".work" / "rebuild"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        with contextlib.suppress(OSError):
            if not _at_work(old):
                shutil.rmtree(old)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        (Path(temporary) / _NOTE).write_text(json.dumps(process_identity()))
        clone = Path(temporary) / "clone"
        if subprocess.run(["git", "clone", "--quiet", str(root), str(clone)]).returncode != 0:
            raise InputError(f"{root}: git cannot clone it; the check needs a commit")
        yield clone


def _at_work(clone: Path) -> bool:
    """Whether the process that made a clone still runs. A young clone may have no note of it yet."""
    try:
        return is_running(json.loads((clone / _NOTE).read_bytes()))
    except (FileNotFoundError, ValueError):
        return clone.stat().st_mtime > time.time() - _SECONDS_TO_WRITE_A_NOTE


def _addresses(clone: Path, selection: Selection) -> list[str]:
    from dvc.repo import Repo

    with Repo(str(clone)) as repo:
        dag = Dag(repo)
        return dag.without_training(dag.select(clone, selection))


def _recorded_hashes(clone: Path) -> Hashes:
    """The hashes in every dvc.lock."""
    found: Hashes = {}
    for path in clone.rglob("dvc.lock"):
        folder = path.parent.relative_to(clone).as_posix()
        found |= recorded_hashes(path.read_bytes(), "" if folder == "." else f"{folder}/dvc.yaml:")
    return found
