"""Pairs in batches: every pair once in an epoch, little padding, and the order of the seed."""

from itertools import islice

import numpy as np
import pytest

from tokenlab.core.errors import InputError
from tokenlab.translation.pairs import IGNORED, Pairs, epochs, ordered_batches, sentences, shuffled_batches

END, PADDING = 2, 3


def pairs(number, longest=12):
    random = np.random.default_rng(0)
    source, target = ([random.integers(4, 99, random.integers(0, longest)) for _ in range(number)] for _ in range(2))
    return Pairs(sentences(source, END), sentences(target, END), PADDING)


def rows(batch):
    """The pairs of a batch, and that its decoder gets the target shifted."""
    for source, decoder, target in zip(*batch, strict=True):
        real = target[target != IGNORED]
        assert decoder[0] == PADDING and decoder[1 : len(real)].tolist() == real[:-1].tolist()
        assert set(decoder[len(real) :].tolist()) <= {END, PADDING}
        yield tuple(source[source != PADDING].tolist()), tuple(real.tolist())


def every(some):
    numbers = range(len(some))
    return sorted((tuple(some.source.sentence(n).tolist()), tuple(some.target.sentence(n).tolist())) for n in numbers)


def test_sentences_end_with_the_end():
    found = sentences([[5, 6], [], np.array([7], np.int32)], END)
    assert found.ids.tolist() == [5, 6, END, END, 7, END] and found.starts.tolist() == [0, 3, 4, 6]
    assert found.sentence(1).tolist() == [END] and found.lengths.tolist() == [3, 1, 2] and len(found) == 3


def test_an_epoch_has_every_pair_once():
    some = pairs(300)
    batches = shuffled_batches(some, 120, seed=5)
    passes: list[list] = []
    updates = 0
    for _ in range(2):
        assert epochs(some, 120, 5, updates) == len(passes)
        found, order = [], []
        while len(found) < len(some):
            batch = next(batches)
            assert batch.source.size + batch.target.size <= 120
            found += rows(batch)
            order.append(batch.target.shape)
        updates += len(order)
        assert sorted(found) == every(some)
        passes.append(found)
    assert passes[0] != passes[1] and epochs(some, 120, 5, updates) == 2


def test_pairs_of_one_length_meet():
    some = pairs(2000, longest=40)
    sizes = [(batch.tokens, batch.target.size) for batch in islice(shuffled_batches(some, 1000, seed=0), 60)]
    assert sum(tokens for tokens, _ in sizes) / sum(size for _, size in sizes) > 0.93


def test_skipped_batches_are_those_that_came_first():
    some = pairs(100)
    first, second = (list(islice(shuffled_batches(some, 90, 1, skip), 40 - skip)) for skip in (0, 17))
    assert all(
        np.array_equal(a, b)
        for one, other in zip(first[17:], second, strict=True)
        for a, b in zip(one, other, strict=True)
    )


def test_evaluation_has_every_pair_once_sorted_by_length():
    some = pairs(50)
    found = [pair for batch in ordered_batches(some, 60) for pair in rows(batch)]
    assert sorted(found) == every(some)
    lengths = [len(target) for _, target in found]
    assert lengths == sorted(lengths)


def test_a_pair_longer_than_a_batch_is_an_error():
    with pytest.raises(InputError, match=r"a pair has \d+ tokens, a batch 10"):
        next(shuffled_batches(pairs(50), 10, 0))
