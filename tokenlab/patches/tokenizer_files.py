"""Patchers of tokenizers in any format; those of a tokenizer.json need only `bpe`."""

from pathlib import Path
from typing import TYPE_CHECKING

from tokenlab.codes.bits.over.engines import read_engine, tokenizer_file
from tokenlab.patches.bpe import BpePatcher

if TYPE_CHECKING:
    from tokenlab.formats.known_ranks import RankSettings


def read_tokenizer_patcher(path: str | Path, rank_settings: "RankSettings | None" = None) -> BpePatcher:
    """The patcher of a tokenizer.

    Args:
        path: a `tokenizer.json`; a SentencePiece `.model`; a rank file of tiktoken; a `tekken.json`; GPT-2's
            `encoder.json` or `vocab.json` beside its merges; or a folder with one of them.
        rank_settings: expression and special tokens of a rank file, which has neither; known for published files.

    Raises InputError for a missing, damaged or unknown file, and as `BpePatcher`.
    """
    return BpePatcher(read_engine(path, rank_settings), str(tokenizer_file(path)))
