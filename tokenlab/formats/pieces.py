"""SentencePiece models (`.model`): pieces with scores and kinds, and what is done to a text before it is encoded.

A model is a message of protocol buffers, whose wire format is read here: no schema and no package is needed.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from tokenlab.core.errors import InputError
from tokenlab.formats.reading import read_bounded

SPACE = "\u2581"
"""The character that stands for a space in pieces."""
BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""The pieces of the bytes, which spell the characters that have no piece."""
MOST_PIECES = 1 << 21
_USER_DEFINED_BONUS = 0.1


class PieceKind(IntEnum):
    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


class Algorithm(IntEnum):
    UNIGRAM = 1
    BPE = 2
    WORD = 3
    CHAR = 4


class Piece(NamedTuple):
    """One piece; its id is its place in the file."""

    text: str
    score: float
    kind: PieceKind


@dataclass(frozen=True)
class PieceModel:
    """A SentencePiece model.

    Attributes:
        pieces: by id.
        normalizer: name of the normalisation, such as "identity" and "nmt_nfkc".
        character_map: the table of normalisation, empty where text stays as it is.
        dummy_prefix: whether a space is put before a text that is not empty.
        squeezes_spaces: whether spaces at the ends and runs of spaces are removed.
        escapes_spaces: whether a space becomes U+2581.
        suffix_spaces: whether the space is put after the text.
        bos, eos: ids, None where there is none.
    """

    pieces: tuple[Piece, ...]
    algorithm: Algorithm
    byte_fallback: bool
    normalizer: str
    character_map: bytes
    dummy_prefix: bool
    squeezes_spaces: bool
    escapes_spaces: bool
    suffix_spaces: bool
    bos: int | None
    eos: int | None

    @property
    def tokens(self) -> tuple[bytes | None, ...]:
        """The bytes that each piece spells, None for control symbols, the unknown piece and those that no text has."""
        return tuple(map(self._spelled, self.pieces))

    @property
    def byte_ids(self) -> tuple[int, ...]:
        """The ids of the 256 byte pieces; empty without byte fallback."""
        if not self.byte_fallback:
            return ()
        ids = {piece.text: id for id, piece in enumerate(self.pieces) if piece.kind == PieceKind.BYTE}
        return tuple(ids[text] for text in BYTE_PIECES)

    @property
    def unigram_scores(self) -> list[float]:
        """The scores of Unigram by id; those of user-defined pieces make SentencePiece 0.2.3 take them, the longest
        first."""
        return [
            _USER_DEFINED_BONUS * (len(piece.text.encode()) - 1)
            if piece.kind == PieceKind.USER_DEFINED
            else piece.score
            for piece in self.pieces
        ]

    def texts(self, *kinds: PieceKind) -> list[str]:
        """The pieces of some kinds, in the order of ids."""
        return [piece.text for piece in self.pieces if piece.kind in kinds]

    def never_found(self, text: str) -> bool:
        """Whether no text has a piece: one with a space, where spaces become U+2581 before pieces are looked for."""
        return self.escapes_spaces and " " in text

    def _spelled(self, piece: Piece) -> bytes | None:
        if piece.kind == PieceKind.BYTE:
            return bytes([BYTE_PIECES.index(piece.text)]) if self.byte_fallback else None
        if piece.kind not in (PieceKind.NORMAL, PieceKind.USER_DEFINED) or self.never_found(piece.text):
            return None
        return (piece.text.replace(SPACE, " ") if self.escapes_spaces else piece.text).encode()


_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
"""Types of fields on the wire."""
# Numbers of the fields in sentencepiece_model.proto.
_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3
_TEXT, _SCORE, _KIND = 1, 2, 3
_ALGORITHM, _SUFFIX_SPACES, _BYTE_FALLBACK, _BOS_PIECE, _EOS_PIECE = 3, 24, 35, 46, 47
_NAME, _CHARACTER_MAP, _DUMMY_PREFIX, _SQUEEZE, _ESCAPE = 1, 2, 3, 4, 5


def read_pieces(path: str | Path) -> PieceModel:
    """Read a SentencePiece model. Raises InputError for a file that is none, is cut off, or has a piece twice."""
    where = str(path)
    pieces: list[Piece] = []
    trainer, normalizer = b"", b""
    for number, value in fields(read_bounded(path), where):
        if number not in (_PIECES, _TRAINER, _NORMALIZER):
            continue
        if not isinstance(value, bytes):
            raise InputError(f"{where}: not a SentencePiece model")
        if number == _PIECES:
            pieces.append(_piece(value, f"{where}, piece {len(pieces)}"))
            if len(pieces) > MOST_PIECES:
                raise InputError(f"{where}: more than {MOST_PIECES} pieces")
        elif number == _TRAINER:
            trainer += value  # fields of a message that is there twice are merged
        else:
            normalizer += value
    if not pieces:
        raise InputError(f"{where}: not a SentencePiece model: it has no pieces")
    texts = [piece.text for piece in pieces]
    if len(set(texts)) < len(texts):
        raise InputError(f"{where}: a piece is there twice")
    return _model(where, pieces, dict(fields(trainer, where)), dict(fields(normalizer, where)))


