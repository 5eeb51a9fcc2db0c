"""Sequences packed end to end: their positions, and the blocks of similar lengths in which attention sees them.

Linear layers work on packed states [states, width]. Attention works on blocks [sequences, length, width] of sequences
of similar lengths, so that little is padded and no sequence sees another. The blocks are chosen so that their area is
smallest (`_blocks`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tokenlab.core.errors import InputError
from tokenlab.networks.interface import CodedPassage

_BLOCK_COST = 4096
"""Cost of one more block, in pairs of positions: launching its kernels takes about as long as that many pairs."""
_ROW = 32
"""Positions in a row that short sequences share: products of matrices as small as theirs take long to call."""
_ALIGNED = 8
"""Rows of blocks have a multiple of so many positions: softmax takes twice as long for others."""
_MASK_BLOCK = 128
"""States in a block of a mask for flex_attention, its own default."""
_CLASSES = 64
"""Lengths are rounded up to so many classes before blocks are chosen."""


class Block(NamedTuple):
    """Some rows of a layout, padded to the longest of them. A row is a sequence, or several short ones end to end."""

    rows: int
    length: int
    mask: Tensor | None
    """float32[rows, 1, length, length], 0 where a position sees another one, else -inf; None: all up to itself."""


@dataclass(eq=False)  # Not frozen: torch.compile looks at all fields of frozen ones, and compiles for each new value.
class Layout:
    """Sequences that are packed end to end."""

    positions: Tensor
    """int64[states]: position of each state in its sequence, from 0."""
    sequences: Tensor
    """int64[states]: number of each state's sequence."""
    offsets: Tensor
    """int64[sequences + 1]: where each sequence begins, and the number of states."""
    blocks: tuple[Block, ...]
    sources: Tensor | None
    """int64: the packed state at each position of all blocks end to end; 0 for padding. None: the packed states as they
    are, in one block."""
    places: Tensor | None
    """int64[states]: the position of each state in all blocks end to end, where there are `sources`."""
    longest: int

    def to(self, device: torch.device | str) -> Self:
        """The same layout on a device."""
        return on_device(self, device)

    @cached_property
    def block_mask(self) -> Any:
        """The mask of causal attention inside each sequence for flex_attention: a `BlockMask`, built once for all
        layers and all passes over the batch.

        Sequences stand end to end, so the blocks of keys that a block of queries sees are a range, known from the
        offsets. `create_block_mask` compares all pairs of states instead: 8 bytes for each, and much of a step.
        """
        from torch.nn.attention.flex_attention import BlockMask

        sequences, offsets, device = self.sequences, self.offsets, self.offsets.device
        count, size = len(sequences), _MASK_BLOCK
        blocks = -(-count // size)
        # The kernels for CPUs want a column for each block; those for GPUs read only the columns that count.
        columns = torch.arange(blocks if device.type == "cpu" else min(blocks, self.longest // size + 2), device=device)

        def inside(_row: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return (query >= key) & (sequences[query] == sequences[key])

        def ranges(first: Tensor, last: Tensor, own: Tensor | None = None) -> tuple[Tensor, Tensor]:
            """How many blocks from `first` up to `last` there are, with `own` behind them, and their numbers."""
            counts = (last - first)[:, None]
            numbers = first[:, None] + columns
            if own is not None:
                numbers = torch.where(columns == counts, own[:, None], numbers)
                counts = counts + 1
            numbers = numbers.clamp(max=blocks - 1)
            return counts[None, None, :, 0].int().contiguous(), numbers[None, None].int().contiguous()

        block = torch.arange(blocks, device=device)
        begins, ends = block * size, (block + 1) * size
        of_first, of_last = sequences[begins], sequences[(ends - 1).clamp(max=count - 1)]
        # Queries of a block see blocks of keys from `seen` on, and all keys of the blocks from `whole` to their own.
        seen = offsets[of_first] // size
        whole = torch.where(ends > count, block, torch.minimum(-(-offsets[of_last] // size), block))
        # Keys of a block are seen by blocks of queries before `end`, and by all queries of those after it, to `all_of`.
        end = -(-offsets[of_last + 1] // size)
        all_of = torch.maximum(offsets[of_first + 1] // size, block + 1)
        return BlockMask(
            (count, count),
            *ranges(seen, whole, block),
            *ranges(whole, block),
            *ranges(all_of, torch.maximum(end, all_of), block),
            *ranges(block + 1, all_of),
            BLOCK_SIZE=(size, size),
            mask_mod=inside,
        )


def on_device(data: Any, device: torch.device | str) -> Any:
    """A dataclass, tuple or tensor with all its tensors on a device."""
    moved: Any = data
    if isinstance(data, Tensor):
        moved = data.to(device, non_blocking=True)
    elif isinstance(data, tuple):
        parts = [on_device(part, device) for part in data]
        moved = type(data)(*parts) if hasattr(data, "_fields") else tuple(parts)
    elif hasattr(data, "__dataclass_fields__"):
        moved = replace(data, **{f.name: on_device(getattr(data, f.name), device) for f in fields(data)})
    return moved


def sequence_layout(lengths: NDArray[np.int64]) -> Layout:
    """The layout of sequences of these lengths (each at least 1), on the CPU."""
    lengths = np.asarray(lengths, np.int64)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    sequences = np.repeat(np.arange(len(lengths)), lengths)
    positions = np.arange(offsets[-1]) - offsets[sequences]
    firsts = _rows(lengths)
    blocks, sources, places = _blocks(offsets[firsts], np.diff(firsts), sequences)
    packed = [torch.from_numpy(part) for part in (positions, sequences, offsets)]
    return Layout(packed[0], packed[1], packed[2], blocks, sources, places, int(lengths.max()))


def _rows(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first sequence of each row, and the number of sequences. Sequences share a row of at most `_ROW` states."""
    firsts, room = [], 0
    for number, length in enumerate(lengths.tolist()):
        if length > room:
            firsts.append(number)
            room = _ROW
        room -= length
    return np.array([*firsts, len(lengths)])


def _blocks(
    offsets: NDArray[np.int64], counts: NDArray[np.int64], sequences: NDArray[np.int64]
) -> tuple[tuple[Block, ...], Tensor | None, Tensor | None]:
    """Blocks, sources and places of a layout whose rows begin at `offsets` (the number of states behind them) and have
    `counts` sequences."""
    lengths = np.diff(offsets)
    if (counts == 1).all() and (lengths == lengths[0]).all():
        return (Block(len(lengths), int(lengths[0]), None),), None, None
    tops = _tops(lengths)
    block_of = np.searchsorted(tops, lengths)
    places = np.empty(offsets[-1], np.int64)
    blocks, sources, taken = [], [], 0
    for number, top in enumerate(tops.tolist()):
        members = np.flatnonzero(block_of == number)
        source = offsets[members, None] + np.arange(top)
        inside = np.arange(top) < lengths[members, None]
        places[source[inside]] = taken + np.flatnonzero(inside)
        source = np.where(inside, source, 0)
        sources.append(source.ravel())
        taken += source.size
        mask = None
        if (counts[members] > 1).any():  # Padding sees itself, so that its weights are numbers.
            own = np.where(inside, sequences[source], -1)
            seen = (own[:, :, None] == own[:, None]) & np.tri(top, dtype=bool)
            mask = torch.from_numpy(np.where(seen, np.float32(0), np.float32(-np.inf))[:, None])
        blocks.append(Block(len(members), top, mask))
    return tuple(blocks), torch.from_numpy(np.concatenate(sources)), torch.from_numpy(places)


def _tops(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The lengths of the blocks, ascending: the partition of the lengths that makes the blocks' area, in pairs of
    positions, and `_BLOCK_COST` together smallest (dynamic programming over the distinct lengths)."""
    lengths = -(-lengths // _ALIGNED) * _ALIGNED
    values, counts = np.unique(lengths, return_counts=True)
    if len(values) > _CLASSES:
        values = np.unique(np.quantile(lengths, np.linspace(0, 1, _CLASSES + 1), method="higher"))
        counts = np.bincount(np.searchsorted(values, lengths), minlength=len(values))
    upto = np.concatenate(([0], np.cumsum(counts)))
    least = np.zeros(len(values) + 1)
    first = np.zeros(len(values), np.int64)
    for last, value in enumerate(values.tolist()):
        costs = least[: last + 1] + (upto[last + 1] - upto[: last + 1]) * value**2 + _BLOCK_COST
        first[last] = costs.argmin()
        least[last + 1] = costs[first[last]]
    tops, last = [], len(values) - 1
    while last >= 0:
        tops.append(values[last])
        last = int(first[last]) - 1
    return np.array(tops[::-1], np.int64)


def packed_passages(
    rows: Iterable[Sequence[CodedPassage]], symbols: int
) -> tuple[list[CodedPassage], NDArray[np.int64]]:
    """The passages of all rows that have symbols, and their ids end to end, int64[symbols].

    Raises InputError where there are no symbols, or ids below 0 or from `symbols` on.
    """
    passages = [passage for row in rows for passage in row if len(passage.ids)]
    if not passages:
        raise InputError("a batch has no symbols; leave empty passages out")
    ids = np.concatenate([passage.ids for passage in passages]).astype(np.int64)
    least, most = int(ids.min()), int(ids.max())
    if least < 0 or most >= symbols:
        wrong = least if least < 0 else most
        raise InputError(f"a passage has the id {wrong}; this network knows the ids 0 to {symbols - 1}")
    return passages, ids
