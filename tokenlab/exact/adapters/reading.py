"""Reading a tokenizer from a file or folder, by its content."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenlab.core.errors import InputError
from tokenlab.exact.adapters.real import RealTokenizer
from tokenlab.formats.reading import as_utf8, read_bounded

if TYPE_CHECKING:
    from tokenlab.formats.known_ranks import RankSettings

_IN_FOLDERS = ("tokenizer.json", "tekken.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model")
_PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))


def read_tokenizer(
    path: str | Path, *, ignore_normalizer: bool = False, rank_settings: "RankSettings | None" = None
) -> RealTokenizer:
    """A real tokenizer with the automaton of its encodings.

    Args:
        path: a `tokenizer.json`; a SentencePiece `.model`; a rank file of tiktoken; a `tekken.json`; GPT-2's
            `encoder.json` or `vocab.json` beside its merges; or a folder with one of them, as `transformers` saves it
            (its `tokenizer_config.json` then names BOS and EOS).
        ignore_normalizer: leave out a normaliser that makes several texts equal: texts must be normalised already.
        rank_settings: expression and special tokens of a rank file, which has neither; known for published files.

    Raises:
        InputError: there is no such file, or it is damaged or of another format.
        UnsupportedTokenizer: several texts have one encoding, or the tokenizer is not modelled; with an example.
    """
    path = Path(path)
    file = _file_in(path) if path.is_dir() else path
    name = path.name if path.is_dir() else file.name
    content = read_bounded(file)
    if content[:1] not in b"{[" and content[:3] != b"\xef\xbb\xbf":
        return _other_than_json(file, content, name, ignore_normalizer, rank_settings)
    settings = _json(file, content)
    if {"model", "added_tokens"} <= settings.keys():
        from tokenlab.exact.adapters.hugging_face import from_tokenizer, loaded

        tokenizer = loaded(as_utf8(file, content), str(file))
        bos, eos = _named_ends(file.parent / "tokenizer_config.json", tokenizer.token_to_id)
        return from_tokenizer(tokenizer, name=name, bos=bos, eos=eos, ignore_normalizer=ignore_normalizer)
    if {"vocab", "config"} <= settings.keys():
        from tokenlab.exact.adapters.rank_tokenizers import from_ranks
        from tokenlab.formats.ranks import read_tekken

        return from_ranks(read_tekken(file), name=name)
    return _gpt2(file, name)


def _file_in(folder: Path) -> Path:
    """The file of a folder that holds the tokenizer."""
    pairs: Iterable[str] = (vocabulary for vocabulary, merges in _PAIRS if (folder / merges).is_file())
    for name in (*_IN_FOLDERS, *pairs):
        if (folder / name).is_file():
            return folder / name
    others = sorted(folder.glob("*.tiktoken"))
    if len(others) == 1:
        return others[0]
    expected = ", ".join((*_IN_FOLDERS, "*.tiktoken", *(" and ".join(pair) for pair in _PAIRS)))
    raise InputError(f"{folder}: no tokenizer in this folder; expected one of {expected}")


def _other_than_json(
    file: Path, content: bytes, name: str, ignore_normalizer: bool, rank_settings: "RankSettings | None"
) -> RealTokenizer:
    from tokenlab.formats.ranks import looks_like_ranks, read_rank_tokenizer

    if looks_like_ranks(content):
        from tokenlab.exact.adapters.rank_tokenizers import from_ranks

        return from_ranks(read_rank_tokenizer(file, rank_settings), name=name)
    from tokenlab.exact.adapters.piece_tokenizers import from_pieces
    from tokenlab.formats.pieces import read_pieces

    return from_pieces(read_pieces(file), name=name, ignore_normalizer=ignore_normalizer)


def _gpt2(vocabulary: Path, name: str) -> RealTokenizer:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    from tokenlab.exact.adapters.hugging_face import from_tokenizer
    from tokenlab.formats.gpt2 import read_gpt2

    beside = [vocabulary.parent / merges for name, merges in _PAIRS if name == vocabulary.name]
    if not beside or not beside[0].is_file():
        wanted = " or ".join(" and ".join(pair) for pair in _PAIRS)
        raise InputError(f"{vocabulary}: JSON, but no tokenizer; known are tokenizer.json, tekken.json, {wanted}")
    ids, merges = read_gpt2(vocabulary, beside[0])
    tokenizer = Tokenizer(models.BPE(ids, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if "<|endoftext|>" in ids:
        tokenizer.add_special_tokens([AddedToken("<|endoftext|>", normalized=False)])
    bos, eos = _named_ends(vocabulary.parent / "tokenizer_config.json", tokenizer.token_to_id)
    return from_tokenizer(tokenizer, name=name, bos=bos, eos=eos)


def _named_ends(config: Path, id_of: Any) -> tuple[int | None, int | None]:
    """BOS and EOS as tokenizer_config.json names them, None where it does not."""
    if not config.is_file():
        return None, None
    settings = _json(config, read_bounded(config))
    ids = []
    for key in ("bos_token", "eos_token"):
        entry = settings.get(key)
        name = entry.get("content") if isinstance(entry, dict) else entry
        ids.append(id_of(name) if isinstance(name, str) else None)
    return ids[0], ids[1]


def _json(path: Path, content: bytes) -> dict[str, Any]:
    try:
        settings = json.loads(as_utf8(path, content))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(settings, dict):
        raise InputError(f"{path}: JSON, but no tokenizer")
    return settings
