"""Tokenizers from files of every format, read once: `read_tokenizer` finds the format by the content.

Rank files, Tekken, SentencePiece models and GPT-2's pair of files become complete tokenizers of the library
`tokenizers` as `transformers` converts them: the same ids, special tokens among the added tokens.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from tokenlab.core.errors import InputError, one_line
from tokenlab.formats.byte_level import END, PAIRS, Merges, read_gpt2, written
from tokenlab.formats.hugging_face import LibraryTokenizer, hidden_name, loaded
from tokenlab.formats.pieces import SPACE, Algorithm, PieceKind, PieceModel, read_pieces
from tokenlab.formats.ranks import (
    RankSettings,
    RankTokenizer,
    looks_like_ranks,
    read_rank_tokenizer,
    read_ranks,
    read_tekken,
)
from tokenlab.formats.reading import as_utf8, read_bounded

Format = Literal["tokenizer.json", "SentencePiece", "ranks", "Tekken", "GPT-2"]
_IN_FOLDERS = ("tokenizer.json", "tekken.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model")


@dataclass(frozen=True)
class TokenizerFile:
    """A tokenizer in a file. What it holds is read when it is asked for, once; then damage raises InputError.

    Attributes:
        path: the file; of GPT-2's pair, the vocabulary.
        rank_settings: expression and special tokens of a rank file, which has neither; None for a published one.
    """

    path: Path
    format: Format
    rank_settings: RankSettings | None = None

    @cached_property
    def pieces(self) -> PieceModel:
        """The pieces of a SentencePiece model."""
        return read_pieces(self.path)

    @cached_property
    def ranks(self) -> RankTokenizer:
        """The ranks of a rank file or of Tekken. Raises InputError for a rank file whose expression is not known."""
        return read_tekken(self.path) if self.format == "Tekken" else read_rank_tokenizer(self.path, self.rank_settings)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The whole tokenizer as one of the library `tokenizers`.

        Raises InputError, with the reason, where the library has no such tokenizer.
        """
        if self.format == "tokenizer.json":
            return loaded(as_utf8(self.path, _content(self.path)), str(self.path))
        if self.format == "GPT-2":
            return of_gpt2(*read_gpt2(self.path, self.path.with_name(PAIRS[self.path.name])))
        if self.format == "SentencePiece":
            return of_pieces(self.pieces, str(self.path))
        return of_ranks(self.ranks, str(self.path))

    @cached_property
    def library(self) -> LibraryTokenizer:
        """`tokenizer` and what its settings say: normalisation, pre-tokenizer, model, added tokens."""
        return LibraryTokenizer(self.tokenizer)

    @cached_property
    def tokens(self) -> tuple[bytes | None, ...]:
        """The bytes that each id spells, None for special tokens, the unknown token and ids without a token.

        Those of a rank file without its special tokens, for which its settings would have to be known.
        """
        if self.format == "SentencePiece":
            return self.pieces.tokens
        if self.format == "ranks":
            return tuple(read_ranks(self.path))
        return self.ranks.tokens if self.format == "Tekken" else self.library.tokens

    @property
    def algorithm(self) -> str:
        """The algorithm as its format names it; BPE is "BPE" in all."""
        if self.format == "SentencePiece":
            return self.pieces.algorithm.name
        return self.library.algorithm if self.format == "tokenizer.json" else "BPE"

    @cached_property
    def ends(self) -> tuple[int | None, int | None]:
        """The ids of the tokens that begin and end a text; None where neither the file nor a tokenizer_config.json
        beside it names them."""
        if self.format == "SentencePiece":
            return self.pieces.bos, self.pieces.eos
        if self.format in ("ranks", "Tekken"):
            return self.ranks.bos, self.ranks.eos
        config = self.path.parent / "tokenizer_config.json"
        settings = _json(config, read_bounded(config)) if config.is_file() else {}
        bos, eos = (self._named(settings.get(key)) for key in ("bos_token", "eos_token"))
        return bos, eos

    def _named(self, entry: Any) -> int | None:
        name = entry.get("content") if isinstance(entry, dict) else entry
        return self.tokenizer.token_to_id(name) if isinstance(name, str) else None


