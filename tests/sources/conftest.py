"""A web server for the tests of sources."""

from collections.abc import Iterator

import pytest
from loopback import Web


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    web = Web()
    yield web
    web.close()
