"""A real tokenizer, and the refusal of one that cannot be exact."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenlab.core.errors import InputError
from tokenlab.exact.interface import TokenAutomaton

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class UnsupportedTokenizer(InputError):
    """A tokenizer whose encodings do not determine the text, or that is not modelled: the reason, with an example."""


@dataclass(frozen=True)
class RealTokenizer:
    """A real tokenizer and the automaton of its encodings.

    Attributes:
        name: where it comes from, for messages.
        automaton: which token sequences it produces; `automaton.encode` is the tokenizer's own engine.
        tokenizer: that engine, None where another one is used. Its normaliser is left out where it is ignored.
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
    parts = [tokens[id] if 0 <= id < len(tokens) else None for id in ids]
    for id, part in zip(ids, parts, strict=True):
        if part is None:
            raise InputError(f"token {id} spells no text; remove it")
    return b"".join(part or b"" for part in parts)


def exact_encoder(
    encode: Callable[[str], list[int]], tokens: Sequence[bytes | None], prefix: bytes
) -> Callable[[bytes], list[int]]:
    """An engine for texts of bytes that raises InputError where the tokens do not spell the text.

    Engines drop what they do not know, or replace it by an unknown token.
    """

    def encoded(text: bytes) -> list[int]:
        try:
            characters = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"the text is not UTF-8 at byte {error.start}; the tokenizer reads characters") from error
        ids = encode(characters)
        wanted = prefix + text if text else b""
        if b"".join(tokens[id] or b"\xff" for id in ids) != wanted:
            raise InputError(
                f"the text has {_lost(ids, tokens, wanted)}, which the tokenizer has no tokens for; remove it"
            )
        return ids

    return encoded


def _lost(ids: Sequence[int], tokens: Sequence[bytes | None], wanted: bytes) -> str:
    """The character at which tokens and text part."""
    at = 0
    for id in ids:
        token = tokens[id]
        if token is None or not wanted.startswith(token, at):
            break
        at += len(token)
    while at and wanted[at : at + 1] and wanted[at] & 0xC0 == 0x80:
        at -= 1
    return f"{wanted[at:].decode('utf-8', 'replace')[:1]!r} at byte {at}"
