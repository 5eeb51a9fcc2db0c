"""Stage `patch_tokenizer`: byte-level BPE tokenizers of a corpus, or a published tokenizer, and hierarchical BPE inside
their tokens for every longest length S (Dolga et al. 2025, algorithm 1).

`models/P/patch_tokenizers/KEY/VOCABULARY` has the files of a tokenizer of so many tokens, and a `patches-S.json` for
each S.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Tokenizer

from tasks.patches.stored_tokenizers import StoredTokenizer, Tokenizers, mark_published, place_of
from tasks.patches.texts import Texts, part_documents
from tasks.runtime.stage import Stage, run, write_json
from tasks.runtime.tables import nested, write_table
from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_folder
from tokenlab.patches.bpe import read_tokenizer_patcher
from tokenlab.tokenizers.bpe import train_byte_level
from tokenlab.tokenizers.hierarchical import HierarchicalBPE, learn_hierarchical, vocabulary_of

TOKENIZER = "tokenizer.json"


class Learned(NamedTuple):
    """A tokenizer, its tokens, and a second BPE inside them."""

    tokenizer: str
    tokens: list[bytes]
    merges: HierarchicalBPE


def learn(stage: Stage) -> None:
    """Write the tokenizers, the merges and tables about them."""
    entry = stage.parameters(f"patches.tokenizers.{stage.variant}", Tokenizers)
    texts = stage.parameters("patches.texts", Texts)
    lengths = stage.parameters("patches.longest", list[int])
    found: list[Learned] = []
    with atomic_folder(stage.models("patch_tokenizers", stage.variant)) as folder:
        mark_published(folder, entry.vocabularies is None)
        for place in _places(stage.variant, entry, texts, folder):
            tokens = vocabulary_of(place.tokenizer)
            for longest in lengths:
                merges = learn_hierarchical(tokens, longest)
                merges.save(place.merges(longest))
                found.append(Learned(place.label, tokens, merges))
    reports = stage.reports("patch_tokenizers", stage.variant)
    rows = [*map(_row, found)]
    write_table(reports / "merges.parquet", rows)
    write_table(reports / "lengths.csv", [*_histogram(found)])
    write_json(reports / "metrics.json", nested(rows, "tokenizer", "longest"))


def _places(name: str, entry: Tokenizers, texts: Texts, folder: Path) -> Iterator[StoredTokenizer]:
    """The tokenizers of an entry, written one by one as tokenizer.json: a published one, or those trained here."""
    source = Path(entry.source)
    if entry.vocabularies is None:
        place = place_of(folder, name, len(vocabulary_of(source)), published=True)
        place.tokenizer.mkdir(parents=True)
        read_tokenizer_patcher(source).tokenizer.save(str(place.tokenizer / TOKENIZER))
        yield place
        return
    for size in entry.vocabularies:
        place = place_of(folder, name, size, published=False)
        place.tokenizer.mkdir(parents=True)
        documents = (document.text for document in part_documents(source, texts, "training"))
        train_tokenizer(documents, size, source.name).save(str(place.tokenizer / TOKENIZER))
        yield place


def train_tokenizer(texts: Iterable[str], size: int, name: str) -> Tokenizer:
    """Byte-level BPE with GPT-2's regular expression and without special tokens: 256 bytes, and merges.

    Raises InputError where the texts give fewer merges.
    """
    tokenizer = train_byte_level(texts, size)
    if (found := tokenizer.get_vocab_size()) < size:
        raise InputError(f"{name} gives {found} tokens; lower patches.tokenizers' {size} to at most that")
    return tokenizer


def _row(learned: Learned) -> dict[str, Any]:
    lengths = learned.merges.lengths(learned.tokens)
    sizes = np.array([len(token) for token in learned.tokens])
    return {
        "tokenizer": learned.tokenizer,
        "vocabulary": len(learned.tokens),
        "longest": learned.merges.longest,
        "merges": len(learned.merges.merges),
        "hierarchical_vocabulary": learned.merges.size,
        "mean_length": float(lengths.mean()),
        "largest_length": int(lengths.max()),
        "mean_bytes": float(sizes.mean()),
        "largest_bytes": int(sizes.max()),
    }


def _histogram(found: list[Learned]) -> Iterator[dict[str, Any]]:
    """Tokens by their length in bytes (longest 0), once for each tokenizer, and in symbols."""
    seen = set()
    for learned in found:
        sizes = {learned.merges.longest: learned.merges.lengths(learned.tokens)}
        if learned.tokenizer not in seen:
            seen.add(learned.tokenizer)
            sizes = {0: np.array([len(token) for token in learned.tokens])} | sizes
        for longest, lengths in sizes.items():
            for length, tokens in zip(*np.unique(lengths, return_counts=True), strict=True):
                facts = {"tokenizer": learned.tokenizer, "longest": longest}
                yield {**facts, "length": int(length), "tokens": int(tokens)}


if __name__ == "__main__":
    run(learn)
