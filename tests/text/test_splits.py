import numpy as np
import pytest

from tokenlab.errors import InputError
from tokenlab.text.splits import draw_split


def test_the_papers_split():
    split = draw_split(45_000, 0, sentences=2255, train=0.7, validation=677)
    assert [len(part) for part in split] == [1578, 677, 677]
    assert len(np.unique(np.concatenate(split))) == 2255 + 677


def test_seeds_draw_differently_and_repeat():
    draw = {"sentences": 100, "train": 0.5, "validation": 10}
    assert all(
        np.array_equal(a, b) for a, b in zip(draw_split(200, 1, **draw), draw_split(200, 1, **draw), strict=True)
    )
    assert not np.array_equal(draw_split(200, 1, **draw).train, draw_split(200, 2, **draw).train)


def test_small_corpora_keep_the_proportion():
    split = draw_split(60, 0, sentences=1000, train=0.7, validation=200)
    assert [len(part) for part in split] == [35, 15, 10]
    with pytest.raises(InputError, match="9 sentences"):
        draw_split(9, 0, sentences=1000, train=0.7, validation=200)
