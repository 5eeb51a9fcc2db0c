"""Packages of another Python in the environment change nothing: PYTHONPATH, PYTHONSTARTUP, a user's site-packages."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from workspace import ROOT

from flows.run.processes import environment

SEEN = """
import json, os, site, sys, warnings
import numpy, polars, yaml
print(json.dumps({
    "files": [module.__file__ for module in (numpy, polars, yaml)],
    "customized": "poisoned" in sys.modules["sitecustomize"].__dict__ if "sitecustomize" in sys.modules else False,
    "user": site.ENABLE_USER_SITE,
    "flags": [sys.flags.optimize, sys.flags.safe_path, len(sys.warnoptions)],
    "startup": os.environ.get("PYTHONSTARTUP"),
}))
"""
CLEAN = {"customized": False, "user": False, "flags": [0, False, 0], "startup": None}


@pytest.fixture
def poisoned(tmp_path: Path) -> dict[str, str]:
    """An environment in which Python finds other packages, and a module that runs before all else."""
    folder, user = tmp_path / "other", tmp_path / "user"
    folder.mkdir()
    for name in ("numpy", "yaml", "polars", "dvc", "pytest"):
        (folder / f"{name}.py").write_text("raise RuntimeError('the package of another Python')\n")
    (folder / "sitecustomize.py").write_text("poisoned = True\n")
    (folder / "startup.py").write_text("raise SystemExit(1)\n")
    site = user / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    site.mkdir(parents=True)
    (site / "usercustomize.py").write_text("raise SystemExit(1)\n")
    return {
        "PYTHONPATH": str(folder),
        "PYTHONSTARTUP": str(folder / "startup.py"),
        "PYTHONUSERBASE": str(user),
        "PYTHONOPTIMIZE": "1",
        "PYTHONSAFEPATH": "1",
        "PYTHONWARNINGS": "error",
    }


def seen(command: list[str], folder: Path, environment: dict[str, str]) -> dict[str, object]:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_clean(found: dict[str, object]) -> None:
    files = found.pop("files")
    assert isinstance(files, list) and all("site-packages" in name for name in files)
    assert found == CLEAN


def test_recipes_of_make_have_the_packages_of_the_project(tmp_path: Path, poisoned: dict[str, str]) -> None:
    (tmp_path / "seen.py").write_text(SEEN)
    (tmp_path / "Makefile").write_text(f"include {ROOT}/Makefile\nseen:\n\t@$(RUN) seen.py\n")
    command = ["make", "--no-print-directory", "seen", f"RUN={sys.executable}", "PYTHON=chosen"]
    assert_clean(seen(command, tmp_path, os.environ | poisoned))


def test_stages_have_the_packages_of_the_project(
    tmp_path: Path, poisoned: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in poisoned.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "seen.py").write_text(SEEN)
    assert_clean(seen(["sh", "-c", "exec python seen.py"], tmp_path, environment(tmp_path)))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert environment(tmp_path)["PYTHONDONTWRITEBYTECODE"] == "1"
