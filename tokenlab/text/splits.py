"""Random splits of a corpus for training, test and validation."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError

_FEWEST = 10
_VALIDATION_SEED = 2005
"""An unlikely seed of a split: with the same seed, both would draw the same order."""


class Split(NamedTuple):
    """Disjoint numbers of documents, int64, in the order of the draw."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


class Splits(NamedTuple):
    """A split for each seed, and validation documents that are in no test set."""

    of_seed: dict[int, Split]
    validation: NDArray[np.int64]


def draw_splits(documents: int, seeds: Sequence[int], *, sentences: int, train: float, validation: int) -> Splits:
    """Draw `sentences` documents for each seed, a share `train` of them for training and the others for test.

    Then draw `validation` documents for all seeds together: first from the documents drawn for no seed, then, in a
    small corpus, from the training documents that are in no test set. A corpus of fewer than sentences + validation
    documents is divided in the same proportion.

    Raises:
        InputError: fewer than 10 documents; an empty training or test set; too few documents in no test set for
            validation.
    """
    if documents < _FEWEST:
        raise InputError(f"the corpus has {documents} sentences; training and test sets need at least {_FEWEST}")
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
    if len(candidates) < validation:
        raise InputError(
            f"{validation} of {documents} sentences would be for validation, but the test sets of {len(seeds)} seeds "
            f"leave {len(candidates)}; use fewer seeds, draw fewer sentences, or fewer for validation"
        )
    return Splits(splits, candidates[:validation])