def _piece(message: bytes, where: str) -> Piece:
    text, score, kind = "", 0.0, 1
    for number, value in fields(message, where):
        if number == _TEXT:
            text = _as_text(value, where)
        elif number == _SCORE:
            score = _as_float(value, where)
        elif number == _KIND:
            kind = _as_int(value, where)
    if not text or kind not in PieceKind._value2member_map_ or score != score:
        raise InputError(f"{where}: not a piece of SentencePiece; this file is another one or damaged")
    if kind == PieceKind.BYTE and text not in BYTE_PIECES:
        raise InputError(f"{where}: {text!r} is of the kind BYTE, which are written <0x00> to <0xFF>")
    return Piece(text, score, PieceKind(kind))


def _model(
    where: str, pieces: list[Piece], trainer: dict[int, int | bytes], normalizer: dict[int, int | bytes]
) -> PieceModel:
    algorithm = _as_int(trainer.get(_ALGORITHM, 1), where)
    if algorithm not in Algorithm._value2member_map_:
        raise InputError(f"{where}: unknown algorithm {algorithm}; known are unigram, BPE, word and char")
    bytes_there = {piece.text for piece in pieces if piece.kind == PieceKind.BYTE}
    fallback = bool(_as_int(trainer.get(_BYTE_FALLBACK, 0), where))
    if fallback and len(bytes_there) < 256:
        raise InputError(f"{where}: byte fallback with {len(bytes_there)} of the 256 bytes; the file is damaged")
    named = {piece.text: id for id, piece in enumerate(pieces) if piece.kind == PieceKind.CONTROL}
    character_map = normalizer.get(_CHARACTER_MAP, b"")
    if isinstance(character_map, int):
        raise InputError(f"{where}: the table of normalisation is a number; the file is damaged")
    return PieceModel(
        pieces=tuple(pieces),
        algorithm=Algorithm(algorithm),
        byte_fallback=fallback,
        normalizer=_as_text(normalizer.get(_NAME, b""), where),
        character_map=character_map,
        dummy_prefix=bool(_as_int(normalizer.get(_DUMMY_PREFIX, 1), where)),
        squeezes_spaces=bool(_as_int(normalizer.get(_SQUEEZE, 1), where)),
        escapes_spaces=bool(_as_int(normalizer.get(_ESCAPE, 1), where)),
        suffix_spaces=bool(_as_int(trainer.get(_SUFFIX_SPACES, 0), where)),
        bos=named.get(_as_text(trainer.get(_BOS_PIECE, b"<s>"), where)),
        eos=named.get(_as_text(trainer.get(_EOS_PIECE, b"</s>"), where)),
    )


def fields(message: bytes, where: str) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field: an int for a varint and fixed widths (as written), bytes for the others.

    Raises InputError where the message is cut off or has a type of field that is not among the four in use.
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at, where)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise _no_model(where, at)
        value: int | bytes
        if kind == _VARINT:
            value, at = _varint(message, at, where)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
            value = int.from_bytes(_cut(message, at, size, where), "little")
            at += size
        elif kind == _BYTES:
            size, at = _varint(message, at, where)
            value = _cut(message, at, size, where)
            at += size
        else:
            raise _no_model(where, at)
        yield number, value


def _as_float(value: int | bytes, where: str) -> float:
    """A fixed 32-bit value as a float."""
    if not isinstance(value, int) or value >= 1 << 32:
        raise InputError(f"{where}: a number was expected")
    return float(struct.unpack("<f", value.to_bytes(4, "little"))[0])


def _as_int(value: int | bytes, where: str) -> int:
    """A varint as a signed number of 32 bits."""
    if not isinstance(value, int):
        raise InputError(f"{where}: a number was expected")
    low = value & 0xFFFFFFFF
    return low - (1 << 32) if low >= 1 << 31 else low


def _as_text(value: int | bytes, where: str) -> str:
    """A field of bytes as text."""
    if isinstance(value, int):
        raise InputError(f"{where}: text was expected")
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: text that is not UTF-8") from error


def _cut(message: bytes, at: int, size: int, where: str) -> bytes:
    if size > len(message) - at:
        raise _no_model(where, len(message))
    return message[at : at + size]


def _no_model(where: str, at: int) -> InputError:
    return InputError(f"{where}: no tokenizer of a known format; as a SentencePiece model it breaks off at byte {at}")


def _varint(message: bytes, at: int, where: str) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise _no_model(where, len(message))
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & ((1 << 64) - 1), at
    raise _no_model(where, at)
