"""The nightly checks: the committed results can be reproduced from the repository, and `make test-nightly` passes.

In a temporary clone of the last commit, without DVC's cache, the stages that neither train a model nor depend on a
trained one run again; the hashes of their outputs must equal the hashes in the committed dvc.lock.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prefect.logging import get_run_logger

from flows.run.plan import Selection, put_to_use, read_dag
from flows.run.processes import Processes
from flows.run.reproduced import Hashes, differences, recorded_hashes
from flows.run.workspace import locked, pipeline
from tokenlab.core.errors import InputError, TokenlabError


def rebuild_and_compare(root: Path, selection: Selection) -> str:
    """Run the stages of `selection` that train nothing in a clone of the workspace `root`; return a line with their
    number.

    Raises TokenlabError, with a line for each stage that fails or produces other bytes, and InputError where the last
    commit has no results.
    """
    with _clone(root) as clone:
        before = _recorded_hashes(clone)
        if not before:
            raise InputError(f"{root}: the last commit has no dvc.lock; commit it after a run")
        with read_dag(clone, selection.preset) as dag:
            addresses = dag.without_training(dag.select(selection))
        put_to_use(clone, selection.preset)
        with pipeline(clone), Processes(clone) as processes:
            ended = processes.dvc(["repro", "--single-item", *addresses], get_run_logger().info)
        after = _recorded_hashes(clone)
    changed = [line for address in addresses for line in differences(address, before, after)]
    if ended.status != 0 or changed:
        failed = [f"ended with {ended.describe()}", *ended.lines] if ended.status != 0 else []
        raise TokenlabError("\n  ".join(["not reproduced:", *failed, *changed]))
    return f"{len(addresses)} stages reproduce the bytes in dvc.lock"


def run_nightly_tests(root: Path, selection: Selection) -> str:
    """Run `make test-nightly` beside whatever runs in the workspace `root`. Raises TokenlabError where it fails."""
    folder = _folder(root)
    with Processes(folder) as processes:  # a run in `root` ends the processes of `root` alone
        ended = processes.run(["make", "--no-print-directory", "-C", str(root), "test-nightly"], get_run_logger().info)
    if ended.status != 0:
        raise TokenlabError("\n  ".join([f"make test-nightly: {ended.describe()}", *ended.lines]))
    return "the nightly tests pass"


def _folder(root: Path) -> Path:
    folder = root / ".work" / "rebuild"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def _clone(root: Path) -> Iterator[Path]:
    """A clone of the last commit, removed at the end; one that a killed process left is removed before."""
    folder = _folder(root)
    clone = folder / "clone"
    with locked(folder / "lock"):
        shutil.rmtree(clone, ignore_errors=True)
        if subprocess.run(["git", "clone", "--quiet", str(root), str(clone)]).returncode != 0:
            raise InputError(f"{root}: git cannot clone it; the check needs a commit")
        try:
            yield clone
        finally:
            shutil.rmtree(clone, ignore_errors=True)


def _recorded_hashes(clone: Path) -> Hashes:
    """The hashes in every dvc.lock."""
    found: Hashes = {}
    for path in clone.rglob("dvc.lock"):
        folder = path.parent.relative_to(clone).as_posix()
        found |= recorded_hashes(path.read_bytes(), "" if folder == "." else f"{folder}/dvc.yaml:")
    return found
