"""Sizes of the language models: a Transformer over tokens or bytes, a hierarchical model over patches of symbols, and a
model that learns its own chunks of bytes."""

from dataclasses import dataclass
from typing import Literal

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, check_least, option

Attention = Literal["sdpa", "flex"]
"""Implementation of attention: PyTorch's scaled_dot_product_attention, or its flex_attention (compiled, for GPUs)."""


@dataclass(frozen=True)
class StackShape:
    """The size of a stack of Transformer blocks (RMSNorm, rotary positions, SwiGLU, no biases).

    Raises ParameterError for an impossible size.
    """

    layers: int = option("number of blocks", metavar="N")
    width: int = option("size of the hidden states", metavar="N")
    heads: int = option("attention heads; they divide the width into even sizes", metavar="N")
    feed_forward: int = option("inner size of the SwiGLU layers", metavar="N")

    def __post_init__(self) -> None:
        for name in ("layers", "width", "heads", "feed_forward"):
            check_least(name, getattr(self, name), 1)
        if self.width % (2 * self.heads):
            raise ParameterError(f"heads is {self.heads}; twice the heads must divide the width, {self.width}")


@dataclass(frozen=True)
class TokenShape:
    """A causal Transformer over tokens (plain BPE) or bytes (the character baseline); its embedding is tied to its
    output matrix."""

    vocabulary: int
    stack: StackShape

    def __post_init__(self) -> None:
        check_least("vocabulary", self.vocabulary, 2)


@dataclass(frozen=True)
class HashShape:
    """Hash n-gram embeddings (BLT, Pagnoni et al. 2024, section 3.2.1), added to the symbol embeddings of the local
    encoder; one table of `rows` rows serves all lengths."""

    rows: int = option("rows of the table of hash n-gram embeddings", 500_000, metavar="N")
    smallest: int = option("shortest n-gram, in symbols", 3, metavar="N")
    largest: int = option("longest n-gram, in symbols", 8, metavar="N")

    def __post_init__(self) -> None:
        check_least("rows", self.rows, 1)
        check_least("smallest", self.smallest, 1)
        check_least("largest", self.largest, self.smallest)


@dataclass(frozen=True)
class PatchShape:
    """The hierarchical model (paper, section 2.2): local encoder, latent Transformer, local decoder.

    symbols: ids of the local models: 256 bytes; with a marker, 257 and the merges of the second BPE. marker: whether
    each patch ends with the marker (id 256), which the decoder predicts; without it, boundaries follow from the bytes.
    """

    symbols: int
    marker: bool
    latent: StackShape
    local: StackShape
    hash: HashShape | None = None

    def __post_init__(self) -> None:
        check_least("symbols", self.symbols, 257 if self.marker else 256)


@dataclass(frozen=True)
class ChunkShape:
    """One stage of H-Net's dynamic chunking (Hwang et al. 2025): byte encoder, router, latent Transformer over chunks,
    byte decoder.

    ratio: the mean number of bytes in a chunk that the ratio loss aims at. ratio_weight: weight of that loss.
    """

    latent: StackShape
    local: StackShape
    ratio: float = option("mean number of bytes in a chunk that the ratio loss aims at", 4.0, metavar="X")
    ratio_weight: float = option("weight of the ratio loss", 0.03, metavar="X")

    def __post_init__(self) -> None:
        if not self.ratio > 1:
            raise ParameterError(f"ratio is {self.ratio}; it must be above 1")
        check_least("ratio_weight", self.ratio_weight, 0)


Shape = TokenShape | PatchShape | ChunkShape


@dataclass(frozen=True)
class Computation:
    """How a network computes; its results differ by rounding only."""

    attention: Attention = option("implementation of attention", "sdpa")
    checkpoint_activations: bool = option(
        "keep only the states between blocks in training, and compute the rest again in the backward pass", False
    )

    def __post_init__(self) -> None:
        check_choice("attention", self.attention, Attention)


DEFAULT = Computation()
"""How networks compute unless something else is asked for."""

SMALL = StackShape(layers=12, width=768, heads=12, feed_forward=2048)
MEDIUM = StackShape(layers=24, width=1024, heads=16, feed_forward=2816)
LOCAL = StackShape(layers=3, width=512, heads=8, feed_forward=512)
"""Table 1 of the paper."""

SIZES: dict[str, tuple[StackShape, StackShape]] = {
    "tiny": (StackShape(2, 64, 2, 176), StackShape(1, 32, 2, 64)),
    "mini": (StackShape(3, 128, 4, 344), StackShape(1, 64, 4, 128)),
    "base": (StackShape(6, 384, 6, 1024), StackShape(2, 256, 4, 256)),
    "small": (SMALL, LOCAL),
    "medium": (MEDIUM, LOCAL),
}
"""Name -> latent (or only) and local stack. `small` and `medium` are those of Table 1."""
