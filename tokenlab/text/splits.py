"""Random parts of a corpus for training, test and validation."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.errors import InputError

_FEWEST = 10
_VALIDATION_SEED = 2005
"""Not one that people take for a split, whose order it would share."""


class Split(NamedTuple):
    """Disjoint numbers of documents, int64, in the order in which they were drawn."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


class Splits(NamedTuple):
    """A split for each seed, and a validation part that shares no document with any test part."""

    of_seed: dict[int, Split]
    validation: NDArray[np.int64]


def draw_splits(documents: int, seeds: Sequence[int], *, sentences: int, train: float, validation: int) -> Splits:
    """Draw `sentences` documents for each seed, a share `train` of them for training and the rest for test.

    Then draw `validation` documents for all seeds together: first of those that no seed has drawn, then, in a small
    corpus, of those that are in no test part. A corpus of fewer than sentences + validation documents is shared out in
    the same proportion. Raises InputError where there are fewer than 10, or where a part for training or test comes
    out empty.
    """
    if documents < _FEWEST:
        raise InputError(f"the corpus has {documents} sentences; training and test parts need at least {_FEWEST}")
    wanted = sentences + validation
    if documents < wanted:
        sentences, validation = documents * sentences // wanted, documents * validation // wanted
    first_test = int(train * sentences)
    if not 0 < first_test < sentences:
        raise InputError(
            f"of {documents} sentences {first_test} would be for training and {sentences - first_test} for test; "
            "draw more of them, or fewer for validation"
        )
    splits = {}
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(documents)
        splits[seed] = Split(order[:first_test], order[first_test:sentences])
    order = np.random.default_rng(_VALIDATION_SEED).permutation(documents)
    tested = np.isin(order, np.concatenate([split.test for split in splits.values()]))
    trained = np.isin(order, np.concatenate([split.train for split in splits.values()]))
    candidates = np.concatenate((order[~tested & ~trained], order[~tested & trained]))
    return Splits(splits, candidates[:validation])
