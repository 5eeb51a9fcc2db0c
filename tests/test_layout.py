"""The tree that design and docs describe: arrows one way, no circles, names of their own."""

import ast
import sys
from collections.abc import Mapping, Set
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("flows", "tasks", "tokenlab")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
BELOW = {
    "tokenlab": {"tokenlab"},
    "tasks": {"tasks", "tokenlab"},
    "flows": {"flows", "tasks", "tokenlab"},
}
KNOWS_NOBODY = ("tokenlab/text", "tokenlab/metrics", "tokenlab/formats")
"""Packages that import nothing of the library but `core`."""


@cache
def imports(path: Path) -> frozenset[str]:
    """The modules of the project that a file imports, at any place."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
    of_project = [ROOT.joinpath(*name.split(".")).with_suffix(".py") for name in names if name.startswith(PACKAGES)]
    return frozenset(relative(file) for file in of_project if file.exists())


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("package", PACKAGES)
def test_arrows_point_one_way(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        assert {name.split("/")[0] for name in imports(path)} <= BELOW[package], path


@pytest.mark.parametrize("package", KNOWS_NOBODY)
def test_the_lowest_packages_know_nobody(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        assert all(name.startswith((package, "tokenlab/core")) for name in imports(path)), path


def circles(graph: Mapping[str, Set[str]]) -> Mapping[str, Set[str]]:
    """What is left of a graph of imports when all that can be loaded first is taken away, again and again."""
    graph = {name: needs - {name} for name, needs in graph.items()}
    while free := {name for name, needs in graph.items() if not needs & graph.keys()}:
        graph = {name: needs - free for name, needs in graph.items() if name not in free}
    return graph


def test_no_import_circle() -> None:
    assert not circles({relative(path): imports(path) for path in MODULES})


def test_no_two_packages_of_the_library_need_each_other() -> None:
    graph: dict[str, set[str]] = {}
    for path in (ROOT / "tokenlab").rglob("*.py"):
        needs = graph.setdefault(package_of(relative(path)), set())
        needs |= {package_of(name) for name in imports(path)}
    assert not circles(graph)


def package_of(name: str) -> str:
    """tokenlab/codes/latom/hmm.py -> tokenlab/codes"""
    return "/".join(name.split("/")[:2])


def test_no_module_is_named_like_one_of_the_standard_library() -> None:
    assert not [path for path in MODULES if path.stem in sys.stdlib_module_names and path.stem != "__main__"]


def test_no_module_hides_a_name_that_its_package_offers() -> None:
    """`from tokenlab.ngrams import ngram_statistics` must give the function, whatever was imported before."""
    for stub in (ROOT / "tokenlab").rglob("__init__.pyi"):
        lines = stub.read_text(encoding="utf-8").splitlines()
        names = {line.rpartition(" ")[2] for line in lines}
        assert not {path.stem for path in stub.parent.iterdir()} & names, stub
        package = ".".join(stub.parent.relative_to(ROOT).parts)
        assert import_module(package).__all__ == sorted(names) and len(names) == len(lines), "a line for each name"
