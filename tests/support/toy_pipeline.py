"""A small real pipeline in its own git repository, to test properties of any pipeline."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import killing
import yaml
from interrupted import files

_STAGE = """
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tokenlab.core.parent_death import die_with_parent


def square(number):
    time.sleep(0.15)
    return number * number


if __name__ == "__main__":
    die_with_parent()
    name, *inputs = sys.argv[1:]
    text = "".join(Path(path).read_text() for path in inputs)
    time.sleep(0.15)
    if Path("fail").exists() and Path("fail").read_text() == name:
        sys.exit(2)
    if name == "fan":
        with ProcessPoolExecutor(2, initializer=die_with_parent) as pool:
            text += " ".join(map(str, pool.map(square, range(4))))
    out = Path("data/sample") / name
    out.mkdir(parents=True)
    (out / ".text.tmp").write_text(text)
    time.sleep(0.1)
    (out / ".text.tmp").replace(out / "text.txt")
    (out / "name.txt").write_text(name * 1000)
    Path("data/sample", f"{name}.json").write_text('{"letters": %d}' % len(text))
"""

_PIPELINE = """
stages:
  first:
    cmd: exec python stage.py first seed.txt
    deps: [seed.txt]
    params: [letters]
    outs: [data/sample/first]
    metrics: [data/sample/first.json: {cache: false}]
    meta: {tags: [start]}
  fan:
    cmd: exec python stage.py fan data/sample/first/text.txt
    deps: [data/sample/first/text.txt]
    outs: [data/sample/fan]
    metrics: [data/sample/fan.json: {cache: false}]
  leaf:
    foreach: [a, b]
    do:
      cmd: exec python stage.py leaf-${item} data/sample/fan/text.txt
      deps: [data/sample/fan/text.txt]
      outs: ["data/sample/leaf-${item}"]
      metrics: ["data/sample/leaf-${item}.json": {cache: false}]
      meta: {tags: [leaves, end]}
  last:
    cmd: exec python stage.py last data/sample/leaf-a/text.txt data/sample/leaf-b/text.txt
    deps: [data/sample/leaf-a/text.txt, data/sample/leaf-b/text.txt]
    outs: [data/sample/last]
    metrics: [data/sample/last.json: {cache: false}]
    meta: {tags: [end]}
"""

_MAKEFILE = """
repro:
	@exec env TOKENLAB_PARENT=$$PPID $(RUN) -m flows run

test-nightly:
	@test ! -e fail
"""

PIPELINE = {"dvc.yaml": _PIPELINE}

PREFECT = (killing.ROOT / "prefect.toml").read_text(encoding="utf-8")

_SETTINGS = {
    "prefect.toml": PREFECT,
    ".dvc/config": "[core]\n    analytics = false\n    check_update = false\n",
    ".dvc/.gitignore": "/tmp\n/cache\n/site-cache\n",
}

_FILES = {
    "stage.py": _STAGE,
    **PIPELINE,
    "params.yaml": "letters: 3\n",
    "seed.txt": "seed\n",
    "Makefile": _MAKEFILE,
    ".gitignore": "/data/sample/\n/reports/\n/.work/\n/fail\n/.env\n/.prefect/\n",
    ".dvcignore": "*.tmp\n",
}


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write files, by their paths below `folder`."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def make(folder: Path, files: dict[str, str] = _FILES) -> Path:
    """Write a pipeline, by default the one above, and settings of DVC and Prefect into a new folder; return it."""
    write_files(folder, _SETTINGS | files)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    return folder.resolve()


def change(folder: Path, old: str, new: str) -> None:
    """Replace a text in dvc.yaml, which must be there."""
    path = folder / "dvc.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def repro(folder: Path) -> None:
    """Run a pipeline with DVC alone."""
    path = f"PATH={Path(sys.executable).parent}:/usr/bin:/bin"
    status, output = killing.run(["env", path, sys.executable, "-m", "dvc", "repro", "-q"], folder)
    assert status == 0, output


def commit(folder: Path) -> None:
    """Commit everything that git does not ignore."""
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
    for command in (["add", "--all"], ["commit", "--quiet", "--message", "all"]):
        subprocess.run([*git, *command], cwd=folder, check=True)


def lock(folder: Path) -> Any:
    """The content of dvc.lock, parsed."""
    return yaml.safe_load((folder / "dvc.lock").read_bytes())


def outputs(folder: Path) -> dict[str, bytes]:
    """The content of every file that the stages wrote."""
    return files(folder / "data")
