"""SentencePiece models as real tokenizers.

BPE: the whole text, a space put before it, is one word of characters; characters without a piece are spelled by byte
pieces. Its engine is the library `tokenizers`, between user-defined pieces, which are found first. Unigram: the best
path by the sum of scores.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from tokenlab.exact.adapters.normalization import HOW_TO_IGNORE
from tokenlab.exact.adapters.prefixed import joined
from tokenlab.exact.adapters.real import RealTokenizer, UnsupportedTokenizer, exact_encoder
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.splits.reading import AddedTokens, read_splits
from tokenlab.exact.vocabulary import Vocabulary
from tokenlab.formats.pieces import SPACE, Algorithm, PieceKind, PieceModel

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_USER_DEFINED_PENALTY = 0.1


def from_pieces(model: PieceModel, *, name: str, ignore_normalizer: bool = False) -> RealTokenizer:
    """The automaton of a SentencePiece model.

    ignore_normalizer: leave out its normalisation and the removal of spaces, for texts that are normalised already.

    Raises UnsupportedTokenizer, with an example, for a normalisation that makes several texts equal.
    """
    ignored = _lossy(model)
    if ignored and not ignore_normalizer:
        raise UnsupportedTokenizer(f"{name}: {ignored[0]}; {HOW_TO_IGNORE}")
    _check_modelled(model, name)
    tokens = tuple(_bytes_of(model, id) for id in range(len(model.pieces)))
    vocabulary = Vocabulary(tokens)
    prefix = b" " if model.dummy_prefix else b""
    notes = ["texts have no U+2581, which stands for a space"]
    if prefix:
        notes.append("texts are not empty: the space before a text comes with its first character")
    if not model.byte_fallback:
        notes.append("texts have only characters with pieces; others would become the unknown piece")
    if ignored:
        notes.append(f"texts are normalised already: {model.normalizer or 'the normalisation'} is left out")
    word: TokenAutomaton
    engine: Tokenizer | None = None
    added: dict[bytes, int] = {}
    if model.algorithm == Algorithm.BPE:
        added = {tokens[id] or b"": id for id, piece in enumerate(model.pieces) if piece.kind == PieceKind.USER_DEFINED}
        word = _byte_pair(model, vocabulary)
        engine = _engine(model)
        encode = _between(engine, {piece.decode(): id for piece, id in added.items()})
    else:
        from tokenlab.exact.encoders.unigram import Unigram

        word = unigram = Unigram(vocabulary, _scores(model))
        encode = _of_bytes(unigram.encode)
    automaton = joined(
        word,
        read_splits(None),
        AddedTokens.from_mapping({id: text.decode() for text, id in added.items()}) if added else None,
        exact_encoder(lambda text: encode(prefix.decode() + text) if text else [], tokens, prefix),
        prefix=prefix,
    )
    return RealTokenizer(name, automaton, engine, model.bos, model.eos, tuple(notes))


def _lossy(model: PieceModel) -> list[str]:
    """What makes several texts equal, each with an example."""
    found = []
    if model.character_map:
        found.append(
            f"the normalisation {model.normalizer} makes texts equal: '\uff21' and 'A'"
            if "nfkc" in model.normalizer
            else f"the normalisation {model.normalizer or 'of its table'} may make texts equal"
        )
    if model.squeezes_spaces:
        found.append("spaces are removed: 'a  b' and 'a b' are the same")
    return found


def _check_modelled(model: PieceModel, name: str) -> None:
    if model.algorithm not in (Algorithm.BPE, Algorithm.UNIGRAM):
        raise UnsupportedTokenizer(
            f"{name}: SentencePiece's {model.algorithm.name} is not modelled; BPE and Unigram are"
        )
    if model.suffix_spaces or not model.escapes_spaces:
        raise UnsupportedTokenizer(f"{name}: a space that stays or goes to the end of the text is not modelled")
    if model.algorithm == Algorithm.UNIGRAM and model.byte_fallback:
        raise UnsupportedTokenizer(f"{name}: Unigram with byte fallback is not modelled")
    if model.algorithm == Algorithm.BPE and any(piece.kind == PieceKind.UNUSED for piece in model.pieces):
        raise UnsupportedTokenizer(f"{name}: BPE with unused pieces, which are divided again, is not modelled")


def _bytes_of(model: PieceModel, id: int) -> bytes | None:
    piece = model.pieces[id]
    byte = model.byte_of(id)
    if byte is not None:
        return bytes([byte]) if model.byte_fallback else None
    spells = piece.kind in (PieceKind.NORMAL, PieceKind.USER_DEFINED)
    return piece.text.replace(SPACE, " ").encode() if spells else None


def _byte_pair(model: PieceModel, vocabulary: Vocabulary) -> BytePair:
    normal = [piece.kind == PieceKind.NORMAL for piece in model.pieces]
    ranks = [-piece.score if merges else None for piece, merges in zip(model.pieces, normal, strict=True)]
    return BytePair.from_ranks(
        vocabulary, ranks, byte_fallback=_byte_ids(model) if model.byte_fallback else None, absent=[SPACE.encode()]
    )


def _byte_ids(model: PieceModel) -> list[int]:
    ids = {model.byte_of(id): id for id in range(len(model.pieces))}
    return [ids[byte] for byte in range(256)]


def _scores(model: PieceModel) -> list[float]:
    """The scores of Unigram; SentencePiece prefers user-defined pieces by their length in bytes."""
    best = max((piece.score for piece in model.pieces if piece.kind == PieceKind.NORMAL), default=0.0)
    return [
        len(piece.text.encode()) * best - _USER_DEFINED_PENALTY if piece.kind == PieceKind.USER_DEFINED else piece.score
        for piece in model.pieces
    ]


def _engine(model: PieceModel) -> "Tokenizer":
    from tokenizers import Tokenizer, models

    kinds = (PieceKind.NORMAL, PieceKind.BYTE, PieceKind.UNKNOWN)
    vocabulary = {piece.text: id for id, piece in enumerate(model.pieces) if piece.kind in kinds}
    unknown = next((piece.text for piece in model.pieces if piece.kind == PieceKind.UNKNOWN), None)
    normal = {piece.text: piece.score for piece in model.pieces if piece.kind == PieceKind.NORMAL}
    merges = []
    for text in sorted(normal, key=normal.__getitem__, reverse=True):  # stable: equal scores in the order of ids
        merges += [
            (text[:cut], text[cut:]) for cut in range(1, len(text)) if text[:cut] in normal and text[cut:] in normal
        ]
    return Tokenizer(models.BPE(vocabulary, merges, unk_token=unknown, byte_fallback=model.byte_fallback))


def _between(engine: "Tokenizer", added: dict[str, int]) -> Callable[[str], list[int]]:
    """The ids of a text that begins with its space: the longest user-defined piece first, the engine between them."""
    longest_first = sorted(added, key=len, reverse=True)
    pattern = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")") if added else None

    def encode(text: str) -> list[int]:
        ids = []
        for part in pattern.split(text) if pattern else [text]:
            if part in added:
                ids.append(added[part])
            elif part:
                ids += engine.encode(part.replace(" ", SPACE), add_special_tokens=False).ids
        return ids

    return encode


def _of_bytes(encode: Callable[[bytes], list[int]]) -> Callable[[str], list[int]]:
    return lambda text: encode(text.encode())
