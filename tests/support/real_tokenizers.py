"""Published tokenizers: in data/raw where they have been fetched, else from the mirror or, once, the package index."""

import gzip
import json
import os
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

import pytest
from workspace import ROOT

from tokenlab.core.errors import SourceError
from tokenlab.exact.adapters.reading import read_tokenizer
from tokenlab.exact.adapters.real import RealTokenizer
from tokenlab.sources.fetch import fetch
from tokenlab.sources.transfer import HttpOptions

EXACT = (
    "gpt2",
    "llama3",
    "llama4",
    "mistral-v1",
    "mistral-v2",
    "mistral-v3",
    "mistral-v7",
    "tekken",
    "deepseek",
    "qwen",
    "whisper-gpt2",
    "whisper-multilingual",
)
"""Handled as they are."""
WITHOUT_NORMALIZER = ("gpt-neox", "cluecorpussmall")
"""Refused, and handled for texts that are normalised already."""
QUICK = ("gpt2", "mistral-v7", "gpt-neox")
SLOW = ("llama3", "qwen")
"""Tried in the quick tests and in the slow ones; the others, of kinds that are among these, nightly."""
LANGUAGES = (
    "English",
    "Chinese",
    "German",
    "French",
    "Spanish",
    "Greek",
    "Japanese",
    "Korean",
    "Portuguese",
    "Basque-NT",
    "Cherokee-NT",
    "Gujarati-NT",
    "Swahili-NT",
)


def names(*wanted: str) -> list[Any]:
    """Parameters of a test: names of tokenizers, with the group in which each is tried."""
    nightly = pytest.mark.nightly
    return [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow if n in SLOW else nightly) for n in wanted]


def all_names() -> list[Any]:
    """Parameters of a long test: all tokenizers, of which three kinds are tried in the slow tests."""
    wanted = (*EXACT, *WITHOUT_NORMALIZER)
    return [pytest.param(n, marks=pytest.mark.slow if n in QUICK else pytest.mark.nightly) for n in wanted]


@cache
def _fetched(name: str) -> Path | str:
    folder = ROOT / "data" / "raw" / "tokenizers" / name
    if (folder / "SOURCE.json").is_file():
        return folder
    # Kept for other processes and later runs: `fetch` compares what is there with its record and the catalogue.
    folder = ROOT / ".pytest_cache" / "tokenizers" / name
    mirror = os.environ.get("TOKENLAB_MIRROR") or None
    try:
        fetch(
            f"tokenizers/{name}", folder, mirror=mirror, http=HttpOptions(connect_timeout=5, retries=0), progress=False
        )
    except SourceError as error:
        return str(error)
    return folder


def tokenizer_folder(name: str) -> Path:
    """The folder of a tokenizer of the catalogue; skips the test where it cannot be had."""
    found = _fetched(name)
    if isinstance(found, str):
        pytest.skip(found)
    return found


@cache
def real_tokenizer(name: str) -> RealTokenizer:
    """A tokenizer of the catalogue, read; without its normaliser where it would be refused."""
    return read_tokenizer(tokenizer_folder(name), ignore_normalizer=name in WITHOUT_NORMALIZER)


def real_lines(mirror: Path, count: int, first: int = 1000) -> list[str]:
    """At least `count` texts: verses of the Bibles in turn, then lines of Chinese and English web pages."""
    verses = []
    each = max(1, count // (len(LANGUAGES) + 2))
    for language in LANGUAGES:
        with gzip.open(mirror / "bible" / f"{language}.xml.gz") as file:
            verses += islice(_verses(file), first, first + each)
    for name in ("skypile_STANDIN_zh", "slimpajama_STANDIN_en"):
        with gzip.open(mirror / "web" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            documents = (json.loads(line)["text"] for line in islice(file, 5, None, 7))
            verses += islice((text[start : start + 120] for text in documents for start in (0, 120)), each)
    return verses


def _verses(file: IO[bytes]) -> Iterator[str]:
    for _, element in ElementTree.iterparse(file):
        if element.tag == "seg" and element.text:
            yield " ".join(element.text.split())
