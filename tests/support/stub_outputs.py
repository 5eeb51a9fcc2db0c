"""Outputs of the pipeline that nothing has computed: all stages count as run, and DVC can be asked what it sees."""

import contextlib
from pathlib import Path

from dvc.repo import Repo

PIPELINES = ("dvc.yaml", "data/raw/dvc.yaml")
"""The preset `sample` and the raw data."""

_COLUMNS = "step,flops,from,iteration,lambda,value,vocabulary,held_out,pmi,right,f1,log_likelihood,tokens_saved"
CONTENT = {".json": '{"value": 1}\n', ".csv": f"{_COLUMNS}\n{','.join('1' * len(_COLUMNS.split(',')))}\n"}
"""Files that DVC reads as metrics and plots, by suffix."""


def commit_stubs(folder: Path) -> None:
    """Write a stub for every output and missing dependency of a project, and its hashes to dvc.lock."""
    with contextlib.chdir(folder), Repo() as repo:
        stages = [stage for stage in repo.index.stages if stage.path_in_repo in PIPELINES]
        paths = {Path(entry.fs_path) for stage in stages for entry in (*stage.outs, *stage.deps) if entry.fs_path}
        paths |= {path / "exact.json" for path in paths if path.name == "metrics"}  # a folder that DVC reads
        holders = {parent for path in paths for parent in path.parents}
        for path in paths - holders:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_text(CONTENT.get(path.suffix, f"{path.relative_to(folder)}\n"), encoding="utf-8")
        for target in PIPELINES:
            repo.commit(target, force=True)
