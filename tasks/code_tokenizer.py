"""Stage `code_tokenizer`: BPE and unigram on the atoms of every variant; tokens and bigram bits at every size."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from tasks.codes import Sizes, Unseen, Variant, corpus_codes, learned_variants, pooled
from tasks.stage import Stage, read_json, run
from tokenlab.codes.code import atom
from tokenlab.codes.codebook import smallest_K
from tokenlab.files import atomic_file, atomic_folder
from tokenlab.tokenizers import (
    apply_merges,
    bpe_sweep,
    bpe_tokenizer,
    save_tokenizer,
    unigram_sweep,
    unigram_tokenizer,
)

_MERGES = "merges.npy"


class Sequences(NamedTuple):
    """Encoded sequences whose atoms are numbered without gaps, in their order."""

    symbols: np.ndarray
    offsets: np.ndarray
    atoms: np.ndarray
    """The atom of each symbol."""


class Plan(NamedTuple):
    """What is computed for a corpus."""

    sizes: Sizes
    characters: int
    """|C|."""
    unigram: tuple[int, ...]
    unseen: Unseen | None
    in_training: int | None

    def has_unigram(self, variant: Variant) -> bool:
        """Whether a unigram tokenizer is trained too: it takes half a minute where BPE takes a second."""
        if variant.N is None:
            return bool(self.unigram)
        needed = smallest_K(self.characters, variant.N) == variant.K
        return variant.N in self.unigram and variant.seed == 0 and needed


def train_tokenizers(stage: Stage) -> None:
    """Write the tokenizers at the largest size, and a row for each variant, tokenizer and vocabulary size."""
    codes = corpus_codes(stage)
    facts = read_json(stage.reports("codebooks", stage.variant, "variants.json"))
    unseen = stage.parameters("codes.unseen", Unseen) if codes.unseen else None
    plan = Plan(
        stage.parameters("codes.sizes", Sizes), facts["characters"], codes.unigram, unseen, facts["training_characters"]
    )
    encoded = stage.data("encoded", stage.variant)

    def work(variant: Variant) -> list[dict[str, Any]]:
        return list(_rows(variant, plan, encoded, target / variant.name))

    with atomic_folder(stage.models("code_tokenizers", stage.variant)) as target:
        rows = [row for of_variant in pooled(work, learned_variants(stage), stage.variant) for row in of_variant]
    with atomic_file(stage.data("code_sweeps", f"{stage.variant}.parquet")) as path:
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)


def read_sequences(path: Path, atoms: np.ndarray | None = None) -> Sequences:
    """Encoded sequences; with `atoms`, numbered as those are (all must be among them)."""
    lists = pq.read_table(path).column("atoms").combine_chunks()
    numbers = lists.values.to_numpy(zero_copy_only=False)
    offsets = lists.offsets.to_numpy()
    if atoms is None:
        atoms = np.flatnonzero(np.bincount(numbers))
    symbol = np.zeros(int(atoms.max()) + 1, np.int32)
    symbol[atoms] = np.arange(len(atoms))
    return Sequences(symbol[numbers], offsets, atoms)


def read_merges(folder: Path) -> np.ndarray:
    """The merges of a variant: int32[merges, 2], as `bpe_sweep` gave them."""
    return np.load(folder / _MERGES, allow_pickle=False)


def vocabulary_sizes(alphabet: int, characters: int, sizes: Sizes) -> list[int]:
    """The alphabet, every multiple of the step above it up to the largest, |C|, and those of the tables."""
    steps = range(0, sizes.largest + 1, sizes.step)
    return sorted({alphabet} | {size for size in [*steps, characters, *sizes.shown] if size >= alphabet})


def _rows(variant: Variant, plan: Plan, encoded: Path, target: Path) -> Iterator[dict[str, Any]]:
    of_code = {"code": variant.code, "N": variant.N, "K": variant.K, "seed": variant.seed}
    trained = read_sequences(encoded / f"{variant.name}.parquet")
    alphabet = [atom(int(number)) for number in trained.atoms]
    if variant.part == "train":
        yield from _unseen_rows(of_code, plan, trained, encoded / f"{variant.name}.held-out.parquet")
        return
    sizes = vocabulary_sizes(len(alphabet), plan.characters, plan.sizes)
    swept = bpe_sweep(trained.symbols, trained.offsets, len(alphabet), sizes)
    save_tokenizer(bpe_tokenizer(swept.merges, alphabet), target / "bpe")
    np.save(target / _MERGES, swept.merges, allow_pickle=False)
    yield from _sweep_rows(of_code | {"tokenizer": "bpe", "text": "same"}, swept)
    if plan.has_unigram(variant):
        unigram = unigram_sweep(trained.symbols, trained.offsets, len(alphabet), sizes)
        save_tokenizer(unigram_tokenizer(unigram.models[-1], alphabet), target / "unigram")
        yield from _sweep_rows(of_code | {"tokenizer": "unigram", "text": "same"}, unigram)


def _unseen_rows(of_code: dict[str, Any], plan: Plan, trained: Sequences, held_out: Path) -> Iterator[dict[str, Any]]:
    """Merges learned from the training part, applied to the held-out one."""
    assert plan.unseen is not None and plan.in_training is not None
    alphabet = len(trained.atoms)
    sizes = sorted({size for size in [plan.in_training, *plan.unseen.sizes] if size >= alphabet})
    merges = bpe_sweep(trained.symbols, trained.offsets, alphabet, sizes).merges
    evaluated = read_sequences(held_out, trained.atoms)
    applied = apply_merges(evaluated.symbols, evaluated.offsets, alphabet, merges, sizes)
    yield from _sweep_rows(of_code | {"tokenizer": "bpe", "text": "unseen"}, applied)


def _sweep_rows(same: dict[str, Any], swept: Any) -> Iterator[dict[str, Any]]:
    for size, tokens, bits in zip(swept.sizes, swept.tokens, swept.bits, strict=True):
        yield same | {"vocabulary": int(size), "tokens": int(tokens), "bits": float(bits)}


if __name__ == "__main__":
    run(train_tokenizers)
