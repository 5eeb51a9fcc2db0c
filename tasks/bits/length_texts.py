"""The texts of a corpus, read as a stream as often as they are needed, and their size."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tokenlab.text.store import corpus_batches

_BATCH = 1 << 18
"""Characters of a batch, unless a single text has more: a few MB as symbols."""


class Texts:
    """The texts of a corpus. Every iteration reads them anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __iter__(self) -> Iterator[str]:
        for batch in corpus_batches(self._folder, ["text"]):
            yield from batch.column(0).to_pylist()

    def batches(self) -> Iterator[list[str]]:
        """The texts in lists of at least 262,144 characters; the last may have fewer."""
        batch: list[str] = []
        characters = 0
        for text in self:
            batch.append(text)
            characters += len(text)
            if characters >= _BATCH:
                yield batch
                batch, characters = [], 0
        if batch:
            yield batch

    def contents(self) -> "Contents":
        """How many texts there are, and how often each character occurs in them."""
        number = 0
        characters: Counter[str] = Counter()
        for batch in self.batches():
            number += len(batch)
            characters.update("".join(batch))
        return Contents(number, characters)


class Contents(NamedTuple):
    """What texts consist of."""

    texts: int
    frequencies: Counter[str]
    """Character -> how often it occurs."""

    @property
    def characters(self) -> int:
        """The number of characters."""
        return self.frequencies.total()

    @property
    def bytes(self) -> int:
        """The number of bytes in UTF-8."""
        return sum(count * len(character.encode()) for character, count in self.frequencies.items())

    def most_frequent(self, number: int) -> str:
        """The `number` most frequent characters, or all; of equally frequent ones those of lower code point."""
        ranked = sorted(self.frequencies, key=lambda character: (-self.frequencies[character], character))
        return "".join(ranked[:number])
