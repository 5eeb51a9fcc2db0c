"""Patches of a text for readers, and for programs."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray


def as_json(text: bytes, starts: "NDArray | Sequence[int]") -> str:
    """The length of a text in bytes, and the offsets of its patches."""
    return json.dumps({"bytes": len(text), "starts": [int(start) for start in starts]})


def as_text(text: bytes, starts: "NDArray | Sequence[int]") -> str:
    """A text on one line, with a bar between its patches.

    A bar and a backslash of the text have a backslash before them; line feeds and the bytes of a character that is
    divided, or of none, are \\xNN.
    """
    return "|".join(_shown(text[start:end]) for start, end in pairwise([*starts, len(text)]))


def _shown(patch: bytes) -> str:
    escaped = patch.replace(b"\\", b"\\\\").replace(b"|", b"\\|").replace(b"\n", b"\\x0A")
    parts, at = [], 0
    while at < len(escaped):
        try:
            parts.append(escaped[at:].decode())
            break
        except UnicodeDecodeError as error:
            parts.append(escaped[at : at + error.start].decode())
            parts += [f"\\x{byte:02X}" for byte in escaped[at + error.start : at + error.end]]
            at += error.end
    return "".join(parts)
