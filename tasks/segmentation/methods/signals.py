"""The signals of segmentation of one corpus: n-gram statistics of every training split, and predictive entropies."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tasks.segmentation.methods.interface import Configuration, Entropies, Signals
from tasks.segmentation.splits import CorpusSplits
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.entropy.stored import read_entropies
from tokenlab.ngrams.table import read_statistics
from tokenlab.text.documents import Document


@dataclass(frozen=True, eq=False)
class CorpusSignals:
    """The signals of a corpus."""

    entropies: Entropies | None
    subset: dict[int, Signals]
    """Of the training sentences of each seed."""
    full: Signals
    """Of the full training text."""


def read_signals(ngrams: Path, word_models: Path, corpus: CorpusSplits, entropies: Entropies | None) -> CorpusSignals:
    """Read the n-gram statistics of every training split, and compute the mean entropies of these splits.

    word_models: a folder with those of all splits, which methods by words read themselves.
    """

    def of_split(name: str, indices: Iterable[int]) -> Signals:
        statistics = read_statistics(ngrams / f"{name}.parquet")
        return Signals(name, statistics, mean_entropy(entropies, indices), word_models)

    subset = {seed: of_split(f"subset-{seed}", split.train.tolist()) for seed, split in corpus.of_seed.items()}
    return CorpusSignals(entropies, subset, of_split("full", corpus.full))


def read_scored(folder: Path, documents: list[Document]) -> Entropies:
    """The predictive entropies of the sentences of a corpus.

    Raises:
        ParameterError: the corpus is not scored.
        InputError: the entropies belong to other sentences.
    """
    corpus = folder.parent.name
    if not folder.is_dir():
        raise ParameterError(
            f"segmentation.corpora.{corpus}.entropy is true, but there is no {folder}; add {corpus} to entropy.scored"
        )
    ids: list[str] = []
    entropies: list[NDArray[np.float32]] = []
    for id, values in read_entropies(folder):
        ids.append(id)
        entropies.append(values)
    if ids != [document.id for document in documents]:
        raise InputError(f"{folder}: entropies of other sentences than those of {corpus}; score it again")
    return entropies


def mean_entropy(entropies: Entropies | None, indices: Iterable[int]) -> float | None:
    """The mean over all characters of these sentences that have a value, in nats."""
    if entropies is None:
        return None
    return float(np.nanmean(np.concatenate([entropies[index] for index in indices], dtype=np.float64)))


def place_boundaries(
    configuration: Configuration, corpus: CorpusSplits, indices: Iterable[int], signals: CorpusSignals, split: Signals
) -> Iterator[list[int]]:
    """The boundaries inside these sentences by one configuration, with the signals of one training split."""
    indices = list(indices)
    texts = [document.text for document in corpus.select(indices)]
    entropies = None if signals.entropies is None else [signals.entropies[index] for index in indices]
    return configuration.segment(texts, entropies, split)
