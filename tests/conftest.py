"""Real data where the mirror is present; generated text where it is not. Random examples that every run repeats."""

import gzip
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tasks.runtime.numerics import pin

# Before any test imports a library that computes: a stage in the process of the tests uses the same kernels as in the
# processes that it starts, whichever tests ran before it.
pin()

# The same examples in every run, or one that fails once in a hundred runs would stop the wrong change; and no deadline,
# for a busy machine is no failure. Other examples: `pytest --hypothesis-profile default`.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session", autouse=True)
def _unflushed() -> Iterator[None]:
    """Files stay in the cache of the system: no test cuts the power, and a flush to disk takes 5 ms, for every file."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of real data; skips the test where there is none."""
    folder = os.environ.get("TOKENLAB_MIRROR")
    if not folder:
        pytest.skip("TOKENLAB_MIRROR is not set: no real data here")
    return Path(folder).resolve()


@pytest.fixture(scope="session")
def chinese_sentences() -> list[str]:
    """A few hundred unsegmented Chinese sentences: real ones from the mirror, else built-in ones."""
    folder = os.environ.get("TOKENLAB_MIRROR")
    if folder:
        with gzip.open(Path(folder) / "pku/pd199801_train.utf8.gz", "rt", encoding="utf-8") as lines:
            return ["".join(line.split()) for line in itertools.islice(lines, 1000, 1300) if line.strip()]
    from tokenlab.generated import generate

    return [document.text for document in generate("zh", sentences=600, seed=3)]