def read_tokenizer(path: str | Path, rank_settings: RankSettings | None = None) -> TokenizerFile:
    """The tokenizer in a file or folder, by its content.

    Args:
        path: a `tokenizer.json`; a SentencePiece `.model`; a rank file of tiktoken; a `tekken.json`; GPT-2's
            `encoder.json` or `vocab.json` beside its merges; or a folder with one of them.
        rank_settings: expression and special tokens of a rank file, which has neither; known for published files.

    Raises InputError for a missing file, and for JSON of another format.
    """
    file = tokenizer_file(path)
    content = _content(file)
    if content.lstrip()[:1] not in (b"{", b"["):
        return TokenizerFile(file, "ranks" if looks_like_ranks(content) else "SentencePiece", rank_settings)
    settings = _json(file, content)
    if {"model", "added_tokens"} <= settings.keys():
        return TokenizerFile(file, "tokenizer.json")
    if {"vocab", "config"} <= settings.keys():
        return TokenizerFile(file, "Tekken")
    if file.name not in PAIRS or not file.with_name(PAIRS[file.name]).is_file():
        pairs = " or ".join(f"{vocabulary} and {merges}" for vocabulary, merges in PAIRS.items())
        raise InputError(f"{file}: JSON, but no tokenizer; known are tokenizer.json, tekken.json, {pairs}")
    return TokenizerFile(file, "GPT-2")


def tokenizer_file(path: str | Path) -> Path:
    """The file that holds the tokenizer: the path itself, or what is in the folder. Raises InputError for neither."""
    path = Path(path)
    if not path.is_dir():
        return path
    pairs = [vocabulary for vocabulary, merges in PAIRS.items() if (path / merges).is_file()]
    found = [path / name for name in (*_IN_FOLDERS, *pairs) if (path / name).is_file()]
    ranks = sorted(path.glob("*.tiktoken"))
    if not found and len(ranks) > 1:
        raise InputError(f"{path}: several rank files ({', '.join(file.name for file in ranks)}); name one of them")
    found += ranks
    found += [path / name for name in PAIRS if (path / name).is_file()]  # without merges, which the error names
    if not found:
        below = sorted(entry.name for entry in path.iterdir() if any((entry / name).is_file() for name in _IN_FOLDERS))
        if below:
            raise InputError(f"{path}: a folder of several tokenizers ({', '.join(below[:9])}); name one of them")
        names = ", ".join((*_IN_FOLDERS, "*.tiktoken", *(" and ".join(pair) for pair in PAIRS.items())))
        raise InputError(f"{path}: no tokenizer in this folder; expected one of {names}")
    return found[0]


def _content(path: Path) -> bytes:
    return read_bounded(path).removeprefix(b"\xef\xbb\xbf")


def _json(path: Path, content: bytes) -> dict[str, Any]:
    try:
        settings = json.loads(as_utf8(path, content))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {one_line(error)[:200]}") from error
    if not isinstance(settings, dict):
        raise InputError(f"{path}: JSON, but no tokenizer; its top is a {type(settings).__name__}")
    return settings


