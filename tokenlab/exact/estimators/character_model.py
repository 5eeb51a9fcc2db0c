"""A tokenized model as a model of characters: one call for every estimator.

`next_byte`, `next_character` and `log_probability` take text as str or as bytes; bytes may end inside a character.
"""

from collections import OrderedDict
from collections.abc import Iterable

from tokenlab.core.errors import ParameterError
from tokenlab.exact.encoders.every import EveryEncoding
from tokenlab.exact.estimators import bpc, mpc, naive
from tokenlab.exact.estimators.characters import next_characters
from tokenlab.exact.estimators.covers import check_bytes
from tokenlab.exact.estimators.evaluation import check_sizes
from tokenlab.exact.estimators.incremental import Incremental
from tokenlab.exact.estimators.known_text import log_probabilities
from tokenlab.exact.interface import TokenAutomaton, TokenModel
from tokenlab.exact.options import DEFAULT, ExactOptions
from tokenlab.exact.results import NextBytes, NextCharacters, TextProbability
from tokenlab.exact.utf8 import as_bytes

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
            mpc.check(automaton)
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

        Raises InputError for a text with bytes that no token has, or longer than the model allows; ParameterError where
        there are more contexts than max_contexts.
        """
        checked = self._checked(text)
        if self.options.estimator == "incremental":
            return self._incremental(checked).next_bytes()
        estimator = {"bpc": bpc, "mpc": mpc, "naive": naive}[self.options.estimator]
        return estimator.next_bytes(checked, self.model, self.automaton, self.options)

    def next_character(self, text: bytes | str, top: int | None = None) -> NextCharacters:
        """The `top` most probable characters after a text, or all of them.

        A text that ends inside a character is continued: the characters are those that begin with its last bytes.

        Raises what `next_byte` raises; ParameterError without `top` where there are too many characters to list.
        """
        if top is not None and top < 1:
            raise ParameterError(f"top is {top}; it must be at least 1")
        checked = self._checked(text)
        if self.options.estimator == "incremental":
            return next_characters(self._incremental(checked), top)
        return next_characters(_Asked(self, checked), top)

    def log_probability(self, text: bytes | str) -> TextProbability:
        """The probability that a text starts with this one, and that it ends after it.

        Raises what `next_byte` raises.
        """
        return self.log_probabilities([text])[0]

    def log_probabilities(self, texts: Iterable[bytes | str]) -> list[TextProbability]:
        """`log_probability` of several texts; short texts share passes of the model where the estimator allows."""
        checked = (self._checked(text) for text in texts)
        if self.options.estimator == "incremental":
            return log_probabilities(checked, self.model, self.automaton, self.options)
        estimator = {"bpc": bpc, "mpc": mpc, "naive": naive}[self.options.estimator]
        return [estimator.log_probability(text, self.model, self.automaton, self.options) for text in checked]

    def incremental(self, text: bytes | str = b"") -> Incremental:
        """The text, ready to grow byte by byte, on a tree of its own."""
        out = Incremental(self.model, self.automaton, self.options)
        out.extend(self._checked(text))
        return out

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


class _Asked:
    """A text whose next bytes are asked for anew at every step: for estimators that keep nothing.

    The naive estimator asks about the encoding of the text alone, also inside the next character.
    """

    def __init__(self, model: CharacterModel, text: bytes, begun: bytes = b"") -> None:
        self._model, self._asked, self._begun = model, text, begun

    @property
    def text(self) -> bytes:
        return self._asked + self._begun

    def copy(self) -> "_Asked":
        return _Asked(self._model, self._asked, self._begun)

    def advance(self, byte: int) -> None:
        self._begun += bytes([byte])

    def next_bytes(self) -> NextBytes:
        model = self._model
        if model.options.estimator == "naive":
            return naive.next_bytes(self._asked, model.model, model.automaton, begun=self._begun)
        return model.next_byte(self.text)
