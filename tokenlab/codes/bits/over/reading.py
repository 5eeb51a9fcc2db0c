"""Reading a base tokenizer from a file or folder, by its content."""

from pathlib import Path
from typing import TYPE_CHECKING

from tokenlab.codes.bits.over.bases import Base, base_of
from tokenlab.codes.bits.over.engines import read_engine, tokenizer_file

if TYPE_CHECKING:
    from tokenlab.formats.known_ranks import RankSettings


def read_base(path: str | Path, rank_settings: "RankSettings | None" = None) -> Base:
    """Read a base tokenizer.

    Args:
        path: a `tokenizer.json`; a SentencePiece `.model`; a rank file of tiktoken; a `tekken.json`; GPT-2's
            `encoder.json` or `vocab.json` beside its merges; or a folder with one of them.
        rank_settings: expression and special tokens of a rank file, which has neither; known for published files.

    Raises InputError for a missing, damaged or unknown file, and for a tokenizer without byte fallback.
    """
    return base_of(read_engine(path, rank_settings), str(tokenizer_file(path)))
