"""Counts of pairs beyond 2^31, 2^32 and 2^53 (where int32, uint32 and float64 go wrong) stay exact in the BPE kernels.

They are put into the table and the heap directly; counts from weights are in test_merges.py.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_sequences import flat

from tokenlab.core.errors import InputError
from tokenlab.tokenizers import bpe_sweep, merges, tokenize
from tokenlab.tokenizers.pairs_kernels import (
    find,
    find_or_add,
    heap_with_room,
    no_heap,
    no_pairs,
    pair_key,
    pop_best,
    push,
)
from tokenlab.tokenizers.unigram import LARGEST_TOTAL, unigram_sweep

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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_unigram_text_with_too_many_places_is_refused():
    """The symbols here take no memory."""
    symbols = np.broadcast_to(np.int32(0), LARGEST_TOTAL)
    with pytest.raises(InputError, match="too many at once"):
        unigram_sweep(symbols, np.array([0, LARGEST_TOTAL]), 1, [2])
