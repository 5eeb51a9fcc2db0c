"""Streams in parts."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")


def in_batches(items: Iterable[Item], most: int, size: Callable[[Any], int] = len) -> Iterator[list[Item]]:
    """The items in lists, each ended by the item with which its size reaches `most`."""
    batch: list[Item] = []
    total = 0
    for item in items:
        batch.append(item)
        total += size(item)
        if total >= most:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch
