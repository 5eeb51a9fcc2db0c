"""Floating-point operations of Transformers, by the paper's formula and as built.

`transformer_flops` is Hoffmann et al. (2022, "Training Compute-Optimal Large Language Models"), appendix F: the
operations are multiplications and additions of matrix products, and three steps of the softmax for each pair of
positions; norms, activations, rotary positions and embeddings (look-ups, those of hashed n-grams too) count 0. Two
conventions fill in what it leaves open:

- PAPER, the one that gives Table 2 of "From Characters to Tokens" (Dolga et al. 2025): two matrices in a feed-forward
  layer, and attention of every position to all positions;
- BUILT, the networks of this library: three matrices (SwiGLU), and attention of position i to the positions 1..i.

`paper_flops` is the paper's equations 10-12; `token_flops`, `patch_flops` and `chunk_flops` count the networks as
built, for one piece of text. All results are of one forward pass; training costs three times as much (`TRAINING`).
"""

from typing import NamedTuple, Protocol

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_least

TRAINING = 3
"""Forward passes that one step of training costs: the backward pass costs two."""


class Stack(Protocol):
    """The size of a stack of Transformer blocks, for example `tokenlab.networks.options.StackShape`."""

    @property
    def layers(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def heads(self) -> int: ...
    @property
    def feed_forward(self) -> int: ...


class Convention(NamedTuple):
    """What a count assumes about the blocks."""

    matrices: int
    """Matrices of a feed-forward layer."""
    causal: bool
    """Whether a position attends to itself and those before it only."""


PAPER = Convention(matrices=2, causal=False)
BUILT = Convention(matrices=3, causal=True)


class Flops(NamedTuple):
    """Operations of one forward pass by part of the network."""

    latent: float
    """The latent stack; of a network over tokens or bytes, its only one."""
    local: float = 0.0
    """Local encoder and decoder."""
    joints: float = 0.0
    """The projections between local and latent stack; of learned chunks, the router, the residual and the smoothing,
    too."""
    output: float = 0.0
    """The output matrix."""

    @property
    def total(self) -> float:
        """Their sum."""
        return self.latent + self.local + self.joints + self.output


def transformer_flops(stack: Stack, length: float, convention: Convention = BUILT) -> float:
    """Forward pass of a stack over one sequence, without embedding and output matrix.

    Args:
        stack: its size.
        length: positions in the sequence; a mean counts as if all sequences were that long.
        convention: PAPER or BUILT.

    Raises ParameterError for a negative length.
    """
    check_least("length", length, 0)
    width = stack.width
    pairs = length * (length + 1) / 2 if convention.causal else length**2
    projections = 2 * 4 * length * width**2
    attention = (2 * 2 * width + 3 * stack.heads) * pairs
    dense = 2 * convention.matrices * length * width * stack.feed_forward
    return stack.layers * (projections + attention + dense)


def output_flops(width: int, vocabulary: int, positions: float) -> float:
    """Product of hidden states and output matrix."""
    check_least("vocabulary", vocabulary, 0)
    check_least("positions", positions, 0)
    return 2 * positions * width * vocabulary


def paper_token_flops(stack: Stack, vocabulary: int, positions: float) -> Flops:
    """The paper's count of a network over tokens or characters.

    Table 2 has 562e9 for a vocabulary of 50,000 at 8192 / 4.125 positions, and 4,214e9 for characters at 8,192,
    also with 50,000 rows in the output matrix; with the 256 rows that a network over bytes needs, it is 3,588e9.
    """
    return Flops(transformer_flops(stack, positions, PAPER), output=output_flops(stack.width, vocabulary, positions))


def paper_flops(latent: Stack, local: Stack, symbols: int, size: float, length: float) -> Flops:
    """The paper's count of a model over patches, equations 10-12.

    T Tr(p, encoder) + T Tr(p, decoder, V') + Tr(T, latent) with T = Y / p; nothing for projections between the stacks.

    Args:
        latent: the latent stack.
        local: encoder, and decoder.
        symbols: V', rows of the output matrix: the paper's 256, or 497 with second-level BPE.
        size: Y, bytes of the text; 8,192 in Table 2.
        length: p, the mean length of a patch, which the paper uses both in bytes (for T) and in symbols (for the local
            stacks): 4.49, 3.45, 4.29 and 4.13 in Table 2. Its figures follow with local layers of 384, not with the 512
            of its Table 1.
    """
    check_above_zero(length=length)
    patches = size / length
    return Flops(
        transformer_flops(latent, patches, PAPER),
        2 * patches * transformer_flops(local, length, PAPER),
        output=output_flops(local.width, symbols, size),
    )


def token_flops(stack: Stack, vocabulary: int, positions: float) -> Flops:
    """A network over tokens or bytes, as built."""
    return Flops(transformer_flops(stack, positions), output=output_flops(stack.width, vocabulary, positions))


def patch_flops(
    latent: Stack, local: Stack, symbols: int, patches: float, length: float, padded: float | None = None
) -> Flops:
    """A model over patches, as built.

    Args:
        latent: the latent stack, over as many positions as there are patches.
        local: encoder, and decoder; both read and the decoder predicts all symbols of a patch.
        symbols: rows of the output matrix.
        patches: patches in the text.
        length: mean length of a patch in symbols, the marker included.
        padded: length to which a computation without packing fills all patches up; None for packed symbols.

    Raises ParameterError for `padded` below `length`.
    """
    if padded is not None and padded < length:
        raise ParameterError(f"padded is {padded:g}; it must be at least the mean length of a patch, {length:g}")
    positions = length if padded is None else padded
    return Flops(
        transformer_flops(latent, patches),
        2 * patches * transformer_flops(local, positions),
        2 * patches * _product(local.width, latent.width),
        output_flops(local.width, symbols, patches * positions),
    )


def chunk_flops(latent: Stack, local: Stack, symbols: int, size: float, chunks: float) -> Flops:
    """A model over learned chunks, as built: the local stacks attend over all bytes of the text.

    Args:
        latent: the latent stack, over chunks.
        local: encoder, and decoder, over bytes.
        symbols: rows of the output matrix, 256.
        size: bytes of the text.
        chunks: chunks in it.
    """
    router_and_residual = 3 * size * _product(local.width, local.width)
    return Flops(
        transformer_flops(latent, chunks),
        2 * transformer_flops(local, size),
        router_and_residual + 2 * chunks * _product(local.width, latent.width),
        output_flops(local.width, symbols, size),
    )


def break_even_vocabulary(latent: Stack, cost: float, positions: float) -> float:
    """The vocabulary at which a network of tokens costs as much as another network.

    Args:
        latent: the stack of the network of tokens.
        cost: of the other network, as built.
        positions: tokens in the same text.

    Returns:
        Rows of the output matrix; 0 where the stack alone costs more.
    """
    check_above_zero(positions=positions)
    return max(0.0, (cost - transformer_flops(latent, positions)) / output_flops(latent.width, 1, positions))


def _product(rows: int, columns: int) -> float:
    """One vector times a matrix."""
    return 2.0 * rows * columns


def check_above_zero(**counts: float) -> None:
    """Raises ParameterError for a number that is not above 0."""
    for name, count in counts.items():
        if not count > 0:
            raise ParameterError(f"{name} is {count}; it must be above 0")
