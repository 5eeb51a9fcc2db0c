"""Packed rows hold every sentence once and whole."""

from collections import Counter
from itertools import islice, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tokenlab.entropy import encode
from tokenlab.entropy.packing import IGNORED, ordered_batches, shuffled_batches
from tokenlab.tokenizers import AlphabetOptions, learn_alphabet

BYTES = learn_alphabet([], AlphabetOptions("byte"))


def pieces(batch):
    """The sentences of a batch as (ids, targets), read off positions and targets alone."""
    for ids, positions, targets in zip(*batch, strict=True):
        begins = [*np.flatnonzero(positions == 0), len(ids)]
        for begin, end in pairwise(begins):
            assert positions[begin:end].tolist() == list(range(end - begin))
            if end - begin > 1:
                yield tuple(ids[begin:end].tolist()), tuple(targets[begin:end].tolist())
            else:
                assert (ids[begin], targets[begin]) == (0, IGNORED)


def expected(texts, context):
    """The ids of each piece: the start token and at most context - 1 bytes."""
    for text in map(str.encode, texts):
        for begin in range(0, len(text), context - 1):
            yield (0, *(byte + 1 for byte in text[begin : begin + context - 1]))


@given(st.lists(st.text("abc好", max_size=40), max_size=60), st.integers(2, 30), st.integers(1, 5))
def test_every_sentence_once_and_whole(texts, context, rows):
    sequences = encode(BYTES, texts, context)
    found = [piece for batch in ordered_batches(sequences, context, rows) for piece in pieces(batch)]
    assert Counter(ids for ids, _ in found) == Counter(expected(texts, context))
    assert all(targets == (*ids[1:], IGNORED) for ids, targets in found)


def test_epochs_are_whole_and_differ():
    texts = [f"{number:03}" for number in range(40)]
    sequences = encode(BYTES, texts, 4)  # One sentence a row.
    ids = [ids for batch in islice(shuffled_batches(sequences, 4, 10, seed=1), 8) for ids, _ in pieces(batch)]
    assert Counter(ids[:40]) == Counter(ids[40:]) == Counter(expected(texts, 4))
    assert ids[:40] != ids[40:]


def test_skipping_gives_the_later_batches():
    sequences = encode(BYTES, [f"{'x' * (number % 7)}{number}" for number in range(50)], 12)
    whole = list(islice(shuffled_batches(sequences, 12, 3, seed=5), 20))
    for skip in (0, 1, 9, 19):
        later = next(shuffled_batches(sequences, 12, 3, seed=5, skip=skip))
        assert all(np.array_equal(a, b) for a, b in zip(later, whole[skip], strict=True))


def test_rows_are_full():
    lengths = np.random.default_rng(0).gamma(2, 20, size=8000).astype(int).clip(1, 127)
    sequences = encode(BYTES, ["x" * length for length in lengths], 128)
    (batch,) = ordered_batches(sequences, 128, 10**6)
    assert len(sequences.ids) / batch.ids.size > 0.98
