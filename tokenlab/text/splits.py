"""Random parts of a corpus for training, test and validation."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.errors import InputError

_FEWEST = 10


class Split(NamedTuple):
    """Disjoint numbers of documents, in the order in which they were drawn."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


class Splits(NamedTuple):
    """A split for each seed, and one validation part that is in none of them."""

    of_seed: dict[int, Split]
    validation: NDArray[np.int64]


def draw_splits(documents: int, seeds: Sequence[int], *, sentences: int, train: float, validation: int) -> Splits:
    """Draw `validation` documents for all seeds, then for each seed `sentences` of the others.

    Of these a share `train` is for training, the rest for test.

    What is chosen on validation is so never chosen on a document of any test part. A corpus of fewer than sentences +
    validation documents is shared out in the same proportion. Raises InputError where there are fewer than 10, or where
    a part for training or test comes out empty.
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
    shuffled = np.random.default_rng(_VALIDATION_SEED).permutation(documents)
    others = np.sort(shuffled[validation:])
    splits = {}
    for seed in seeds:
        order = others[np.random.default_rng(seed).permutation(len(others))]
        splits[seed] = Split(order[:first_test], order[first_test:sentences])
    return Splits(splits, shuffled[:validation])


_VALIDATION_SEED = 2005
"""Apart from the seeds of the splits, so that validation stays the same when they change."""
