"""Operations of Transformers: Table 2 of the paper, and a count of every single product."""

import pytest

from tokenlab.core.errors import ParameterError
from tokenlab.metrics.flops import (
    BUILT,
    PAPER,
    break_even_vocabulary,
    chunk_flops,
    paper_flops,
    paper_token_flops,
    patch_flops,
    token_flops,
    transformer_flops,
)
from tokenlab.networks.cost import BYTES, forward_flops, published_flops, training_flops_per_byte
from tokenlab.networks.options import LOCAL, SMALL, ChunkShape, PatchShape, StackShape, TokenShape

Y = 8192
NARROW = StackShape(3, 512, 8, 384)
STACK = StackShape(layers=2, width=8, heads=2, feed_forward=12)
TINY = StackShape(layers=1, width=4, heads=1, feed_forward=6)


def giga(flops):
    return flops.total / 1e9


@pytest.mark.parametrize(
    "length, symbols, fitted, wide, printed",
    [
        (4.49, 256, 509.5, 522.4, 509),  # entropy, unbounded
        (3.45, 256, 668.2, 681.1, 668),
        (4.29, 256, 532.6, 545.5, 534),  # space
        (4.13, 497, 555.1, 568.0, 554),  # BPE
    ],
)
def test_patch_models_of_table_2(length, symbols, fitted, wide, printed):
    narrow = giga(paper_flops(SMALL, NARROW, symbols, Y, length))
    assert round(narrow, 1) == fitted
    assert narrow == pytest.approx(printed, rel=0.003)
    assert round(giga(paper_flops(SMALL, LOCAL, symbols, Y, length)), 1) == wide


def test_models_without_patches_of_table_2():
    assert round(giga(paper_token_flops(SMALL, 50_000, Y / 4.125)), 1) == 562.0
    assert round(giga(paper_token_flops(SMALL, 50_000, Y))) == 4214
    assert round(giga(paper_token_flops(SMALL, 256, Y))) == 3588


def test_the_true_cost_without_projections_between_the_stacks():
    """The figures of the method's account: 564 for BPE, 596 packed, 860 padded; equal at 60k and 147k tokens."""
    patches = Y / 4.125
    assert round(giga(token_flops(SMALL, 50_257, patches))) == 564
    for padded, cost, tokens in ((None, 596, 60.7e3), (10, 860, 147.1e3)):
        flops = patch_flops(SMALL, LOCAL, 497, patches, 4.13, padded)
        assert round((flops.total - flops.joints) / 1e9) == cost
        assert break_even_vocabulary(SMALL, flops.total - flops.joints, patches) == pytest.approx(tokens, abs=50)
        assert flops.joints == 2 * patches * 2 * 512 * 768


def products(stack, length, causal, matrices):
    """Operations of one sequence, product by product."""
    d, f, heads = stack.width, stack.feed_forward, stack.heads
    total = 0
    for _ in range(stack.layers):
        for position in range(length):
            total += 4 * d * (2 * d)  # queries, keys, values, output
            total += sum(2 * d * f for _ in range(matrices))
            seen = range(position + 1 if causal else length)
            for _ in range(heads):
                total += sum(2 * (d // heads) for _ in seen)  # scores
                total += sum(3 for _ in seen)  # softmax
                total += sum(2 * (d // heads) for _ in seen)  # weighted sum
    return total


@pytest.mark.parametrize("length", [1, 2, 7])
def test_every_product_of_a_stack(length):
    assert transformer_flops(STACK, length, PAPER) == products(STACK, length, causal=False, matrices=2)
    assert transformer_flops(STACK, length, BUILT) == products(STACK, length, causal=True, matrices=3)
    assert transformer_flops(STACK, length) == transformer_flops(STACK, length, BUILT)


def test_the_parts_of_a_model_over_patches():
    flops = patch_flops(STACK, TINY, symbols=300, patches=5, length=3)
    assert flops.latent == products(STACK, 5, True, 3)
    assert flops.local == 2 * 5 * products(TINY, 3, True, 3)
    assert flops.joints == 5 * 2 * (2 * 4 * 8)
    assert flops.output == 15 * 2 * 4 * 300
    assert flops.total == sum(flops)


def test_the_parts_of_a_model_over_chunks():
    flops = chunk_flops(STACK, TINY, 256, size=12, chunks=3)
    assert flops.latent == products(STACK, 3, True, 3)
    assert flops.local == 2 * products(TINY, 12, True, 3)
    assert flops.joints == 12 * 3 * 2 * 4 * 4 + 3 * 2 * (2 * 4 * 8)
    assert flops.output == 12 * 2 * 4 * 256


def test_break_even_is_where_costs_are_equal():
    cost = patch_flops(SMALL, LOCAL, 497, 100, 4.13, 10).total
    vocabulary = break_even_vocabulary(SMALL, cost, 100)
    assert token_flops(SMALL, round(vocabulary), 100).total == pytest.approx(cost, rel=1e-4)
    assert break_even_vocabulary(SMALL, 0, 100) == 0


def test_shapes_choose_their_count():
    token, patch, chunk = TokenShape(1000, STACK), PatchShape(300, True, STACK, TINY), ChunkShape(STACK, TINY)
    assert forward_flops(token, 60, symbols=0.25) == token_flops(STACK, 1000, 15)
    assert forward_flops(patch, 60, symbols=1.25, patches=0.25) == patch_flops(STACK, TINY, 300, 15, 5)
    assert forward_flops(patch, 60, 1.25, 0.25, padded=6) == patch_flops(STACK, TINY, 300, 15, 5, 6)
    assert forward_flops(chunk, 60, patches=0.2) == chunk_flops(STACK, TINY, BYTES, 60, 12)
    assert published_flops(token, 60, 4) == paper_token_flops(STACK, 1000, 15)
    assert published_flops(patch, 60, 4) == paper_flops(STACK, TINY, 300, 60, 4)


def test_pieces_of_several_sizes_cost_as_much_as_pieces_of_their_mean_over_bytes():
    shape, sizes = TokenShape(1000, STACK), [10, 20, 60, 7]
    mean = sum(size**2 for size in sizes) / sum(sizes)
    expected = sum(3 * forward_flops(shape, size).total for size in sizes) / sum(sizes)
    assert training_flops_per_byte(shape, mean) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: transformer_flops(STACK, -1), "length is -1"),
        (lambda: paper_flops(STACK, TINY, 256, 60, 0), "length is 0"),
        (lambda: patch_flops(STACK, TINY, 300, 5, 4, padded=3), "padded is 3"),
        (lambda: forward_flops(TokenShape(9, STACK), 9, patches=-1), "patches is -1"),
        (lambda: published_flops(ChunkShape(STACK, TINY), 9), "learned chunks"),
    ],
)
def test_impossible_numbers(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
