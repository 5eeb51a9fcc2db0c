"""Tokenizers from files, each as a complete tokenizer of the library `tokenizers` (one tokenizer.json).

Rank files, Tekken, SentencePiece models and GPT-2's pair of files are converted as `transformers` converts them: the
same ids, special tokens among the added tokens.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from tokenlab.core.errors import InputError
from tokenlab.exact.adapters.hugging_face import loaded
from tokenlab.exact.adapters.rank_tokenizers import merges_of_ranks
from tokenlab.formats.byte_level import written
from tokenlab.formats.gpt2 import read_gpt2
from tokenlab.formats.pieces import SPACE, Algorithm, PieceKind, PieceModel, read_pieces
from tokenlab.formats.ranks import RankTokenizer, looks_like_ranks, read_rank_tokenizer, read_tekken
from tokenlab.formats.reading import as_utf8, read_bounded

if TYPE_CHECKING:
    from tokenlab.formats.known_ranks import RankSettings

PAIRS = {"vocab.json": "merges.txt", "encoder.json": "vocab.bpe"}
"""GPT-2's pair of files: vocabulary -> merges."""
_IN_FOLDERS = ("tokenizer.json", "tekken.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", *PAIRS)
_END = "<|endoftext|>"


def read_engine(path: str | Path, rank_settings: "RankSettings | None" = None) -> Tokenizer:
    """Read a tokenizer.json, a SentencePiece `.model`, a rank file of tiktoken, a `tekken.json`, the vocabulary of a
    GPT-2 pair beside its merges, or a folder with one of them.

    rank_settings: expression and special tokens of a rank file, which has neither; known for published files.

    Raises InputError for a missing or damaged file, and for another format.
    """
    file = tokenizer_file(path)
    content = read_bounded(file).removeprefix(b"\xef\xbb\xbf")
    if content.lstrip()[:1] not in (b"{", b"["):
        if looks_like_ranks(content):
            return of_ranks(read_rank_tokenizer(file, rank_settings))
        return of_pieces(read_pieces(file), str(file))
    try:
        settings = json.loads(as_utf8(file, content))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not JSON: {' '.join(str(error).split())[:200]}") from error
    if isinstance(settings, list):
        raise InputError(f"{file}: JSON, but no tokenizer; its top is a list")
    if {"model", "added_tokens"} <= settings.keys():
        return loaded(as_utf8(file, content), str(file))
    if {"vocab", "config"} <= settings.keys():
        return of_ranks(read_tekken(file))
    merges = file.with_name(PAIRS.get(file.name, file.name))
    if file.name not in PAIRS or not merges.is_file():
        pairs = " or ".join(f"{vocabulary} and {merges}" for vocabulary, merges in PAIRS.items())
        raise InputError(f"{file}: JSON, but no tokenizer; known are tokenizer.json, tekken.json, {pairs}")
    return of_gpt2(*read_gpt2(file, merges))


def tokenizer_file(path: str | Path) -> Path:
    """The file that holds the tokenizer: the path itself, or what is in the folder. Raises InputError for neither."""
    path = Path(path)
    if not path.is_dir():
        return path
    found = [path / name for name in _IN_FOLDERS if (path / name).is_file()]
    found += sorted(path.glob("*.tiktoken"))
    if not found:
        raise InputError(f"{path}: no tokenizer in this folder; expected {', '.join(_IN_FOLDERS)} or *.tiktoken")
    return found[0]


def of_gpt2(ids: dict[str, int], merges: list[tuple[str, str]]) -> Tokenizer:
    """GPT-2's tokenizer."""
    tokenizer = Tokenizer(models.BPE(ids, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    _add_special(tokenizer, [_END] if _END in ids else [])
    return tokenizer


def of_ranks(ranks: RankTokenizer) -> Tokenizer:
    """A tokenizer by ranks: a word that is a token is not merged. The files name few special tokens or none, so they
    are called by their ids, with a space, which no token in the byte-level alphabet has."""
    ids = {written(token): id for token, id in ranks.regular.items()}
    special = {f"<|special {id}|>": id for id, token in enumerate(ranks.tokens) if token is None}
    merges = [(written(left), written(right)) for left, right in merges_of_ranks(ranks.regular)]
    tokenizer = Tokenizer(models.BPE({**ids, **special}, merges, ignore_merges=True))
    try:
        split = pre_tokenizers.Split(Regex(ranks.pattern), "isolated")
    except Exception as error:
        raise InputError(f"the expression does not compile: {' '.join(str(error).split())}") from error
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    _add_special(tokenizer, list(special))
    return tokenizer


def of_pieces(model: PieceModel, name: str) -> Tokenizer:
    """A SentencePiece model, BPE or Unigram.

    Raises InputError for the other algorithms, for a normalisation, which the library does not read from these files,
    and for spaces that stay, are removed, or go to the end.
    """
    if model.algorithm not in (Algorithm.BPE, Algorithm.UNIGRAM):
        raise InputError(f"{name}: SentencePiece's {model.algorithm.name} is not supported; BPE and Unigram are")
    if model.character_map or model.squeezes_spaces or model.suffix_spaces or not model.escapes_spaces:
        raise InputError(
            f"{name}: its normalisation ({model.normalizer or 'of spaces'}) changes texts; use its tokenizer.json, "
            "as transformers saves it"
        )
    tokenizer = Tokenizer(_byte_pair(model) if model.algorithm == Algorithm.BPE else _unigram(model))
    before = [normalizers.Prepend(SPACE)] if model.dummy_prefix else []
    tokenizer.normalizer = normalizers.Sequence([*before, normalizers.Replace(" ", SPACE)])
    after = [decoders.Strip(" ", 1, 0)] if model.dummy_prefix else []
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), *after]
    )
    _add_special(tokenizer, _texts(model, PieceKind.CONTROL, PieceKind.UNKNOWN))
    user_defined = [text.replace(SPACE, " ") for text in _texts(model, PieceKind.USER_DEFINED)]
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in user_defined])
    return tokenizer


def _byte_pair(model: PieceModel) -> models.Model:
    """The merges are all ways to make a piece from two, in the order of scores, equal ones in the order of ids."""
    ids = {piece.text: id for id, piece in enumerate(model.pieces)}
    normal = {piece.text: piece.score for piece in model.pieces if piece.kind == PieceKind.NORMAL}
    merges = []
    for text in sorted(normal, key=normal.__getitem__, reverse=True):
        cuts = [(text[:cut], text[cut:]) for cut in range(1, len(text))]
        merges += [(left, right) for left, right in cuts if left in normal and right in normal]
    unknown = next(iter(_texts(model, PieceKind.UNKNOWN)), None)
    return models.BPE(ids, merges, unk_token=unknown, fuse_unk=True, byte_fallback=model.byte_fallback)


def _unigram(model: PieceModel) -> models.Model:
    """Pieces that no text contains have the lowest score, so that they are not preferred where a text spells them."""
    lowest = min((piece.score for piece in model.pieces if piece.kind == PieceKind.NORMAL), default=0.0)
    kept = (PieceKind.NORMAL, PieceKind.USER_DEFINED)
    pieces = [(piece.text, piece.score if piece.kind in kept else lowest) for piece in model.pieces]
    unknown = next((id for id, piece in enumerate(model.pieces) if piece.kind == PieceKind.UNKNOWN), None)
    return models.Unigram(pieces, unknown, model.byte_fallback)


def _texts(model: PieceModel, *kinds: PieceKind) -> list[str]:
    return [piece.text for piece in model.pieces if piece.kind in kinds]


def _add_special(tokenizer: Tokenizer, tokens: list[str]) -> None:
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in tokens])
