"""The set-up, with interpreters that only say what they are and what they are asked to do."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from workspace import ROOT

FILES = ["setup.sh", "Makefile", "pyproject.toml", "requirements.lock"]
LOCK = {
    entry.split("==")[0]: entry.replace("\\\n", "").split()
    for entry in re.split(r"\n(?=\w)", (ROOT / "requirements.lock").read_text(encoding="utf-8").strip())
}
"""Name -> its version as in the lock, and its hashes."""
TOOLS = ["sh", "env", "dirname", "sed", "grep", "make", "mkdir", "cp", "rm", "touch", "awk"]

# Says its version; really runs other code; makes a .venv of copies of itself; writes down all else.
INTERPRETER = """#!/bin/sh
case "$*" in
*version_info*) echo {version} ;;
-c*) exec {real} "$@" ;;
--version) echo "Python {version}" ;;
"-m venv --clear .venv") echo "$0 $*" >>calls; mkdir -p .venv/bin; cp "$0" .venv/bin/python; cp "$0" .venv/bin/uv ;;
*) echo "$0 $*" >>calls; {on_install} ;;
esac
"""


class Clone:
    """A fresh clone beside a PATH that holds only what a test puts on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "clone"
        self.bin = folder / "bin"
        self.folder.mkdir()
        self.bin.mkdir()
        for name in FILES:
            shutil.copy(ROOT / name, self.folder)
        for tool in TOOLS:
            path = shutil.which(tool)
            assert path is not None
            (self.bin / tool).symlink_to(path)

    def add_python(self, name: str, version: str, on_install: str = "true") -> str:
        path = self.bin / name
        path.write_text(INTERPRETER.format(version=version, real=sys.executable, on_install=on_install))
        path.chmod(0o755)
        return str(path)

    def add_shim(self, name: str) -> None:
        """A pyenv shim for a version that is not installed."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\necho 'pyenv: {name}: command not found' >&2\nexit 127\n")
        path.chmod(0o755)

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env={"PATH": str(self.bin), **environment},
            capture_output=True,
            text=True,
            timeout=300,
        )

    def calls(self) -> list[str]:
        log = self.folder / "calls"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


@pytest.mark.parametrize(
    ("there", "chosen", "taken"),
    [
        ({"python3.12": "3.12", "python3.13": "3.13", "python3": "3.10"}, None, "python3.12"),
        ({"python3": "3.13"}, None, "python3"),
        ({"python3.12": "3.12", "mine": "3.11"}, "mine", "mine"),
    ],
)
def test_the_chosen_or_first_working_supported_interpreter(
    clone: Clone, there: dict[str, str], chosen: str | None, taken: str
) -> None:
    clone.add_shim("python3.11")
    for name, version in there.items():
        clone.add_python(name, version)
    given = {"PYTHON": f"{clone.bin}/{chosen}"} if chosen else {}
    assert clone.run("./setup.sh", **given).returncode == 0
    assert clone.calls()[0] == f"{clone.bin}/{taken} -m venv --clear .venv"


@pytest.mark.parametrize("version", ["2.7", "3.1", "3.10", "3.14"])
def test_unsupported_version_is_refused(clone: Clone, version: str) -> None:
    clone.add_python("python3.11", "3.11")
    chosen = clone.add_python("mine", version)
    refused = clone.run("./setup.sh", PYTHON=chosen)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    for part in (f"{chosen} is Python {version};", "supported: 3.11 3.12 3.13", "PYTHON="):
        assert part in refused.stderr
    assert not clone.calls()


def test_no_interpreter_at_all_says_which_versions_the_package_supports(clone: Clone) -> None:
    package = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    supported = SpecifierSet(package["requires-python"])
    versions = " ".join(f"3.{minor}" for minor in range(30) if supported.contains(f"3.{minor}"))
    refused = clone.run("./setup.sh")
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert "python3 is no Python that runs" in refused.stderr and f"supported: {versions};" in refused.stderr


def test_what_is_installed_has_the_hashes_of_the_lock(clone: Clone) -> None:
    clone.add_python("python3.11", "3.11")
    assert clone.run("./setup.sh").returncode == 0
    venv, torch, _, lock, *_ = [call.split(" ", 1)[1] for call in clone.calls()]
    assert venv == "-m venv --clear .venv" and torch.endswith(f"--no-deps {LOCK['torch'][0]}")
    assert lock == "pip install --python .venv/bin/python --verify-hashes -r requirements.lock"
    assert (clone.folder / ".venv/installed").exists()


def test_every_package_of_the_lock_has_hashes_but_torch():
    assert len(LOCK) > 300
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==\S+", first) for first, *_ in LOCK.values())
    assert [name for name, (_, *hashes) in LOCK.items() if not hashes] == ["torch"]
    assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", given) for _, *hashes in LOCK.values() for given in hashes)


def test_where_there_is_no_uv(clone: Clone) -> None:
    """pip then checks the hashes."""
    given = 'case "$*" in *require-hashes*) sed -n "s/==.*//p" >stdin; [ "$(cat stdin)" != uv ] ;; esac'
    clone.add_python("python3.11", "3.11", on_install=given)
    (clone.bin / "cat").symlink_to(shutil.which("cat") or "")
    assert clone.run("./setup.sh").returncode == 0
    verified, torch, *_ = [call.split(" ", 1)[1] for call in clone.calls()][3:]
    assert verified.endswith("--no-deps --require-hashes -r /dev/stdin") and torch.endswith(LOCK["torch"][0])
    assert (clone.folder / "stdin").read_text().split() == [name for name in LOCK if name != "torch"]


def test_variables_of_another_python_do_not_reach_the_installation(clone: Clone) -> None:
    clone.add_python("python3.11", "3.11", on_install="env | grep -E '^(PYTHON|PIP_)' >variables")
    names = ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONOPTIMIZE", "PYTHONSAFEPATH", "PIP_USER", "PIP_TARGET")
    given = dict.fromkeys(names, "1") | {"PIP_INDEX_URL": "kept"}
    assert clone.run("./setup.sh", **given).returncode == 0
    assert set((clone.folder / "variables").read_text().splitlines()) == {"PIP_INDEX_URL=kept", "PYTHONNOUSERSITE=1"}


def test_interrupted_setup_starts_from_nothing(clone: Clone) -> None:
    failing = clone.add_python("python3.11", "3.11", on_install="exit 7")
    assert clone.run("./setup.sh").returncode == 7
    assert not (clone.folder / ".venv/installed").exists()
    Path(failing).unlink()
    clone.add_python("python3.11", "3.11")
    assert clone.run("./setup.sh").returncode == 0
    assert sum("venv --clear" in call for call in clone.calls()) == 2


def test_only_a_changed_lock_is_installed_again_and_in_place(clone: Clone) -> None:
    clone.add_python("python3.11", "3.11")
    stamp = clone.folder / ".venv/installed"
    assert clone.run("./setup.sh").returncode == 0
    done = clone.calls()
    future = (clone.folder / "requirements.lock").stat().st_mtime + 100
    for time, installed in ((future, 1), (1, 2)):
        os.utime(stamp, (time, time))
        assert clone.run("./setup.sh").returncode == 0
        assert sum("-r requirements.lock" in call for call in clone.calls()) == installed
        assert installed == 2 or clone.calls() == done
    assert sum("venv --clear" in call for call in clone.calls()) == 1
    assert stamp.stat().st_mtime > 1


@pytest.mark.parametrize("target", ["repro", "test", "lint"])
def test_make_sets_up_only_what_is_out_of_date(clone: Clone, target: str) -> None:
    assert "setup.sh" in clone.run("make", "-n", target).stdout
    stamp = clone.folder / ".venv/installed"
    stamp.parent.mkdir()
    stamp.touch()
    newest = max((clone.folder / name).stat().st_mtime for name in FILES)
    os.utime(stamp, (newest + 1, newest + 1))
    assert "setup.sh" not in clone.run("make", "-n", target).stdout
    os.utime(clone.folder / "requirements.lock", (newest + 2, newest + 2))
    assert "setup.sh" in clone.run("make", "-n", target).stdout


def test_make_alone_sets_nothing_up(clone: Clone) -> None:
    shown = clone.run("make")
    assert shown.returncode == 0
    assert "make repro" in shown.stdout
    assert not (clone.folder / ".venv").exists()


def test_mirror_reaches_recipes_as_an_absolute_path(clone: Clone) -> None:
    (clone.folder / "Makefile").open("a").write('show:\n\t@echo "mirror $$TOKENLAB_MIRROR"\n')
    assert clone.run("make", "show", TOKENLAB_MIRROR="some/where").stdout == f"mirror {clone.folder}/some/where\n"
    assert clone.run("make", "show").stdout == "mirror \n"


def test_second_setup_waits_for_the_first(clone: Clone) -> None:
    clone.add_python("python3.11", "3.11")
    folder = os.open(clone.folder, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    waiting = subprocess.Popen(
        ["./setup.sh"], cwd=clone.folder, env={"PATH": str(clone.bin)}, stdout=subprocess.PIPE, text=True
    )
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "setup: another set-up is at work here; waiting until it ends\n"
    assert not clone.calls()
    os.close(folder)
    waiting.communicate(timeout=300)
    assert waiting.returncode == 0
    assert clone.calls()
