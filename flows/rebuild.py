"""Do the results still follow from what is in git? Make them again from nothing and compare.

In a temporary clone of the last commit, without any cache of DVC, the stages that neither train a model nor need a
trained one run again; the hashes of their outputs must be those of the committed dvc.lock.
"""

import contextlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from prefect.logging import get_run_logger

from flows.children import children_of
from flows.history import is_running, process_identity
from flows.plan import Dag, Selection
from flows.workspace import pipeline
from tokenlab.errors import InputError, TokenlabError

_NOTE = "process.json"


class NotReproduced(TokenlabError):
    """The results in dvc.lock do not follow from what is in git."""


def rebuild_and_compare(root: Path, selection: Selection) -> str:
    """Run the stages of `selection` that train nothing in a clone of the workspace `root`; say how many are the same.

    Raises NotReproduced, with a line for each stage that fails or gives other bytes, and InputError where the last
    commit has no results.
    """
    with _clone(root) as clone:
        before = _recorded_hashes(clone)
        if not before:
            raise InputError(f"{root}: the last commit has no dvc.lock; commit it after a run")
        addresses = _addresses(clone, selection)
        with pipeline(clone), children_of(clone) as children:
            ended = children.dvc(["repro", "--single-item", *addresses], get_run_logger().info)
        after = _recorded_hashes(clone)
        differences = [line for address in addresses for line in _compare(address, before, after)]
        if ended.status != 0 or differences:
            failed = [f"{ended.events[-1]['stage']} failed ({ended.describe()})"] if ended.event == "failed" else []
            raise NotReproduced("not reproduced:\n  " + "\n  ".join(failed + differences or ended.lines))
    return f"{len(addresses)} stages give the bytes that dvc.lock says"


@contextlib.contextmanager
def _clone(root: Path) -> Iterator[Path]:
    """A clone of the last commit, removed in the end; so are those of processes that were killed."""
    folder = root / ".work" / "rebuild"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        with contextlib.suppress(OSError, ValueError):
            if not is_running(json.loads((old / _NOTE).read_bytes())):
                shutil.rmtree(old)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        (Path(temporary) / _NOTE).write_text(json.dumps(process_identity()))
        clone = Path(temporary) / "clone"
        if subprocess.run(["git", "clone", "--quiet", str(root), str(clone)]).returncode != 0:
            raise InputError(f"{root}: git cannot clone it; what is checked is the last commit")
        yield clone


def _addresses(clone: Path, selection: Selection) -> list[str]:
    from dvc.repo import Repo

    with Repo(str(clone)) as repo:
        dag = Dag(repo)
        return dag.without_training(dag.select(clone, selection))


def _recorded_hashes(clone: Path) -> dict[str, dict[str, str]]:
    """The hash of each output of each stage, from every dvc.lock."""
    found = {}
    for path in clone.rglob("dvc.lock"):
        folder = path.parent.relative_to(clone).as_posix()
        prefix = "" if folder == "." else f"{folder}/dvc.yaml:"
        stages: dict[str, Any] = yaml.safe_load(path.read_bytes()).get("stages", {})
        for name, stage in stages.items():
            found[prefix + name] = {out["path"]: out["md5"] for out in stage.get("outs", [])}
    return found


def _compare(address: str, before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]) -> list[str]:
    if address not in before:
        return [f"{address}: not in the committed dvc.lock"]
    old, new = before[address], after.get(address, {})
    return [
        f"{address}: {path} has {new.get(path, 'no hash')}, dvc.lock says {old.get(path, 'nothing')}"
        for path in sorted(old | new)
        if old.get(path) != new.get(path)
    ]
