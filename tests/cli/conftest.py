"""The command with a language model, in this process, since importing PyTorch takes seconds; and the text of a test."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from command import tokenlab_here


@pytest.fixture
def tokenlab() -> Iterator[Callable[..., str]]:
    """A function: arguments -> what the command printed, and nothing else; or its one line of complaint."""
    import torch

    threads = torch.get_num_threads()
    yield partial(tokenlab_here, quiet=True)
    torch.set_num_threads(threads)


@pytest.fixture
def text(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A file with the TEXT of the module of the test."""
    path = tmp_path / "text.txt"
    path.write_text(request.module.TEXT, encoding="utf-8")
    return path


@pytest.fixture
def chinese_text(tmp_path: Path, chinese_sentences: list[str]) -> Path:
    """A file with the sentences."""
    path = tmp_path / "text.txt"
    path.write_text("\n".join(chinese_sentences) + "\n", encoding="utf-8")
    return path
