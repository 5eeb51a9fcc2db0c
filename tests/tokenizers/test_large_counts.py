"""Counts of pairs beyond 2^31, 2^32 and 2^53 (where int32, uint32 and float64 go wrong) stay exact in the BPE kernels.

The counts come from weights, or are put into the table and the heap directly.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_sequences import flat

from tokenlab.core.errors import InputError
from tokenlab.tokenizers import bpe_sweep, merges, tokenize
from tokenlab.tokenizers.bpe_kernels import _index_pairs, _merge, lay_out
from tokenlab.tokenizers.pairs_kernels import (
    add_list,
    find,
    find_or_add,
    heap_with_room,
    no_heap,
    no_pairs,
    pair_key,
    pop_best,
    push,
    with_room,
)
from tokenlab.tokenizers.unigram import LARGEST_TOTAL, unigram_sweep

MORE = 2**33 + 1  # in float64 the sum of this and 2^53 is rounded
large_counts = st.builds(
    lambda power, difference: 2**power + difference, st.sampled_from([31, 32, 53, 62]), st.integers(-2, 2)
)
ids = st.integers(0, 3) | st.integers(2**31 - 3, 2**31 - 1)


@settings(max_examples=300)
@given(
    st.dictionaries(st.tuples(ids, ids), large_counts | st.integers(1, 3), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 29), st.integers(1, 2**32 + 1)), max_size=30),
)
def test_the_heap_gives_the_exact_maximum_and_the_smallest_pair_of_a_tie(counts, losses):
    """Between two merges a pair may lose occurrences, any number of them."""
    pairs, heap = no_pairs(), heap_with_room(no_heap(), len(counts))
    for pair, count in counts.items():
        key = pair_key(*pair)
        pairs.counts[find_or_add(pairs, key)] = count
        push(heap, count, key)
    left, numbered = dict(counts), list(counts)
    while (row := pop_best(heap, pairs)) >= 0:
        key = int(pairs.keys[row])
        pair = key >> 32, key & 0xFFFFFFFF
        assert pair == min(left, key=lambda other: (-left[other], other))
        assert pairs.counts[row] == left.pop(pair)
        pairs.counts[row] = 0
        while losses:
            number, loss = losses.pop()
            loser = numbered[number % len(numbered)]
            if loser in left:
                left[loser] = max(left[loser] - loss, 0)
                pairs.counts[find(pairs, pair_key(*loser))] = left[loser]
                if not left[loser]:
                    del left[loser]
                break
    assert not left


@pytest.mark.parametrize("more", [2**31, 2**32, MORE, 2**53 + 1])
def test_a_merge_subtracts_exactly(more):
    """As if every pair had `more` occurrences in another text: one merge changes all counts as without them."""
    random = np.random.default_rng(5)
    sequences = [random.integers(0, 3, size).tolist() for size in (40, 7, 1, 300)]
    merged = [_counts_after_a_merge(sequences, occurrences) for occurrences in (0, more)]
    assert merged[0].keys() == merged[1].keys()
    for pair, count in merged[0].items():
        known = pair != (0, 1) and max(pair) < 3
        assert merged[1][pair] == count + known * more


def _counts_after_a_merge(sequences, more):
    """Counts of all pairs after the merge of 0 and 1 into 3."""
    cells, starts = lay_out(*flat(sequences), np.empty(0, np.int32))
    once, owners = np.empty(0, np.int64), np.empty(0, np.int32)
    pairs, pool, used = _index_pairs(cells, starts, once, owners)
    pairs.counts[: pairs.size[0]] += more
    widths = np.array([1, 1, 1, 2], np.int64)
    before, after, kept = np.zeros((2, 5), np.int64), np.zeros((2, 5), np.int64), np.empty(used, np.int32)
    row = find(pairs, pair_key(0, 1))
    pairs, _, _ = _merge(cells, once, owners, widths, pairs, pool, used, row, 3, before, after, kept)
    return {(int(key) >> 32, int(key) & 0xFFFFFFFF): int(pairs.counts[row]) for key, row in _rows(pairs)}


def _rows(pairs):
    return [(pairs.keys[row], row) for row in range(pairs.size[0])]


def test_a_growing_table_keeps_large_counts_and_places():
    pairs, end = no_pairs(), 2**32
    for number in range(3000):
        pairs = with_room(pairs, 1)
        end = add_list(pairs, pair_key(number, number + 1), end, 2**51 + number, 2**51 + number)
    assert end == 2**32 + 3000 * 2**51 + sum(range(3000))
    for number in range(3000):
        row = find(pairs, pair_key(number, number + 1))
        assert pairs.counts[row] == pairs.lengths[row] == 2**51 + number
        assert pairs.starts[row] == 2**32 + number * 2**51 + sum(range(number))


def test_positions_of_long_text_are_int64(monkeypatch):
    """From 2^31 cells on, which here are few."""
    random = np.random.default_rng(7)
    sequences = flat([random.integers(0, 4, size).tolist() for size in (400, 70, 1, 0, 300)])
    weights = random.integers(1, 2**40, 5)
    short = (
        bpe_sweep(*sequences, 4, range(4, 90), weights),
        tokenize(*sequences, 4, bpe_sweep(*sequences, 4, [90]).merges),
    )
    monkeypatch.setattr(merges, "_SHORT", 0)
    assert merges._cells(*sequences)[1].dtype == np.int64
    long = (
        bpe_sweep(*sequences, 4, range(4, 90), weights),
        tokenize(*sequences, 4, bpe_sweep(*sequences, 4, [90]).merges),
    )
    for one, other in zip(short, long, strict=True):
        assert all(np.array_equal(*pair) for pair in zip(one, other, strict=True))


def test_a_unigram_text_with_too_many_places_is_refused():
    """The symbols here take no memory."""
    symbols = np.broadcast_to(np.int32(0), LARGEST_TOTAL)
    with pytest.raises(InputError, match="too many at once"):
        unigram_sweep(symbols, np.array([0, LARGEST_TOTAL]), 1, [2])


def test_a_pair_may_occur_three_times_2_31_times():
    """As int32, 3 x 2^31 is negative, as uint32 2^31; both would put the pair 0 0 behind 1 1."""
    sequences, weights = flat([[0, 0], [1, 1], [0, 0, 2]]), np.array([2**32, 2**32 + 1, 2**31])
    sweep = bpe_sweep(*sequences, 3, [3, 4, 5, 6], weights)
    assert sweep.merges.tolist() == [[0, 0], [1, 1], [3, 2]]
    merged = [3 * 2**31, 2**32 + 1, 2**31]
    symbols = 2 * 2**32 + 2 * (2**32 + 1) + 3 * 2**31
    assert sweep.tokens.tolist() == [symbols - sum(merged[:done]) for done in range(4)]
