"""Real tokenizers, one at a time."""

import pytest
from real_tokenizers import EXACT, WITHOUT_NORMALIZER, names, real_tokenizer

from tokenlab.exact.adapters.real import RealTokenizer


@pytest.fixture(
    scope="session",
    params=names(*EXACT, *WITHOUT_NORMALIZER),
)
def real(request: pytest.FixtureRequest) -> RealTokenizer:
    """Each tokenizer of the catalogue; all tests of one run before the next is read."""
    return real_tokenizer(request.param)
