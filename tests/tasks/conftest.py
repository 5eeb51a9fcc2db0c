"""A working directory in which the stages of a module's tests run."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A new folder, the working directory of all tests of a module."""
    folder = tmp_path_factory.mktemp("stages")
    with contextlib.chdir(folder):
        yield folder
