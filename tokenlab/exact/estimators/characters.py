"""The next character from the next bytes: paths of bytes in UTF-8, the most probable first.

A path is a beginning of a character. Its probability bounds that of every character that begins so: once as many
characters are complete as were asked for, paths that are less probable than the last of them are not followed. A path
is one byte longer than the text, so following it takes what one more byte takes.
"""

from heapq import nlargest
from math import inf, nan
from typing import NamedTuple, Protocol, Self

import numpy as np

from tokenlab.core.errors import ParameterError
from tokenlab.exact.estimators.incremental import Incremental, evaluate
from tokenlab.exact.estimators.sums import log_sum
from tokenlab.exact.results import NextBytes, NextCharacters
from tokenlab.exact.utf8 import character_status, unfinished

_AT_ONCE = 16
"""Paths followed in one pass of the model."""
_PATHS = 1024
"""Largest number of paths followed to list all characters."""


class GrowsByBytes(Protocol):
    """A text that can be copied and go on by a byte: `Incremental`, or one that is asked about anew."""

    @property
    def text(self) -> bytes: ...

    def copy(self) -> Self: ...

    def advance(self, byte: int) -> None: ...

    def next_bytes(self) -> NextBytes: ...


class _Path(NamedTuple):
    """A beginning of a character, with the text before its last byte."""

    log_probability: float
    spelled: bytes
    before: GrowsByBytes


class _Found:
    """What the search has found so far."""

    def __init__(self, top: int | None) -> None:
        self.top = top
        self.complete: list[tuple[float, bytes]] = []
        self.open: list[_Path] = []
        self.rest: list[float] = []

    def divide(self, text: GrowsByBytes, following: NextBytes, spelled: bytes, log_probability: float) -> None:
        """Sort the continuations of a path into complete characters, longer paths and the rest."""
        for byte in np.flatnonzero(following.log_probability > -inf):
            longer = spelled + bytes([byte])
            share = log_probability + float(following.log_probability[byte])
            if character_status(longer) == "whole":
                self.complete.append((share, longer))
            elif character_status(longer) == "begun":
                self.open.append(_Path(share, longer, text))
            else:
                self.rest.append(share)

    def next_paths(self) -> list[_Path]:
        """Take the best paths that can still lead to a character among the top."""
        least = -inf
        if self.top is not None and len(self.complete) >= self.top:
            least = nlargest(self.top, self.complete)[-1][0]
        self.open.sort(key=lambda path: (-path.log_probability, path.spelled))
        number = sum(path.log_probability > least for path in self.open[:_AT_ONCE])
        taken, self.open = self.open[:number], self.open[number:]
        return taken


def next_characters(text: GrowsByBytes, top: int | None) -> NextCharacters:
    """The `top` most probable characters after a text, or all of them.

    After a text that ends inside a character, those that begin with its last bytes. Bytes that break UTF-8 are a part
    of the rest. Raises ParameterError where all characters are asked for and more than 1,024 paths have to be followed.
    """
    following = text.next_bytes()
    cost, pruned, end = following.cost, following.pruned, following.end
    if np.isnan(end):
        return NextCharacters((), np.empty(0), nan, nan, pruned, cost)
    found = _Found(top)
    found.divide(text, following, unfinished(text.text), 0.0)
    followed = 0
    while paths := found.next_paths():
        followed += len(paths)
        if top is None and followed + len(found.open) > _PATHS:
            raise ParameterError(f"more than {_PATHS} beginnings of characters are possible here; set top")
        for path, grown in zip(paths, _followed(paths), strict=True):
            following = grown.next_bytes()
            cost += following.cost
            found.rest.append(path.log_probability + following.end)
            found.divide(grown, following, path.spelled, path.log_probability)
    ordered = sorted(found.complete, key=lambda character: (-character[0], character[1]))
    shown = ordered[:top]
    left = [share for share, _ in ordered[len(shown) :]] + [path.log_probability for path in found.open]
    return NextCharacters(
        tuple(spelled.decode() for _, spelled in shown),
        np.array([share for share, _ in shown], np.float64),
        end,
        log_sum(found.rest + left),
        pruned,
        cost,
    )


def _followed(paths: list[_Path]) -> list[GrowsByBytes]:
    """The texts that the paths spell, evaluated in one pass where they share a tree."""
    grown = []
    for path in paths:
        copy = path.before.copy()
        copy.advance(path.spelled[-1])
        grown.append(copy)
    evaluate([text for text in grown if isinstance(text, Incremental)])
    return grown
