"""Random parts of a corpus for training, validation and test."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.errors import InputError

_FEWEST = 10


class Split(NamedTuple):
    """Disjoint numbers of documents, int64, in the order in which they were drawn."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    validation: NDArray[np.int64]


def draw_split(documents: int, seed: int, *, sentences: int, train: float, validation: int) -> Split:
    """Draw `sentences` documents, cut them into a share `train` for training and the rest for test, and draw others
    for validation.

    A corpus of fewer than sentences + validation documents is shared out in the same proportion. Raises InputError
    where there are fewer than 10.
    """
    if documents < _FEWEST:
        raise InputError(f"the corpus has {documents} sentences; training and test parts need at least {_FEWEST}")
    if documents < sentences + validation:
        sentences, validation = (
            documents * sentences // (sentences + validation),
            documents * validation // (sentences + validation),
        )
    order = np.random.default_rng(seed).permutation(documents)
    first_test = int(train * sentences)
    return Split(order[:first_test], order[first_test:sentences], order[sentences : sentences + validation])
