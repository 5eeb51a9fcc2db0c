"""Stages that are killed in the middle of their work, in the process of the tests."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def killed(work: Callable[[], None], module: ModuleType, name: str, after: int) -> list[tuple[Any, ...]]:
    """Run `work` until it has called `module.name` so often; what it was called with. The next call is the kill."""
    function, calls = getattr(module, name), []

    def until_killed(*arguments: Any, **options: Any) -> Any:
        if len(calls) == after:
            raise KeyboardInterrupt
        calls.append(arguments)
        return function(*arguments, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, name, until_killed)
        with pytest.raises(KeyboardInterrupt):
            work()
    return calls


def calls_of(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[tuple[Any, ...]]:
    """What `module.name` is called with from now on."""
    function, calls = getattr(module, name), []
    monkeypatch.setattr(module, name, lambda *a, **o: calls.append(a) or function(*a, **o))
    return calls


def files(folder: Path) -> dict[str, bytes]:
    """The content of every file of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
