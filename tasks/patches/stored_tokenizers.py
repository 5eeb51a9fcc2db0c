"""Tokenizers of the patch models: their parameters, and the folders in which `patch_tokenizer` writes them."""

import json
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from tasks.runtime.stage import Parameters, read_json
from tokenlab.core.files import write_text
from tokenlab.tokenizers.hierarchical import HierarchicalBPE

PATCHER, TOKENS, FACTS = "patcher", "tokens", "patchers.json"
"""Names in the folder of a corpus's patchers: a patcher, its tokenizer with merges, and facts about all."""

_PUBLISHED = "published.json"


class Tokenizers(Parameters):
    """Byte-level BPE trained on the training documents of a corpus (source), one tokenizer for each of `vocabularies`;
    null: source is the folder of a published tokenizer."""

    source: str
    vocabularies: list[int] | None = Field(min_length=1)


class StoredTokenizer(NamedTuple):
    """A tokenizer with the merges inside its tokens. label: its name in tables."""

    label: str
    vocabulary: int
    folder: Path

    @property
    def tokenizer(self) -> Path:
        """The folder of the tokenizer's own files."""
        return self.folder / "tokenizer"

    def merges(self, longest: int) -> Path:
        """The file of the merges for patches of at most `longest` symbols."""
        return self.folder / f"patches-{longest}.json"

    def hierarchical(self, longest: int) -> HierarchicalBPE:
        """These merges."""
        return HierarchicalBPE.read(self.merges(longest))


def place_of(folder: Path, entry: str, vocabulary: int, published: bool) -> StoredTokenizer:
    """The place of a tokenizer in the folder of an entry."""
    label = entry if published else f"{entry}-{vocabulary}"
    return StoredTokenizer(label, vocabulary, folder / str(vocabulary))


def mark_published(folder: Path, published: bool) -> None:
    """Note in the folder of an entry whether its tokenizer is a published one."""
    write_text(folder / _PUBLISHED, json.dumps(published) + "\n")


def stored_tokenizers(folder: Path) -> dict[int, StoredTokenizer]:
    """The tokenizers of an entry by their number of tokens, ascending."""
    published = read_json(folder / _PUBLISHED)
    sizes = sorted(int(path.name) for path in folder.iterdir() if path.is_dir())
    return {size: place_of(folder, folder.name, size, published) for size in sizes}
