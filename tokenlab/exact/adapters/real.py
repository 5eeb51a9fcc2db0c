"""A real tokenizer, the refusal of one that cannot be exact, and the automaton of a tokenizer: that of its words with
splits, added tokens, its own engine, and the space that SentencePiece puts before a text."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.encoders.engine import Encode, EngineEncoding
from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.splits.composed import SplitEncoding
from tokenlab.exact.splits.reading import AddedTokens, Splits
from tokenlab.exact.utf8 import as_text
from tokenlab.formats.hugging_face import check_spelled

if TYPE_CHECKING:
    from tokenizers import Tokenizer

HOW_TO_IGNORE = "leave it out with --ignore-normalizer if all texts are normalised already"
"""What to do about a normaliser that is refused; in Python, the option is `ignore_normalizer`."""


class UnsupportedTokenizer(InputError):
    """A tokenizer whose encodings do not determine the text, or that is not modelled: the reason, with an example."""


@dataclass(frozen=True)
class RealTokenizer:
    """A real tokenizer and the automaton of its encodings.

    Attributes:
        name: where it comes from, for messages.
        automaton: which token sequences it produces; `automaton.encode` is the tokenizer's own engine,
            without special tokens.
        tokenizer: the tokenizer itself, None where another engine is used. Its normaliser is left out where it is
            ignored.
        bos, eos: ids of the tokens that begin and end a text, as the files name them; None where they do not.
        notes: texts to which the tokenizer is restricted here, one sentence each.
    """

    name: str
    automaton: TokenAutomaton
    tokenizer: "Tokenizer | None"
    bos: int | None
    eos: int | None
    notes: tuple[str, ...] = ()

    def decode(self, ids: Sequence[int]) -> bytes:
        """The text that ids spell, as bytes; without the prefix that the encoder puts before a text.

        Raises InputError for ids that spell no text.
        """
        return decoded(self.automaton.vocabulary.tokens, ids).removeprefix(self.automaton.prefix)


def decoded(tokens: Sequence[bytes | None], ids: Sequence[int]) -> bytes:
    """The bytes that ids spell. Raises InputError for an id that spells no text."""
    parts = []
    for id in ids:
        part = tokens[id] if 0 <= id < len(tokens) else None
        if part is None:
            raise InputError(f"token {id} spells no text; remove it")
        parts.append(part)
    return b"".join(parts)


def _exact_encoder(engine: Callable[[str], list[int]], tokens: Sequence[bytes | None], prefix: bytes) -> Encode:
    """An engine for texts of bytes that raises InputError where the tokens do not spell the text.

    Engines drop what they do not know, or replace it by an unknown token.
    """

    def encoded(text: bytes) -> list[int]:
        ids = engine(as_text(text))
        check_spelled(ids, tokens, prefix + text if text else b"")
        return ids

    return encoded


class Beginning(NamedTuple):
    """A state before the first byte of the text itself."""

    spelled: bool
    """whether the prefix has been spelled"""
    inner: Hashable


class PrefixedEncoding:
    """The automaton `inner` for texts that begin with a prefix of one byte, which is no part of the text.

    The texts are not empty: engines put no space before an empty text, and a lone space is the encoding of no text.
    """

    def __init__(self, inner: TokenAutomaton, encode: Encode, prefix: bytes) -> None:
        if len(prefix) != 1:
            raise InputError(f"the prefix {prefix!r} of texts is not one byte, which is not supported")
        self._inner, self.encode = inner, encode
        self.vocabulary, self.prefix, self.has_end = inner.vocabulary, prefix, inner.has_end
        low, high = self.vocabulary.beginning_with(prefix)
        self._first = inner.allowed(inner.start()).copy()
        self._first[:low] = False
        self._first[high:] = False
        for position in range(low, self.vocabulary.equal_to(prefix)[1]):
            if self._first[position]:
                self._first[position] = self.step(self.start(), int(self.vocabulary.ids[position])) is not None
        self._first.flags.writeable = False

    def start(self) -> Hashable:
        """The state before the first token."""
        return Beginning(False, self._inner.start())

    def step(self, state: Hashable, token: int) -> Hashable | None:
        """The state after one more token, None where no text's encoding goes on so."""
        if not isinstance(state, Beginning):
            return self._inner.step(state, token)
        spelling = self.vocabulary.tokens[token]
        if spelling is None or (not state.spelled and not spelling.startswith(self.prefix)):
            return None
        after = self._inner.step(state.inner, token)
        if after is None or state.spelled or spelling != self.prefix:
            return after
        return Beginning(True, after) if self._inner.allowed(after).any() else None

    def allowed(self, state: Hashable) -> NDArray[np.bool_]:
        """[len(vocabulary)] by position: the tokens after which the sequence is still live. Read-only."""
        if not isinstance(state, Beginning):
            return self._inner.allowed(state)
        return self._inner.allowed(state.inner) if state.spelled else self._first

    def may_end(self, state: Hashable) -> bool:
        """Whether a text's encoding can end here: not before the first byte of the text."""
        return not isinstance(state, Beginning) and self._inner.may_end(state)


def joined(
    word: TokenAutomaton,
    splits: Splits,
    added: AddedTokens | None,
    engine: Callable[[str], list[int]],
    tokens: Sequence[bytes | None],
    prefix: bytes = b"",
    *,
    of_bytes: bool = False,
) -> TokenAutomaton:
    """The automaton of a tokenizer from that of its words, its splits, its added tokens and its prefix.

    engine: the ids of a text; tokens: the bytes of each id. of_bytes: whether words are any bytes, so that something
    else has to keep texts in UTF-8.
    """
    encode, inner = _exact_encoder(engine, tokens, prefix), word
    if splits or added or of_bytes:
        inner = SplitEncoding(word, splits, added, encode)
    if prefix:
        return PrefixedEncoding(inner, encode, prefix)
    return inner if inner is not word else EngineEncoding(word, encode)
