"""How well the boundaries of patches agree with those of words, counted in bytes.

Between two words lies a gap: empty in text without spaces, otherwise the whitespace. Tokenizers begin a token with the
space, the space rule ends a patch with it, and both have found the gap: it counts as found where any boundary lies in
it, its ends included. All other boundaries lie inside words and are wrong, in the middle of a character or not. A word
is found where both gaps beside it are found and nothing cuts it, as in `tokenlab.metrics.segmentation`. The edges of a
text are given.
"""

from typing import NamedTuple

import numpy as np

from tasks.patches.texts import Words
from tokenlab.metrics.segmentation import Counts
from tokenlab.patches.interface import Starts


class Agreement(NamedTuple):
    """Counts over texts."""

    words: Counts
    boundaries: Counts

    def __add__(self, other: object) -> "Agreement":
        """The counts of both together."""
        assert isinstance(other, Agreement)
        pairs = zip(self, other, strict=True)
        return Agreement(*(Counts(*(a + b for a, b in zip(one, two, strict=True))) for one, two in pairs))


NOTHING = Agreement(Counts(0, 0, 0), Counts(0, 0, 0))


def agreement(starts: Starts, words: Words) -> Agreement:
    """The counts of one text. A text without words has none."""
    if not len(words):
        return NOTHING
    begins, ends = words[:, 0], words[:, 1]
    cuts = np.asarray(starts, np.int64)[1:]
    inside = np.searchsorted(cuts, ends, side="left") - np.searchsorted(cuts, begins, side="right")
    found = np.searchsorted(cuts, begins[1:], side="right") > np.searchsorted(cuts, ends[:-1], side="left")
    left, right = np.concatenate([[True], found]), np.concatenate([found, [True]])
    gaps, hits, wrong = len(found), int(found.sum()), int(np.maximum(inside, 0).sum())
    both = int((left & right & (inside <= 0)).sum())
    return Agreement(Counts(len(words), 1 + hits + wrong, both), Counts(gaps, hits + wrong, hits))