def of_gpt2(ids: dict[str, int], merges: Merges) -> Tokenizer:
    """GPT-2's tokenizer."""
    tokenizer = Tokenizer(models.BPE(ids, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    _add_special(tokenizer, [END] if END in ids else [])
    return tokenizer


def of_ranks(ranks: RankTokenizer, name: str, *, special: bool = True) -> Tokenizer:
    """A tokenizer by ranks: a word that is a token is not merged. The files name few special tokens or none, so they
    are called by their ids, with a space, which no token in the byte-level alphabet has.

    special: whether special tokens are in the vocabulary.

    Raises InputError for an expression that does not compile.
    """
    ids = {written(token): id for token, id in ranks.regular.items()}
    named = {hidden_name(id): id for id, token in enumerate(ranks.tokens) if token is None} if special else {}
    merges = [(written(left), written(right)) for left, right in _merges_of_ranks(ranks.regular)]
    tokenizer = Tokenizer(models.BPE({**ids, **named}, merges, ignore_merges=True))
    try:
        split = pre_tokenizers.Split(Regex(ranks.pattern), "isolated")
    except Exception as error:
        raise InputError(f"{name}: the expression does not compile: {' '.join(str(error).split())}") from error
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    _add_special(tokenizer, list(named))
    return tokenizer


def of_pieces(model: PieceModel, name: str, *, ignore_normalizer: bool = False) -> Tokenizer:
    """A SentencePiece model: BPE, single characters, which is BPE without merges, or Unigram.

    ignore_normalizer: leave out its normalisation and the removal of spaces, for texts that are normalised already.

    Raises InputError for whole words, for a normalisation, which the library does not read from these files, and for
    spaces that are removed or go to the end.
    """
    if model.algorithm == Algorithm.WORD:
        raise InputError(f"{name}: SentencePiece's WORD is not supported; BPE, CHAR and UNIGRAM are")
    if model.suffix_spaces:
        raise InputError(f"{name}: its pieces have their spaces at the end, which is not supported")
    if (model.character_map or model.squeezes_spaces) and not ignore_normalizer:
        raise InputError(
            f"{name}: its normalisation ({model.normalizer or 'of spaces'}) changes texts; use its tokenizer.json, "
            "as transformers saves it"
        )
    tokenizer = Tokenizer(_unigram(model) if model.algorithm == Algorithm.UNIGRAM else _byte_pair(model))
    space = SPACE if model.escapes_spaces else " "
    before = [normalizers.Prepend(space)] if model.dummy_prefix else []
    tokenizer.normalizer = normalizers.Sequence([*before, normalizers.Replace(" ", space)])
    after = [decoders.Strip(" ", 1, 0)] if model.dummy_prefix else []
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(space, " "), decoders.ByteFallback(), decoders.Fuse(), *after]
    )
    _add_special(tokenizer, model.texts(PieceKind.CONTROL, PieceKind.UNKNOWN))
    if model.algorithm != Algorithm.UNIGRAM:  # there they have scores
        user_defined = [text for text in model.texts(PieceKind.USER_DEFINED) if not model.never_found(text)]
        # The text has U+2581 only once it is normalised. All are found in one pass, the longest first.
        normalized = any(SPACE in text for text in user_defined)
        if normalized and before:  # The library would normalise them, too, and put a space before them.
            tokenizer.normalizer = normalizers.Replace(" ", space)
            tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(space, "first", split=False)
        tokenizer.add_tokens([AddedToken(text, normalized=normalized) for text in user_defined])
    return tokenizer


def _merges_of_ranks(regular: dict[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Every way to make a token from two, lowest rank first; `regular` in the order of ranks."""
    merges = []
    for token in regular:
        ways = [
            (regular[left], regular[right], left, right)
            for cut in range(1, len(token))
            if (left := token[:cut]) in regular and (right := token[cut:]) in regular
        ]
        merges += [(left, right) for _, _, left, right in sorted(ways)]
    return merges


def _byte_pair(model: PieceModel) -> models.Model:
    """The merges are all ways to make a piece from two, in the order of scores, equal ones in the order of ids."""
    ids = {piece.text: id for id, piece in enumerate(model.pieces)}
    normal = {piece.text: piece.score for piece in model.pieces if piece.kind == PieceKind.NORMAL}
    merges = []
    for text in sorted(normal, key=normal.__getitem__, reverse=True):
        cuts = [(text[:cut], text[cut:]) for cut in range(1, len(text))]
        merges += [(left, right) for left, right in cuts if left in normal and right in normal]
    unknown = next(iter(model.texts(PieceKind.UNKNOWN)), None)
    return models.BPE(ids, merges, unk_token=unknown, fuse_unk=True, byte_fallback=model.byte_fallback)


def _unigram(model: PieceModel) -> models.Model:
    """Pieces that no text has, but for special tokens, are called by their ids."""
    found = (PieceKind.NORMAL, PieceKind.USER_DEFINED)
    named = (*found, PieceKind.CONTROL, PieceKind.UNKNOWN, PieceKind.BYTE)
    lowest = min((piece.score for piece in model.pieces if piece.kind == PieceKind.NORMAL), default=0.0)
    pieces = [
        (
            hidden_name(id) if piece.kind not in named or model.never_found(piece.text) else piece.text,
            score if piece.kind in found else lowest,
        )
        for id, (piece, score) in enumerate(zip(model.pieces, model.unigram_scores, strict=True))
    ]
    unknown = next((id for id, piece in enumerate(model.pieces) if piece.kind == PieceKind.UNKNOWN), None)
    return models.Unigram(pieces, unknown, model.byte_fallback)


def _add_special(tokenizer: Tokenizer, tokens: list[str]) -> None:
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in tokens])
