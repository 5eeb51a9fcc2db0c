"""Pairs of sentences as token ids, and batches of pairs of similar length.

A batch holds as many pairs as fit into a number of tokens, padding included. Pairs are shuffled, sorted by length
inside large pieces of the shuffled order, and cut into batches, whose order is shuffled again: sentences of one length
meet, in another company in each epoch, and little is padding.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.training.options import TrainingOptions

if TYPE_CHECKING:  # Texts are encoded without PyTorch, too.
    from torch import Tensor

    from tokenlab.training.loop import Update

IGNORED = -100
"""The target where nothing is predicted: behind the end of a sentence."""

_SORTED_AT_ONCE = 1 << 12
"""Pairs that are sorted by length together: enough for batches of one length, few enough for other batches in each
epoch."""


class Sentences(NamedTuple):
    """Sentences end to end, each ending with the end token; 4 bytes per token."""

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    """Offset of each sentence, and the end of the last; int64[sentences + 1]."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def sentence(self, number: int) -> NDArray[np.int32]:
        """The ids of one sentence."""
        return self.ids[self.starts[number] : self.starts[number + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each sentence, the end included."""
        return np.diff(self.starts)


class Pairs(NamedTuple):
    """Sentences and their translations, one for one."""

    source: Sentences
    target: Sentences
    padding: int
    """The id that fills up the rows of a batch, and the one that the decoder starts from."""

    def __len__(self) -> int:
        return len(self.source)


class Batch(NamedTuple):
    """Arrays int64[rows, tokens]; the rows of `source` and those of the others differ in length."""

    source: NDArray[np.int64]
    """Source ids, then padding."""
    decoder: NDArray[np.int64]
    """The padding id as start, then the target without its end."""
    target: NDArray[np.int64]
    """The next id, or IGNORED."""

    @property
    def tokens(self) -> int:
        """Tokens that are predicted."""
        return int((self.target != IGNORED).sum())

    def rows(self, rows: slice) -> "Batch":
        """Some of the pairs."""
        return Batch(*(part[rows] for part in self))


def sentences(encoded: Iterable[Sequence[int] | NDArray[np.int32]], end: int) -> Sentences:
    """Encoded sentences with the end token behind each."""
    arrays = [np.append(np.asarray(ids, np.int32), np.int32(end)) for ids in encoded]
    starts = np.cumsum([0, *map(len, arrays)], dtype=np.int64)
    return Sentences(np.concatenate(arrays) if arrays else np.empty(0, np.int32), starts)


def padded(rows: Sequence[NDArray[np.int32]], filling: int) -> NDArray[np.int64]:
    """Rows of ids filled up to the longest; int64[rows, longest]."""
    filled = np.full((len(rows), max(map(len, rows))), filling, dtype=np.int64)
    for row, ids in zip(filled, rows, strict=True):
        row[: len(ids)] = ids
    return filled


def shuffled_batches(pairs: Pairs, tokens: int, seed: int, skip: int = 0) -> Iterator[Batch]:
    """An endless stream of batches: all pairs in a random order, then all in another, as determined by the seed.

    The first `skip` batches are skipped without being built. Raises InputError for a pair longer than a batch.
    """
    numbers = islice(_shuffled_numbers(pairs, tokens, seed), skip, None)
    return (_batch(pairs, chosen) for chosen in numbers)


def epochs(pairs: Pairs, tokens: int, seed: int, updates: int) -> float:
    """Passes over the pairs in the first `updates` batches of `shuffled_batches`."""
    return sum(map(len, islice(_shuffled_numbers(pairs, tokens, seed), updates))) / len(pairs)


def ordered_batches(pairs: Pairs, tokens: int) -> Iterator[Batch]:
    """All pairs once, sorted by length. Raises InputError for a pair longer than a batch."""
    order = np.lexsort((pairs.source.lengths, pairs.target.lengths))
    return (_batch(pairs, chosen) for chosen in _cut(pairs, order, tokens))


def updates(pairs: Pairs, options: TrainingOptions, skip: int) -> "Iterator[Update[Batch]]":
    """What this process computes of `shuffled_batches`: one pair without targets where it has no pair of a batch."""
    from tokenlab.training import processes
    from tokenlab.training.loop import Update

    for batch in shuffled_batches(pairs, options.batch, options.seed, skip):
        slices = processes.own_parts(options.accumulate)
        parts = [part for rows in slices if len((part := batch.rows(rows)).source)]
        if not parts:
            one = batch.rows(slice(0, 1))
            parts = [one._replace(target=np.full_like(one.target, IGNORED))]
        yield Update(parts, sum(part.tokens for part in parts), batch.tokens)


def held_out(pairs: Pairs, options: TrainingOptions, nats_of: "Callable[[Batch], Tensor]") -> tuple[float, float]:
    """The nats and the tokens of this process's share of all pairs. nats_of: the loss of a batch, a scalar."""
    from tokenlab.training import processes

    nats, tokens = 0.0, 0
    for batch in islice(ordered_batches(pairs, options.batch), processes.rank(), None, processes.size()):
        nats += nats_of(batch).item()
        tokens += batch.tokens
    return nats, tokens


def _shuffled_numbers(pairs: Pairs, tokens: int, seed: int) -> Iterator[NDArray[np.int64]]:
    for epoch in count():
        generator = np.random.default_rng([seed, epoch])
        order = generator.permutation(len(pairs))
        batches: list[NDArray[np.int64]] = []
        for first in range(0, len(order), _SORTED_AT_ONCE):
            some = order[first : first + _SORTED_AT_ONCE]
            by_length = np.lexsort((pairs.source.lengths[some], pairs.target.lengths[some]))
            batches += _cut(pairs, some[by_length], tokens)
        for number in generator.permutation(len(batches)):
            yield batches[number]


def _cut(pairs: Pairs, order: NDArray[np.int64], tokens: int) -> list[NDArray[np.int64]]:
    """Consecutive pairs of an order, as many as fit into `tokens` with their padding."""
    found, first = [], 0
    longest = [0, 0]
    for place, number in enumerate(order.tolist()):
        lengths = [int(pairs.source.lengths[number]), int(pairs.target.lengths[number])]
        if sum(lengths) > tokens:
            raise InputError(f"a pair has {sum(lengths)} tokens, a batch {tokens}; raise batch or leave out long pairs")
        longest = [max(old, new) for old, new in zip(longest, lengths, strict=True)]
        if (place + 1 - first) * sum(longest) > tokens:
            found.append(order[first:place])
            first, longest = place, lengths
    return [*found, order[first:]] if len(order) else found


def _batch(pairs: Pairs, numbers: NDArray[np.int64]) -> Batch:
    targets = [pairs.target.sentence(number) for number in numbers]
    starts = np.full((len(numbers), 1), pairs.padding, dtype=np.int64)
    target = padded(targets, IGNORED)
    decoder = np.concatenate((starts, np.where(target == IGNORED, pairs.padding, target)[:, :-1]), axis=1)
    return Batch(padded([pairs.source.sentence(number) for number in numbers], pairs.padding), decoder, target)
