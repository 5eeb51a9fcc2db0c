"""The tree that design and docs describe: arrows one way, no circles, names of their own."""

import ast
import sys
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest
from imports import imported_names
from workspace import ROOT

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
    names = imported_names(ast.parse(path.read_text(encoding="utf-8")))
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


def test_no_import_circle() -> None:
    TopologicalSorter({relative(path): imports(path) for path in MODULES}).prepare()  # raises CycleError


def test_no_two_packages_of_the_library_need_each_other() -> None:
    graph: dict[str, set[str]] = {}
    for path in (ROOT / "tokenlab").rglob("*.py"):
        package = package_of(relative(path))
        graph.setdefault(package, set()).update({package_of(name) for name in imports(path)} - {package})
    TopologicalSorter(graph).prepare()


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
