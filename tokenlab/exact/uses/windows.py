"""Windows of texts that are longer than a model's context."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Window(NamedTuple):
    """A range [first, end) that a model sees at once; [scored, end) is what it is asked about."""

    first: int
    scored: int
    end: int


def windows(length: int, room: int) -> Iterator[Window]:
    """Windows of at most `room` units that score each of `length` units once.

    The first begins at 0 and scores all it sees. Each later one scores what follows the one before, with at least half
    a window before it (none in windows of one unit). Yields nothing for an empty text.
    """
    before = min((room + 1) // 2, room - 1)
    scored = 0
    while scored < length:
        first = max(0, scored - before)
        end = min(length, first + room)
        yield Window(first, scored, end)
        scored = end


def character_starts(text: bytes, lengths: Sequence[int], prefix: int) -> list[int]:
    """Where tokens of a text begin, moved back to the beginning of a character.

    Args:
        lengths: bytes of each token of `prefix` and text; the text may go on by a character that is incomplete.
        prefix: bytes before the text, which belong to no place of it.

    Returns:
        places in the text in ascending order, the first 0 and the last its length: one more than tokens.
    """
    places, at = [0], -prefix
    for length in lengths:
        at += length
        start = min(max(0, at), len(text))
        while 0 < start < len(text) and text[start] & 0xC0 == 0x80:
            start -= 1
        places.append(start)
    if places[-1] != len(text):
        places.append(len(text))
    return places
