"""The text of a comparison: divided into training and held-out documents, and stored as passages."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tokenlab.core.errors import InputError
from tokenlab.language.coding import Coder
from tokenlab.language.passages import PassageBlock, cut_passages, write_passages

_FEWEST = 10
"""Held-out documents, at least, and training documents: a bootstrap of fewer says nothing."""
_SHARE, _MOST = 0.05, 400_000
"""Held-out share of the text, and bytes that suffice: a difference of 1 % is then a matter of the seeds."""
_BLOCK = 512
"""Passages that are written, or checked, at a time."""


class Parts(NamedTuple):
    """Documents to train on, and those that are held out, each in the order of the text."""

    training: list[str]
    held_out: list[str]


def divide(documents: Sequence[str], seed: int = 0) -> Parts:
    """Draw the held-out documents: a twentieth of the text, at most 400 kB, and at least ten documents.

    Empty documents are left out. Raises InputError where fewer than 20 documents are left.
    """
    documents = [document for document in documents if document]
    if len(documents) < 2 * _FEWEST:
        raise InputError(
            f"a comparison needs at least {2 * _FEWEST} documents to hold some out, the text has {len(documents)}; "
            "take a longer one, or break it into lines; lines are joined into documents of 1,000 bytes"
        )
    order = np.random.default_rng(seed).permutation(len(documents))
    sizes = np.cumsum([len(documents[number].encode()) for number in order])
    wanted = min(_SHARE * float(sizes[-1]), _MOST)
    count = min(max(_FEWEST, int(np.searchsorted(sizes, wanted)) + 1), len(documents) - _FEWEST)
    drawn = {*order[:count].tolist()}
    parts = Parts([], [])
    for number, document in enumerate(documents):
        parts[number in drawn].append(document)
    return parts


def write_documents(documents: Iterable[str], context: int, folder: Path) -> None:
    """Store documents as passages of at most `context` bytes; the id of a passage is DOCUMENT:NUMBER, both from 0.

    Raises InputError where there is no text.
    """
    passages = (
        (f"{document}:{number}", data)
        for document, text in enumerate(documents)
        for number, data in enumerate(cut_passages(text.encode(), context))
    )
    write_passages(map(_block, iter(lambda: [*islice(passages, _BLOCK)], [])), folder, [])


def _block(passages: Sequence[tuple[str, bytes]]) -> PassageBlock:
    ids, data = map(list, zip(*passages, strict=True))
    return PassageBlock(ids, data, np.array([len(text.split()) for text in data], np.int32), {})


def check_spelled(coder: Coder, documents: Iterable[str], context: int, name: str) -> None:
    """Check that symbols spell all passages of documents, without which bits per byte are undefined.

    Raises InputError naming the candidate where they do not.
    """
    passages = (data for document in documents for data in cut_passages(document.encode(), context))
    while texts := [*islice(passages, _BLOCK)]:
        try:
            coded = coder.code(texts)
        except InputError as error:
            raise InputError(f"{name}: cannot be compared, since not all of the text has a code: {error}") from None
        for text, passage in zip(texts, coded, strict=True):
            if (found := coder.decode(passage.ids.tolist())) != text:
                place = next((i for i, (a, b) in enumerate(zip(text, found, strict=False)) if a != b), len(found))
                shown = text[max(0, place - 8) : place + 16].decode(errors="replace")
                raise InputError(
                    f"{name}: cannot be compared, since it loses text, so its bits per byte are undefined: {shown!r} "
                    "is not decoded to itself"
                )
