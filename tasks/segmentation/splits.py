"""The splits of a corpus: training and test sentences of every seed, validation sentences, and all the others.

A table of results is made twice: with statistics and BPE from the training sentences of each seed (`subset`), and from
all sentences of the corpus that are not held out (`full`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import ConfigDict, Field, model_validator

from tasks.runtime.stage import Parameters
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.text.documents import Document
from tokenlab.text.splits import Split, draw_splits
from tokenlab.text.store import read_corpus

Training = Literal["subset", "full"]
TRAININGS: tuple[Training, ...] = get_args(Training)


class SplitSizes(Parameters):
    """Sizes of the splits: the sentences drawn for each seed, the share of them used for training (the others are for
    test), and the number of validation sentences, which all seeds share."""

    sentences: int = Field(ge=2, le=10**9)
    train: float = Field(gt=0, lt=1)
    validation: int = Field(ge=0, le=10**9)


class Splitting(Parameters):
    """The parameters of the splits: a part of the section `segmentation`."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    seeds: list[int]
    split: SplitSizes

    @property
    def columns(self) -> dict[str, Any]:
        """The sizes as parameters of a row."""
        return {f"split.{name}": value for name, value in self.split.model_dump().items()}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.seeds or min(self.seeds) < 0 or len(set(self.seeds)) < len(self.seeds):
            raise ParameterError(f"seeds is {self.seeds}; use one or more different numbers of at least 0")
        return self


@dataclass(frozen=True, eq=False)
class CorpusSplits:
    """A corpus in memory (its n-gram statistics are much larger), and the indices of the sentences of its splits."""

    documents: list[Document]
    of_seed: dict[int, Split]
    validation: list[int]

    def select(self, indices: Iterable[int]) -> list[Document]:
        """The sentences with these indices, in their order."""
        return [self.documents[index] for index in indices]

    @property
    def held_out_texts(self) -> set[str]:
        """The texts of all test and validation sentences."""
        tested = (index for split in self.of_seed.values() for index in split.test)
        return {document.text for document in self.select([*self.validation, *tested])}

    @cached_property
    def full(self) -> list[int]:
        """All sentences except test and validation sentences and sentences equal to one of these.

        Raises InputError where there is none.
        """
        held_out = self.held_out_texts
        full = [index for index, document in enumerate(self.documents) if document.text not in held_out]
        if not full:
            raise InputError("every sentence of the corpus equals a test or validation sentence; draw fewer of them")
        return full

    @property
    def trainings(self) -> dict[str, list[int]]:
        """The training sentences of each seed, and the full training text, by their names in file names: `subset-0`."""
        return {f"subset-{seed}": split.train.tolist() for seed, split in self.of_seed.items()} | {"full": self.full}


def training_size(documents: Iterable[Document]) -> dict[str, int]:
    """Columns of a table: sentences of a training text, and their characters besides whitespace."""
    texts = [document.text for document in documents]
    return {
        "training_sentences": len(texts),
        "training_characters": sum(not character.isspace() for text in texts for character in text),
    }


def read_splits(folder: Path, splitting: Splitting) -> CorpusSplits:
    """Read a corpus and draw its splits.

    Validation sentences that equal a test sentence of any seed are left out: nothing is tuned on test sentences.
    """
    documents = list(read_corpus(folder))
    drawn = draw_splits(len(documents), splitting.seeds, **splitting.split.model_dump())
    tested = {documents[index].text for split in drawn.of_seed.values() for index in split.test}
    validation = [int(index) for index in drawn.validation if documents[index].text not in tested]
    return CorpusSplits(documents, drawn.of_seed, validation)
