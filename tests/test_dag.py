"""dvc.yaml says of every stage what the stage really uses."""

import ast
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PIPELINES = ["dvc.yaml", "data/raw/dvc.yaml"]
PACKAGES = ("tokenlab", "tasks")


def imported_files(module: str, found: set[Path] | None = None) -> set[Path]:
    """The files of the project that a module needs: those that it imports, directly or not, itself, the packages around
    it, and the data files and folders beside a module that names them."""
    found = set() if found is None else found
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        package = ROOT.joinpath(*parts[:depth])
        path = package / "__init__.py" if package.is_dir() else package.with_suffix(".py")
        if not path.exists() or path in found:
            continue
        found.add(path)
        text = path.read_text(encoding="utf-8")
        found |= {other for other in path.parent.iterdir() if other.suffix != ".py" and f'"{other.name}"' in text}
        for node in ast.walk(ast.parse(text)):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: relative import"
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for name in names:
                if name.split(".")[0] in PACKAGES:
                    imported_files(name, found)
    return found


def stages(pipeline: str):
    for name, stage in yaml.safe_load((ROOT / pipeline).read_text(encoding="utf-8"))["stages"].items():
        yield name, stage.get("do", stage)


ALL = [pytest.param(pipeline, stage, id=name) for pipeline in PIPELINES for name, stage in stages(pipeline)]


@pytest.mark.parametrize(("pipeline", "stage"), ALL)
def test_deps_are_the_imports(pipeline, stage):
    command = stage["cmd"].split()
    assert command[:3] == ["exec", "python", "-m"], "the shell must be replaced, or killing dvc leaves the stage alive"
    needed = {str(path.relative_to(ROOT)) for path in imported_files(command[3])}
    assert {dep for dep in stage["deps"] if dep.startswith(PACKAGES)} == needed


@pytest.mark.parametrize(("pipeline", "stage"), ALL)
def test_every_file_named_exists(pipeline, stage):
    for dep in stage["deps"]:
        if dep.startswith(PACKAGES):
            assert (ROOT / dep).exists(), dep


def test_the_walk_sees_every_kind_of_import(tmp_path, monkeypatch):
    monkeypatch.setattr("test_dag.ROOT", tmp_path)
    for name, text in {
        "tasks/__init__.py": "",
        "tasks/a.py": "import tasks.b\nfrom tokenlab import c\ndef f():\n    from tokenlab.d import x\n",
        "tasks/b.py": 'import json\nopen("table.tsv")',
        "tasks/table.tsv": "",
        "tasks/other.tsv": "",
        "tokenlab/__init__.py": "",
        "tokenlab/c.py": "",
        "tokenlab/d/__init__.py": "from tokenlab.d.e import x",
        "tokenlab/d/e.py": "x = 1",
        "tokenlab/unused.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    expected = {"tasks/__init__.py", "tasks/a.py", "tasks/b.py", "tokenlab/__init__.py", "tokenlab/c.py"}
    expected |= {"tasks/table.tsv", "tokenlab/d/__init__.py", "tokenlab/d/e.py"}
    assert {str(path.relative_to(tmp_path)) for path in imported_files("tasks.a")} == expected
