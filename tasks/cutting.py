"""How methods cut the sentences of a corpus: by statistics, by predictive entropy, by both."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.parts import Parts
from tasks.readings import EntropyOptions, Method, entropy_folder
from tasks.stage import Stage
from tokenlab.entropy import boundary_evidence, segment_by_entropy
from tokenlab.entropy.corpus import read_entropies
from tokenlab.errors import InputError
from tokenlab.ngrams import NgramStatistics
from tokenlab.segment import Segmenter

_SENTENCES_PER_BATCH = 1 << 12

Entropies = list[NDArray[np.float32]]
"""Of each sentence of a corpus a value per character, in nats."""


class Signals(NamedTuple):
    """What a training part says: its statistics, and theta, the mean entropy of its characters."""

    statistics: NgramStatistics
    theta: float | None


def read_entropies_of(stage: Stage, corpus: Parts) -> Entropies | None:
    """The entropies of all sentences of the stage's corpus, None where it has none.

    Raises InputError where they are those of another corpus.
    """
    folder = entropy_folder(stage)
    if folder is None:
        return None
    ids, entropies = [], []
    for id, values in read_entropies(folder):
        ids.append(id)
        entropies.append(values)
    if ids != [document.id for document in corpus.documents]:
        raise InputError(f"{folder}: entropies of other sentences than those of {stage.variant}; score it again")
    return entropies


def mean_entropy(entropies: Entropies | None, numbers: Iterable[int]) -> float | None:
    """The mean over all characters of these sentences that have a value."""
    if entropies is None:
        return None
    return float(np.nanmean(np.concatenate([entropies[number] for number in numbers], dtype=np.float64)))


def cut(
    corpus: Parts, numbers: Iterable[int], method: Method, signals: Signals, entropies: Entropies | None
) -> Iterator[list[int]]:
    """The boundaries that a method puts into these sentences: where segments begin, the first left out."""
    numbers = list(numbers)
    texts = [document.text for document in corpus.select(numbers)]
    if isinstance(method.options, EntropyOptions):
        assert entropies is not None  # or the reading has no rows
        for first in range(0, len(numbers), _SENTENCES_PER_BATCH):
            some = slice(first, first + _SENTENCES_PER_BATCH)
            of_some = [entropies[number] for number in numbers[some]]
            spans = segment_by_entropy(texts[some], of_some, *method.options).spans()
            yield from ([start for start, _ in of_sentence[1:]] for of_sentence in spans)
        return
    evidence = None
    if method.nu is not None:
        assert entropies is not None and signals.theta is not None
        evidence = [boundary_evidence(entropies[number], method.nu, signals.theta) for number in numbers]
    for batch in Segmenter(signals.statistics, method.options).segment(texts, evidence):
        yield from ([start for start, _ in spans[1:]] for spans in batch.spans())
