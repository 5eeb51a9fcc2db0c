"""The cost of a network of a given shape: operations of a forward pass, as built and by the paper's formula, and of
training for each byte, so that networks of different kinds can be trained with equal compute.

The unit of text is a passage of `context` bytes, since nothing in a network crosses from one passage to another.
Attention grows with the square of a passage, so passages of several sizes cost as much as passages of the size
sum(size^2) / sum(size), the mean over bytes.
"""

from tokenlab.core.errors import ParameterError
from tokenlab.metrics.flops import (
    TRAINING,
    Flops,
    check_above_zero,
    chunk_flops,
    paper_flops,
    paper_token_flops,
    patch_flops,
    token_flops,
)
from tokenlab.networks.options import ChunkShape, PatchShape, Shape, StackShape, TokenShape

BYTES = 256
"""Symbols of a network over bytes."""


def forward_flops(
    shape: Shape, context: float, symbols: float = 1.0, patches: float = 1.0, padded: float | None = None
) -> Flops:
    """Operations of a forward pass over a passage of `context` bytes, as built.

    Args:
        shape: of the network.
        context: bytes of the passage.
        symbols: symbols for each byte: tokens of a TokenShape, symbols with the markers of a PatchShape; a ChunkShape
            has one.
        patches: patches, or chunks, for each byte; a TokenShape has none.
        padded: symbols to which all patches are filled up, for a computation without packing.

    Raises ParameterError for impossible numbers.
    """
    check_above_zero(context=context, symbols=symbols, patches=patches)
    if isinstance(shape, TokenShape):
        return token_flops(shape.stack, shape.vocabulary, context * symbols)
    if isinstance(shape, PatchShape):
        length = symbols / patches
        return patch_flops(shape.latent, shape.local, shape.symbols, context * patches, length, padded)
    return chunk_flops(shape.latent, shape.local, BYTES, context, context * patches)


def training_flops_per_byte(shape: Shape, context: float, symbols: float = 1.0, patches: float = 1.0) -> float:
    """Operations of training for each byte of text, as built: forward and backward pass, packed.

    Args:
        shape: of the network.
        context: mean size in bytes of the passages, over bytes: sum(size^2) / sum(size).
        symbols: as in `forward_flops`.
        patches: as in `forward_flops`; of a ChunkShape before training, 1 / ratio.
    """
    return TRAINING * forward_flops(shape, context, symbols, patches).total / context


def published_flops(shape: Shape, context: float, length: float = 1.0) -> Flops:
    """Operations of a forward pass over `context` bytes by the paper's formula (equations 10-12).

    Args:
        shape: TokenShape or PatchShape.
        context: bytes; 8,192 in the paper.
        length: the paper's p: mean length of a token or patch.

    Raises ParameterError for a ChunkShape, of which the paper has none.
    """
    if isinstance(shape, ChunkShape):
        raise ParameterError("the paper's formula has no learned chunks")
    if isinstance(shape, PatchShape):
        return paper_flops(shape.latent, shape.local, shape.symbols, context, length)
    return paper_token_flops(shape.stack, shape.vocabulary, context / length)


def parameter_count(shape: Shape) -> int:
    """Trained numbers of a network; the output matrix is the embedding table and counts once."""
    if isinstance(shape, TokenShape):
        width = shape.stack.width
        return shape.vocabulary * width + width + _stack_parameters(shape.stack)  # width: the start vector
    latent, local = shape.latent, shape.local
    stacks = _stack_parameters(latent) + 2 * _stack_parameters(local)
    joints = 2 * latent.width * local.width
    if isinstance(shape, PatchShape):
        rows = shape.symbols + (shape.hash.rows if shape.hash else 0)
        return rows * local.width + latent.width + joints + stacks
    # The start vector; queries and keys of the router, the residual.
    return BYTES * local.width + local.width + joints + stacks + 3 * local.width**2


def _stack_parameters(stack: StackShape) -> int:
    """Blocks and the norm after the last one."""
    width = stack.width
    block = 4 * width**2 + 3 * width * stack.feed_forward + 2 * width
    return stack.layers * block + width
