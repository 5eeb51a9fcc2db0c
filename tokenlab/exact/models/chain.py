"""Markov chains over characters: the token-free models of the paper's experiments (section 4)."""

from collections.abc import Hashable, Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.exact.models.source import check_alphabet
from tokenlab.exact.models.tokenized import TokenizedModel

_TOLERANCE = 1e-9
TokenizedChain = TokenizedModel
"""The exact tokenized model of a chain: `TokenizedChain(chain, automaton)`."""


class MarkovChain:
    """An endless chain of order k: the next character depends on the k last ones.

    Args:
        alphabet: its characters, any of Unicode.
        transitions: float[A, ..., A] with k + 1 axes: P(last axis | the k characters before, oldest first).
        initial: float[A, ..., A] with k axes: P(first k characters); default uniform.

    Raises:
        InputError: an alphabet that is empty or repeats, arrays of other shapes, rows that are no distributions.
    """

    has_end = False

    def __init__(
        self, alphabet: str | bytes | Sequence[str], transitions: ArrayLike, initial: ArrayLike | None = None
    ) -> None:
        characters = alphabet.decode("latin-1") if isinstance(alphabet, bytes) else alphabet
        self.alphabet: Sequence[str] = tuple(characters)
        check_alphabet(self.alphabet)
        size = len(self.alphabet)
        self.transitions = np.array(transitions, np.float64)
        self.order = self.transitions.ndim - 1
        uniform = np.full([size] * self.order, float(size) ** -self.order)
        self.initial = uniform if initial is None else np.array(initial, np.float64)
        _check_distributions(self.transitions, "transitions", size, max(self.order, 0) + 1, axis=-1)
        _check_distributions(self.initial, "initial", size, self.order, axis=None)
        self._index = {character: i for i, character in enumerate(self.alphabet)}

    @classmethod
    def random(cls, order: int, alphabet: str | Sequence[str], seed: int, concentration: float = 1.0) -> Self:
        """A chain whose rows are drawn from a symmetric Dirichlet distribution.

        Raises:
            ParameterError: a negative order, a concentration that is not above 0.
        """
        if order < 0 or not concentration > 0:
            raise ParameterError(f"order {order}, concentration {concentration}; they must be at least 0, and above 0")
        size = len(alphabet)
        rows = np.random.default_rng(seed).dirichlet(np.full(size, concentration), [size] * order)
        return cls(alphabet, rows)

    def start(self) -> Hashable:
        """No character before."""
        return ()

    def step(self, state: Hashable, character: int) -> Hashable:
        """The last k characters, as indices, fewer at the beginning."""
        assert isinstance(state, tuple)
        return (*state, character)[-self.order :] if self.order else ()

    def next(self, state: Hashable) -> NDArray[np.float64]:
        """float64[A] P(next character | last characters); NaN after a beginning of probability zero."""
        assert isinstance(state, tuple)
        if len(state) == self.order:
            row: NDArray[np.float64] = self.transitions[state]
            return row
        begun: NDArray[np.float64] = self.initial[state].reshape(len(self.alphabet), -1).sum(-1)
        total = begun.sum()
        return begun / total if total else np.full(len(self.alphabet), np.nan)

    def next_character(self, text: str) -> NDArray[np.float64]:
        """float64[A] P(next character | text).

        Raises:
            InputError: a character that is not in the alphabet.
        """
        state: Hashable = ()
        for character in self._indices(text)[-self.order or len(text) :]:
            state = self.step(state, character)
        return self.next(state)

    def log_probability(self, text: str) -> float:
        """log P(a text starts with this one), in nats; 0 for the empty text, -inf where it is impossible.

        Raises:
            InputError: a character that is not in the alphabet.
        """
        state, total = self.start(), 0.0
        for character in self._indices(text):
            p = self.next(state)[character]
            if not p > 0:
                return -np.inf
            total += float(np.log(p))
            state = self.step(state, character)
        return total

    def sample(self, generator: np.random.Generator, length: int, count: int = 1) -> list[str]:
        """Draw `count` texts of `length` characters."""
        size = len(self.alphabet)
        first = generator.choice(self.initial.size, count, p=self.initial.ravel())
        drawn = np.empty((count, max(length, self.order)), np.int64)
        drawn[:, : self.order] = np.stack(np.unravel_index(first, self.initial.shape), -1) if self.order else 0
        cumulative = self.transitions.reshape(-1, size).cumsum(-1)
        cumulative[:, -1] = 1.0
        code = first
        for i in range(self.order, length):
            drawn[:, i] = (generator.random(count)[:, None] >= cumulative[code]).sum(-1)
            code = (code * size + drawn[:, i]) % self.initial.size
        points = np.array([ord(character) for character in self.alphabet], np.uint32)[drawn[:, :length]]
        return [row.tobytes().decode("utf-32-le") for row in points]

    def _indices(self, text: str) -> list[int]:
        try:
            return [self._index[character] for character in text]
        except KeyError as error:
            raise InputError(f"character {error} is not in the alphabet ({', '.join(self.alphabet)})") from None


def _check_distributions(array: NDArray[np.float64], name: str, size: int, axes: int, axis: int | None) -> None:
    if array.shape != (size,) * axes:
        raise InputError(f"{name} have shape {array.shape}, not {(size,) * axes}; give {axes} axes of the alphabet")
    if not (array >= 0).all() or not np.allclose(array.sum(axis), 1, rtol=0, atol=_TOLERANCE):
        raise InputError(f"{name} are no distributions; they must be at least 0 and sum to 1")
