"""dvc.yaml names for every stage the code that decides its result, and nothing that computes imports what draws."""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from imports import imported_names
from workspace import ROOT

PIPELINES = ["dvc.yaml", "data/raw/dvc.yaml"]
CODE = ("tokenlab", "tasks")
DRAWING = ("tasks/report", "tokenlab/codes/table.py")
"""What draws, lays out or says; only the stages that live there may import it."""


class Stage(NamedTuple):
    """A stage of a dvc.yaml, its `foreach` left out."""

    name: str
    command: str
    deps: list[str]

    @property
    def module(self) -> str:
        return self.command.split()[3]

    @property
    def code(self) -> list[str]:
        return [dep for dep in self.deps if dep.startswith(CODE)]


def stages() -> Iterator[Stage]:
    for pipeline in PIPELINES:
        for name, entry in yaml.safe_load((ROOT / pipeline).read_text(encoding="utf-8"))["stages"].items():
            stage = entry.get("do", entry)
            yield Stage(name, stage["cmd"], stage.get("deps", []))


ALL = [pytest.param(stage, id=stage.name) for stage in stages()]
COMPUTING = [pytest.param(stage, id=stage.name) for stage in stages() if not stage.module.startswith("tasks.report")]


def imported_files(module: str, found: set[str] | None = None) -> set[str]:
    """The files of the project that a module needs: itself, what it imports, directly or not, anywhere in its text, and
    the data files and folders beside a module that names them. Packages' `__init__` are looked through, not listed."""
    found = set() if found is None else found
    path = ROOT.joinpath(*module.split("."))
    if path.is_dir():
        return found
    path = path.with_suffix(".py")
    name = str(path.relative_to(ROOT))
    if not path.exists() or name in found:
        return found
    found.add(name)
    text, imported_names = _text_and_imports(path)
    found |= {
        str(other.relative_to(ROOT))
        for other in path.parent.iterdir()
        if other.suffix != ".py" and not (other / "__init__.py").exists() and f'"{other.name}"' in text
    }
    for imported in imported_names:
        if imported.split(".")[0] in CODE:
            imported_files(imported, found)
    return found


@cache
def _text_and_imports(path: Path) -> tuple[str, list[str]]:
    """The text of a module; and what it imports, with the modules that it names in a string (a registry does)."""
    text = path.read_text(encoding="utf-8")
    code = ast.parse(text)
    strings = [node.value for node in ast.walk(code) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return text, [*imported_names(code), *(string for string in strings if re.fullmatch(r"[\w.]+", string))]


def lies_under(path: str, folders: list[str] | tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


@pytest.mark.parametrize("stage", ALL)
def test_a_stage_depends_on_its_script_and_few_folders_that_are_there(stage: Stage) -> None:
    script = Path(*stage.module.split(".")).with_suffix(".py")
    assert lies_under(str(script), stage.code)
    assert len(stage.code) <= 6, "its script and at most five folders whose change would change its result"
    assert not [dep for dep in stage.code if "${" not in dep and not (ROOT / dep).exists()]


@pytest.mark.parametrize("stage", ALL)
def test_a_stage_reaches_all_code_that_it_depends_on(stage: Stage) -> None:
    needed = imported_files(stage.module)
    code = [dep for dep in stage.code if dep.endswith(".py") or (ROOT / dep).is_dir()]
    assert not [dep for dep in code if not any(lies_under(path, [dep]) for path in needed)]


@pytest.mark.parametrize("stage", COMPUTING)
def test_what_computes_reaches_nothing_that_draws(stage: Stage) -> None:
    assert not [path for path in imported_files(stage.module) if lies_under(path, DRAWING)]
    assert not [dep for dep in stage.code if any(lies_under(folder, [dep]) for folder in DRAWING)]


@pytest.mark.parametrize("stage", ALL)
def test_the_shell_gives_way_to_the_stage(stage: Stage) -> None:
    assert stage.command.split()[:3] == ["exec", "python", "-m"], "or killing DVC would leave the stage alive"


def test_an_init_holds_no_code() -> None:
    """Packages' `__init__.py` hold a docstring and names offered lazily, so that importing one is quick."""
    for path in [*ROOT.glob("tasks/**/__init__.py"), *ROOT.glob("tokenlab/**/__init__.py")]:
        if path.parent == ROOT / "tokenlab" / "cli":
            continue  # the command, which no stage runs
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            source = ast.unparse(node)
            inert = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            lazy = "tokenlab.core.lazy import offer" in source or source.startswith("__getattr__, __all__ = offer(")
            pins = path == ROOT / "tasks" / "__init__.py" and source.endswith(("import pin", "pin()"))
            assert inert or lazy or pins, f"{path}: {source}"


@pytest.mark.parametrize("package", CODE)
def test_internal_imports_are_direct(package: str) -> None:
    """A name that a package offers lazily is for users; inside, the module that defines it is imported."""
    for path in ROOT.glob(f"{package}/**/*.py"):
        if path == ROOT / "tokenlab" / "cli" / "__main__.py":
            continue  # `python -m tokenlab.cli`: the command, which its package defines
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (folder := ROOT.joinpath(*str(node.module).split("."))).is_dir():
                modules = {entry.stem for entry in folder.iterdir()}
                assert {alias.name for alias in node.names} <= modules, f"{path}:{node.lineno}"


def test_presets_are_shipped_out_of_use() -> None:
    """Their results are on no remote of the user: `dvc pull` would fail for them, `dvc metrics show` warn of them."""
    shipped = subprocess.run(["git", "ls-files", "presets"], cwd=ROOT, capture_output=True, check=True, text=True)
    assert "presets/cpu/dvc.lock" in shipped.stdout and "dvc.yaml" not in shipped.stdout


@pytest.mark.parametrize("preset", ["sample", "answer", "cpu", "paper"])
def test_folders_of_reports_are_there_in_a_fresh_clone(preset: str) -> None:
    """A stage that draws depends on them, also where the parameters have nothing that writes there."""
    folders = {dep for stage in stages() for dep in stage.deps if dep.startswith("reports/${preset}/")}
    kept = [
        Path(dep.replace("${preset}", preset), ".keep") for dep in folders if "{item" not in dep and "{key" not in dep
    ]
    assert kept and not [str(path) for path in kept if not (ROOT / path).exists()]
