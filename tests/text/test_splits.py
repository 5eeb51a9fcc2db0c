import numpy as np
import pytest

from tokenlab.errors import InputError
from tokenlab.text.splits import draw_splits

PAPER = {"sentences": 2255, "train": 0.7, "validation": 677}


def test_sizes_of_the_paper_and_disjoint_parts():
    splits = draw_splits(45_000, [0, 1, 7], **PAPER)
    assert len(np.unique(splits.validation)) == 677
    for split in splits.of_seed.values():
        assert (len(split.train), len(split.test)) == (1578, 677)
        assert len(np.unique(np.concatenate((*split, splits.validation)))) == 2255 + 677


def test_seeds_draw_differently_and_do_not_depend_on_each_other():
    alone, together = draw_splits(9000, [1], **PAPER), draw_splits(9000, [0, 1], **PAPER)
    assert np.array_equal(alone.of_seed[1].train, together.of_seed[1].train)
    assert np.array_equal(alone.validation, together.validation)
    assert not np.array_equal(together.of_seed[0].test, together.of_seed[1].test)


def test_small_corpora_keep_the_proportion():
    splits = draw_splits(60, [0], sentences=1000, train=0.7, validation=200)
    assert [len(part) for part in (*splits.of_seed[0], splits.validation)] == [35, 15, 10]


@pytest.mark.parametrize(
    ("documents", "draw", "message"),
    [
        (9, PAPER, "9 sentences"),
        (50, {"sentences": 10, "train": 0.7, "validation": 10_000}, "0 would be for training"),
        (50, {"sentences": 10, "train": 0.01, "validation": 0}, "0 would be for training"),
    ],
)
def test_too_few(documents, draw, message):
    with pytest.raises(InputError, match=message):
        draw_splits(documents, [0], **draw)
