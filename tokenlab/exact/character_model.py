"""A tokenized model as a model of characters: one call for every estimator.

`next_byte`, `next_character` and `log_probability` take text as str or as bytes; bytes may end inside a character.

The next character comes from the next bytes (`next_characters`): paths of bytes in UTF-8, the most probable first. A
path is a beginning of a character. Its probability bounds that of every character that begins so: once as many
characters are complete as were asked for, paths that are less probable than the last of them are not followed. A path
is one byte longer than the text, so following it takes what one more byte takes.
"""

from collections import OrderedDict
from collections.abc import Callable
from heapq import nlargest
from math import inf, nan
from typing import NamedTuple

import numpy as np

from tokenlab.core.errors import ParameterError
from tokenlab.exact import naive
from tokenlab.exact.covers import check_bytes, check_sizes, log_sum
from tokenlab.exact.encoders.every import EveryEncoding
from tokenlab.exact.incremental import Incremental, evaluate
from tokenlab.exact.interface import NextBytes, NextCharacters, TextProbability, TokenAutomaton, TokenModel
from tokenlab.exact.options import DEFAULT, ExactOptions
from tokenlab.exact.paper import bpc, mpc
from tokenlab.exact.utf8 import as_bytes, character_status, unfinished
from tokenlab.formats.reading import is_utf8

_ESTIMATORS = {"bpc": bpc, "mpc": mpc, "naive": naive}
_REMEMBERED = 8
"""Texts whose covers are kept, so that asking about a longer text takes only what is new."""


class CharacterModel:
    """Probabilities of bytes, characters and texts from a model over tokens.

    Questions about a text that begins with one of the last texts asked about go on from there (`incremental`).

    Attributes:
        automaton: the encodings summed over; all token strings with `encodings: all`.

    Raises InputError for a model that does not fit the vocabulary, ParameterError for an estimator that cannot sum over
    these encodings.
    """

    def __init__(self, model: TokenModel, automaton: TokenAutomaton, options: ExactOptions = DEFAULT) -> None:
        if options.encodings == "all":
            automaton = EveryEncoding(automaton.vocabulary, automaton.encode, automaton.prefix)
        if options.estimator == "mpc":
            automaton = mpc.without_engine(automaton)
        check_sizes(model, automaton)
        if options.prune and options.estimator != "incremental":
            raise ParameterError(
                f"prune is {options.prune}, but the estimator {options.estimator} drops nothing; use incremental, or "
                "leave it out"
            )
        self.model, self.automaton, self.options = model, automaton, options
        self._recent: OrderedDict[bytes, Incremental] = OrderedDict()

    def next_byte(self, text: bytes | str) -> NextBytes:
        """The distribution of the byte after a text.

        Raises InputError for a text that the tokenizer has no tokens for, or longer than the model allows;
        ParameterError where there are more contexts than max_contexts.
        """
        checked = self._checked(text)
        if self.options.estimator == "incremental":
            found = self._incremental(checked).next_bytes()
        else:
            found = _ESTIMATORS[self.options.estimator].next_bytes(checked, self.model, self.automaton, self.options)
        if np.isnan(found.log_probability).any():
            self._check_tokens(checked)
        return found

    def next_character(self, text: bytes | str, top: int | None = None) -> NextCharacters:
        """The `top` most probable characters after a text, or all of them.

        A text that ends inside a character is continued: the characters are those that begin with its last bytes.

        Raises what `next_byte` raises; ParameterError without `top` where there are too many characters to list.
        """
        if top is not None and top < 1:
            raise ParameterError(f"top is {top}; it must be at least 1")
        checked = self._checked(text)
        begun = unfinished(checked)
        if self.options.estimator == "incremental":
            found = next_characters(self._ask(checked, begun), begun, top)
        else:
            found = next_characters(lambda all: [self._asked(checked, one[len(begun) :]) for one in all], begun, top)
        if np.isnan(found.end):
            self._check_tokens(checked)
        return found

    def _ask(self, text: bytes, begun: bytes) -> "Ask":
        """Asks about beginnings of the next character, those of one call in one pass. text: ends with `begun`."""
        grown = {begun: self._incremental(text)}

        def ask(beginnings: list[bytes]) -> list[NextBytes]:
            for spelled in beginnings:
                if spelled != begun:
                    grown[spelled] = grown[spelled[:-1]].copy()
                    grown[spelled].advance(spelled[-1])
            texts = [grown[spelled] for spelled in beginnings]
            evaluate(texts)
            return [one.next_bytes() for one in texts]

        return ask

    def log_probability(self, text: bytes | str) -> TextProbability:
        """The probability that a text starts with this one, and that it ends after it.

        Raises what `next_byte` raises.
        """
        checked = self._checked(text)
        if self.options.estimator == "incremental":
            grown = self.incremental()
            grown.extend(checked)
            found = grown.probability()
        else:
            estimator = _ESTIMATORS[self.options.estimator]
            found = estimator.log_probability(checked, self.model, self.automaton, self.options)
        if found.log_probability == -inf:
            self._check_tokens(checked)
        return found

    def incremental(self, text: bytes | str = b"") -> Incremental:
        """The text, ready to grow byte by byte, on a tree of its own."""
        out = Incremental(self.model, self.automaton, self.options)
        out.extend(self._checked(text))
        return out

    def _asked(self, text: bytes, begun: bytes) -> NextBytes:
        """The naive estimator asks about the encoding of the text alone, also inside the next character."""
        if self.options.estimator == "naive":
            return naive.next_bytes(text, self.model, self.automaton, begun=begun)
        return self.next_byte(text + begun)

    def _check_tokens(self, text: bytes) -> None:
        """Raises InputError where a text has probability zero because the tokenizer has no tokens for it.

        Bytes that are no text have probability zero because they are none.
        """
        complete = text[: len(text) - len(unfinished(text))]
        if is_utf8(complete):
            self.automaton.encode(complete)

    def _checked(self, text: bytes | str) -> bytes:
        data = as_bytes(text)
        check_bytes(self.automaton.vocabulary, data)
        return data

    def _incremental(self, text: bytes) -> Incremental:
        """The text with its covers, from the longest of the last texts that it begins with."""
        known = max((recent for recent in self._recent if text.startswith(recent)), key=len, default=None)
        grown = self.incremental() if known is None else self._recent[known].copy()
        grown.extend(text[len(known or b"") :])
        self._recent[text] = grown
        self._recent.move_to_end(text)
        if len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)
        return grown


