"""Sentences as token ids, and batches of them: rows of `context` tokens, each holding several whole sentences.

In training as in scoring, a sentence stands alone after the start token: inside a row its positions begin at 0, and
attention stays inside it (transformers derives this from the positions). Unlike in a stream of text cut into rows, no
sentence is split between rows, and none attends to its neighbour. Best-fit packing leaves 1-2 % of the rows empty where
sentences are much shorter than rows.

A sentence longer than `context` - 1 tokens is cut into pieces of that length, each after its own start token.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.tokenizers.alphabet import START_ID, Alphabet

IGNORED = -100
"""The target where nothing is predicted: at the end of a sentence and in the empty end of a row."""

_TEXTS_AT_ONCE = 1 << 10
_PACKED_AT_ONCE = 1 << 13  # Sentences: enough to fill rows to 98-99 %, few enough to stay a small part of a corpus.


class Sequences(NamedTuple):
    """Sentences, or pieces of long ones, end to end; each begins with the start token. 4 bytes per token."""

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    """Offset of each sequence, and the end of the last; int64[sequences + 1]."""

    def __len__(self) -> int:
        return len(self.starts) - 1


class Batch(NamedTuple):
    """Arrays int64[rows, context]."""

    ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    targets: NDArray[np.int64]
    """The next id, or IGNORED."""

    @property
    def tokens(self) -> int:
        """Tokens that are predicted."""
        return int((self.targets != IGNORED).sum())

    def rows(self, rows: slice) -> "Batch":
        """Some of the rows."""
        return Batch(*(part[rows] for part in self))


def encode(alphabet: Alphabet, texts: Iterable[str], context: int) -> Sequences:
    """The ids of texts, read as a stream, in sequences of at most `context` tokens. Empty texts are skipped."""
    ids, starts = array("i"), array("q", [0])
    remaining = iter(texts)
    while some := list(islice(remaining, _TEXTS_AT_ONCE)):
        for encoding in alphabet.tokenizer.encode_batch_fast(some, add_special_tokens=False):
            text_ids = encoding.ids
            for begin in range(0, len(text_ids), context - 1):
                ids.append(START_ID)
                ids.extend(text_ids[begin : begin + context - 1])
                starts.append(len(ids))
    return Sequences(np.array(ids, np.int32), np.array(starts, np.int64))


def shuffled_batches(sequences: Sequences, context: int, rows: int, seed: int, skip: int = 0) -> Iterator[Batch]:
    """An endless stream of batches: all sequences in a random order, then all in another, as determined by the seed.

    The first `skip` batches are skipped without being built (packing takes about 2 µs per sentence).
    """
    packed = islice(_shuffled_rows(sequences, context, seed), skip * rows, None)
    while True:
        yield _batch(sequences, list(islice(packed, rows)), context)


def ordered_batches(sequences: Sequences, context: int, rows: int) -> Iterator[Batch]:
    """All sequences once, in order; the last batch may have fewer rows."""
    packed = _packed_rows(sequences, np.arange(len(sequences)), context)
    while some := list(islice(packed, rows)):
        yield _batch(sequences, some, context)


def _shuffled_rows(sequences: Sequences, context: int, seed: int) -> Iterator[list[int]]:
    for epoch in count():
        order = np.random.default_rng([seed, epoch]).permutation(len(sequences))
        yield from _packed_rows(sequences, order, context)


def _packed_rows(sequences: Sequences, order: NDArray[np.int64], context: int) -> Iterator[list[int]]:
    """Rows as lists of sequence numbers, by best fit: each sequence goes into the fullest row that can hold it."""
    for first in range(0, len(order), _PACKED_AT_ONCE):
        some = order[first : first + _PACKED_AT_ONCE]
        lengths = sequences.starts[some + 1] - sequences.starts[some]
        rows: list[list[int]] = []
        with_room: dict[int, list[list[int]]] = defaultdict(list)
        rooms = 0  # Bit r is set where some open row has room for r more tokens.
        for number, length in zip(some.tolist(), lengths.tolist(), strict=True):
            if enough := rooms >> length:
                room = length + (enough & -enough).bit_length() - 1
                row = with_room[room].pop()
                if not with_room[room]:
                    rooms ^= 1 << room
            else:
                room, row = context, []
                rows.append(row)
            row.append(number)
            with_room[room - length].append(row)
            rooms |= 1 << (room - length)
        yield from rows


def _batch(sequences: Sequences, rows: list[list[int]], context: int) -> Batch:
    ids = np.full((len(rows), context), START_ID, dtype=np.int64)
    positions = np.zeros_like(ids)  # In the empty end of a row, sequences of one token each.
    targets = np.full_like(ids, IGNORED)
    for row, numbers in enumerate(rows):
        begin = 0
        for number in numbers:
            sequence = sequences.ids[sequences.starts[number] : sequences.starts[number + 1]]
            end = begin + len(sequence)
            ids[row, begin:end] = sequence
            positions[row, begin:end] = np.arange(len(sequence))
            targets[row, begin : end - 1] = sequence[1:]
            begin = end
    return Batch(ids, positions, targets)
