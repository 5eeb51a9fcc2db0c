"""SentencePiece models (`.model`): pieces with scores and kinds, and what is done to a text before it is encoded."""

import re
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from tokenlab.core.errors import InputError
from tokenlab.formats.reading import read_bounded
from tokenlab.formats.wire import as_float, as_int, as_text, fields

SPACE = "\u2581"
"""The character that stands for a space in pieces."""
MOST_PIECES = 1 << 21
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


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
        character_map: size in bytes of the table of normalisation, 0 where text stays as it is.
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
    character_map: int
    dummy_prefix: bool
    squeezes_spaces: bool
    escapes_spaces: bool
    suffix_spaces: bool
    bos: int | None
    eos: int | None

    def byte_of(self, id: int) -> int | None:
        """The byte for which a piece of kind BYTE stands, None for other pieces."""
        piece = self.pieces[id]
        return int(piece.text[3:5], 16) if piece.kind == PieceKind.BYTE else None


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
            text = as_text(value, where)
        elif number == _SCORE:
            score = as_float(value, where)
        elif number == _KIND:
            kind = as_int(value, where)
    if not text or kind not in PieceKind._value2member_map_ or score != score:
        raise InputError(f"{where}: not a piece of SentencePiece; this file is another one or damaged")
    if kind == PieceKind.BYTE and not _BYTE.fullmatch(text):
        raise InputError(f"{where}: {text!r} is of the kind BYTE, which are written <0x00> to <0xFF>")
    return Piece(text, score, PieceKind(kind))


def _model(
    where: str, pieces: list[Piece], trainer: dict[int, int | bytes], normalizer: dict[int, int | bytes]
) -> PieceModel:
    algorithm = as_int(trainer.get(_ALGORITHM, 1), where)
    if algorithm not in Algorithm._value2member_map_:
        raise InputError(f"{where}: unknown algorithm {algorithm}; known are unigram, BPE, word and char")
    bytes_there = {piece.text for piece in pieces if piece.kind == PieceKind.BYTE}
    fallback = bool(as_int(trainer.get(_BYTE_FALLBACK, 0), where))
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
        normalizer=as_text(normalizer.get(_NAME, b""), where),
        character_map=len(character_map),
        dummy_prefix=bool(as_int(normalizer.get(_DUMMY_PREFIX, 1), where)),
        squeezes_spaces=bool(as_int(normalizer.get(_SQUEEZE, 1), where)),
        escapes_spaces=bool(as_int(normalizer.get(_ESCAPE, 1), where)),
        suffix_spaces=bool(as_int(trainer.get(_SUFFIX_SPACES, 0), where)),
        bos=named.get(as_text(trainer.get(_BOS_PIECE, b"<s>"), where)),
        eos=named.get(as_text(trainer.get(_EOS_PIECE, b"</s>"), where)),
    )
