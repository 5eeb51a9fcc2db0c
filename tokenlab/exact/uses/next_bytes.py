"""What the uses ask of a model: the distribution of the next byte."""

from typing import Protocol

from tokenlab.exact.results import NextBytes, NextCharacters, TextProbability


class ByteModel(Protocol):
    """A distribution of texts, byte by byte: a `CharacterModel`, or a combination of several.

    A text is str, or bytes where it may end inside a character. Asking about longer and longer texts is cheap.
    """

    def next_byte(self, text: bytes | str) -> NextBytes:
        """The distribution of the byte after a text."""
        ...

    def next_character(self, text: bytes | str, top: int | None = None) -> NextCharacters:
        """The `top` most probable characters after a text, or all of them."""
        ...

    def log_probability(self, text: bytes | str) -> TextProbability:
        """The probability that a text starts with this one, and that it ends after it."""
        ...