_AT_ONCE = 16
"""Paths followed in one pass of the model."""
_PATHS = 1024
"""Largest number of paths followed to list all characters."""


Ask = Callable[[list[bytes]], list[NextBytes]]
"""What may follow beginnings of the next character, each a text of bytes."""


class _Path(NamedTuple):
    """A beginning of a character."""

    log_probability: float
    spelled: bytes


class _Found:
    """What the search has found so far."""

    def __init__(self, top: int | None) -> None:
        self.top = top
        self.complete: list[tuple[float, bytes]] = []
        self.open: list[_Path] = []
        self.rest: list[float] = []

    def divide(self, following: NextBytes, spelled: bytes, log_probability: float) -> None:
        """Sort the continuations of a path into complete characters, longer paths and the rest."""
        for byte in np.flatnonzero(following.log_probability > -inf):
            longer = spelled + bytes([byte])
            share = log_probability + float(following.log_probability[byte])
            if character_status(longer) == "whole":
                self.complete.append((share, longer))
            elif character_status(longer) == "begun":
                self.open.append(_Path(share, longer))
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


def next_characters(ask: Ask, begun: bytes, top: int | None) -> NextCharacters:
    """The `top` most probable characters after a text, or all of them.

    begun: the bytes of a character with which the text ends; all characters then begin with them. `ask` is about
        beginnings of the character, with these bytes.

    Bytes that break UTF-8 are a part of the rest. Raises ParameterError where all characters are asked for and more
    than 1,024 paths have to be followed.
    """
    (following,) = ask([begun])
    cost, pruned, end = following.cost, following.pruned, following.end
    if np.isnan(end):
        return NextCharacters((), np.empty(0), nan, nan, pruned, cost)
    found = _Found(top)
    found.divide(following, begun, 0.0)
    followed = 0
    while paths := found.next_paths():
        followed += len(paths)
        if top is None and followed + len(found.open) > _PATHS:
            raise ParameterError(f"more than {_PATHS} beginnings of characters are possible here; set top")
        for path, following in zip(paths, ask([path.spelled for path in paths]), strict=True):
            cost += following.cost
            found.rest.append(path.log_probability + following.end)
            found.divide(following, path.spelled, path.log_probability)
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
