"""The models of a comparison: their coders and shapes, what a byte of training costs them, and how long they train."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tasks.patches.parameters import BPE, ModelSettings, Size, Variant, patcher_name
from tasks.patches.stored_tokenizers import FACTS, PATCHER, TOKENS, StoredTokenizer
from tasks.runtime.stage import read_json
from tokenlab.core.errors import ParameterError
from tokenlab.language.coding import ByteCoder, Coder, PatchCoder, TokenCoder
from tokenlab.language.passages import Passages, open_passages, shuffled_batches
from tokenlab.networks.cost import training_flops_per_byte
from tokenlab.networks.options import ChunkShape, PatchShape, Shape, TokenShape
from tokenlab.patches.registry import read_patcher

_SAMPLE = 1 << 21
"""Bytes of training text on which the cost of a byte is measured."""
_BATCHES = 64
"""Batches on which the bytes of a batch are measured."""


class Planned(NamedTuple):
    """A model to train."""

    label: str
    variant: Variant
    seed: int

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"{self.label}-seed{self.seed}"


class Patched(NamedTuple):
    """The patchers of a corpus, in the folder that the stage `patches` wrote. vocabulary: the main size."""

    folder: Path
    vocabulary: int
    tokenizers: dict[str, str]
    """Label of the tokenizer of a patcher whose patches are tokens."""

    def column(self, variant: Variant) -> str | None:
        """The patcher whose patches a variant reads; None for bytes and learned chunks."""
        if variant.model not in ("patches", "tokens"):
            return None
        name = patcher_name(variant.patcher or BPE, variant.vocabulary, self.vocabulary)
        if not (self.folder / name).is_dir():
            raise ParameterError(
                f"patches.variants: there is no patcher {name} with models; correct the name or the size"
            )
        return name

    def size(self, variant: Variant) -> int | None:
        """The number of tokens of a variant's tokenizer; None where it has none."""
        column = self.column(variant)
        return (variant.vocabulary or self.vocabulary) if column in self.tokenizers else None

    def coder(self, variant: Variant) -> Coder:
        """The code of a variant's text."""
        column = self.column(variant)
        if column is None:
            return ByteCoder()
        tokens = StoredTokenizer(column, 0, self.folder / column / TOKENS)
        if variant.model == "tokens":
            return _token_coder(tokens.tokenizer)
        patcher = read_patcher(self.folder / column / PATCHER)
        return PatchCoder(patcher, None if variant.longest is None else tokens.hierarchical(variant.longest))


@lru_cache(maxsize=8)
def _token_coder(tokenizer: Path) -> TokenCoder:
    """Reading a tokenizer takes longer than training a small model."""
    return TokenCoder(tokenizer)


def read_patched(folder: Path) -> Patched:
    """The patchers of a corpus."""
    return Patched(folder, **read_json(folder / FACTS))


def planned(settings: ModelSettings) -> list[Planned]:
    """All models, variant by variant."""
    return [
        Planned(label, variant, seed)
        for label, variant in settings.variants.items()
        for seed in (settings.models.seeds if variant.seeds is None else variant.seeds)
    ]


def shape_of(variant: Variant, size: Size, symbols: int) -> Shape:
    """The shape of a variant's network over so many symbols."""
    if variant.model == "patches":
        return PatchShape(symbols, variant.longest is not None, size.latent, size.local, variant.hash)
    if variant.model == "chunks":
        return ChunkShape(size.latent, size.local, variant.ratio, variant.ratio_weight)
    return TokenShape(symbols, size.latent)


class Cost(NamedTuple):
    """What training a network costs. context: mean size of a passage over bytes. symbols, patches: for each byte."""

    context: float
    symbols: float
    patches: float
    flops: float
    """Operations for each byte of training text."""


def cost_of(variant: Variant, shape: Shape, coder: Coder, passages: Passages) -> Cost:
    """The cost of a variant on the beginning of its training text."""
    sizes: list[int] = []
    symbols = patches = 0
    for block in passages.blocks():
        starts = None if passages.patcher is None else block.starts[passages.patcher]
        coded = coder.code(block.data, starts)
        sizes += (passage.size for passage in coded)
        symbols += sum(len(passage.ids) for passage in coded)
        patches += sum(len(passage.starts) for passage in coded)
        if sum(sizes) >= _SAMPLE:
            break
    total = sum(sizes)
    context = float(np.square(sizes, dtype=np.float64).sum() / total)
    of_patches = 1 / variant.ratio if variant.model == "chunks" else patches / total if patches else 1.0
    flops = training_flops_per_byte(shape, context, symbols / total, of_patches)
    return Cost(context, symbols / total, of_patches, flops)


def batch_bytes(passages: Passages, context: int, rows: int, seed: int) -> float:
    """Mean bytes of a batch: rows are not always full."""
    found = [
        sum(len(passage.data) for row in batch for passage in row) for batch in _some(passages, context, rows, seed)
    ]
    return float(np.mean(found))


def _some(passages: Passages, context: int, rows: int, seed: int) -> Iterator[list[list]]:
    return islice(shuffled_batches(passages, context, rows, seed), _BATCHES)


def updates(settings: ModelSettings, cost: Cost, batch: float) -> int:
    """The updates of a training: as many as the budget allows, the same for all seeds."""
    budget = settings.models.budget
    return budget.steps or max(1, round((budget.flops or 0) / (cost.flops * batch)))


def training_passages(folder: Path, column: str | None) -> tuple[Passages, Passages]:
    """The training and validation passages of a corpus."""
    return open_passages(folder / "training", column), open_passages(folder / "validation", column)
