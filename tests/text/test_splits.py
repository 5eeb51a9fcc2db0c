import numpy as np
import pytest

from tokenlab.core.errors import InputError
from tokenlab.text.splits import draw_splits

PAPER = {"sentences": 2255, "train": 0.7, "validation": 677}


def test_sizes_of_the_paper_and_disjoint_parts():
    splits = draw_splits(45_000, [0, 1, 7], **PAPER)
    drawn = np.concatenate([part for split in splits.of_seed.values() for part in split])
    assert len(np.unique(splits.validation)) == 677 and not np.isin(splits.validation, drawn).any()
    for split in splits.of_seed.values():
        assert (len(split.train), len(split.test)) == (1578, 677)
        assert len(np.unique(np.concatenate(split))) == 2255


def test_seeds_draw_differently_and_do_not_depend_on_each_other():
    alone, together = draw_splits(9000, [1], **PAPER), draw_splits(9000, [0, 1], **PAPER)
    assert np.array_equal(alone.of_seed[1].train, together.of_seed[1].train)
    assert not np.array_equal(together.of_seed[0].test, together.of_seed[1].test)


@pytest.mark.parametrize("seeds", [[0], [0, 1, 2, 3]])
def test_small_corpora_keep_the_proportion_and_never_validate_on_test(seeds):
    splits = draw_splits(60, seeds, sentences=1000, train=0.7, validation=200)
    for split in splits.of_seed.values():
        assert (len(split.train), len(split.test)) == (35, 15)
        assert not np.isin(splits.validation, split.test).any()
    assert len(splits.validation) == 10


def test_too_few_for_validation_beside_the_test_sets_of_all_seeds():
    with pytest.raises(InputError, match=r"20 of 100 sentences .* leave 0"):
        draw_splits(100, range(20), sentences=80, train=0.5, validation=20)
    assert len(draw_splits(100, range(20), sentences=80, train=0.5, validation=0).validation) == 0


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
