"""Addresses of archives on the package index, by its simple API (PEP 503 and 691): read, never installed or run.

The index is the one that pip uses: PIP_INDEX_URL, or the public one.
"""

import os
import re
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import requests

from tokenlab.sources.catalogue import Alternative
from tokenlab.sources.transfer import HttpOptions, Unreachable

PUBLIC = "https://pypi.org/simple"

_JSON = "application/vnd.pypi.simple.v1+json"
_ACCEPT = f"{_JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


def archive_address(alternative: Alternative, http: HttpOptions) -> str:
    """The address of the alternative's `archive`.

    Raises Unreachable where the index does not answer or does not have it.
    """
    project = re.sub("[-_.]+", "-", alternative.package or "").lower()
    index = os.environ.get("PIP_INDEX_URL") or PUBLIC
    # Not the address itself: it may hold a password.
    name = f"the package index at {urlsplit(index).hostname}"
    try:
        response = requests.get(
            f"{index.rstrip('/')}/{project}/",
            headers={"Accept": _ACCEPT},
            timeout=(http.connect_timeout, http.read_timeout),
        )
        response.raise_for_status()
        if response.headers.get("Content-Type", "").startswith(_JSON):
            files = {str(file["filename"]): str(file["url"]) for file in response.json()["files"]}
        else:
            files = _links(response.text)
    except requests.RequestException as error:
        status = f" (HTTP {error.response.status_code})" if error.response is not None else ""
        raise Unreachable(f"{name} does not answer{status}") from error
    except (ValueError, LookupError, TypeError) as error:
        raise Unreachable(f"{name} answers in another format") from error
    if alternative.archive not in files:
        raise Unreachable(f"{name} does not have {alternative.archive}")
    return urljoin(response.url, files[alternative.archive])


class _Links(HTMLParser):
    """The addresses in a page, by the file name at their end."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get("href")
        if tag == "a" and address:
            self.files[urlsplit(address).path.rpartition("/")[2]] = address.partition("#")[0]


def _links(page: str) -> dict[str, str]:
    parser = _Links()
    parser.feed(page)
    return parser.files
