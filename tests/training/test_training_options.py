"""Options of trainings: values out of range, and the learning rate by hand."""

import dataclasses
import math

import pytest

from tokenlab.core.errors import ParameterError
from tokenlab.training.options import TrainingOptions

OPTIONS = TrainingOptions(steps=12, batch=4, learning_rate=5e-3, warmup=3)


def test_learning_rate_by_hand():
    options = TrainingOptions(steps=8, batch=1, learning_rate=1.0, final_learning_rate=0.2, warmup=3)
    # Up by quarters, then 0.2 + 0.8 (1 + cos(pi k / 4)) / 2 for k = 0..4.
    expected = [0.25, 0.5, 0.75, 1.0, 0.6 + 0.4 * math.sqrt(0.5), 0.6, 0.6 - 0.4 * math.sqrt(0.5), 0.2]
    assert [options.learning_rate_at(step) for step in range(8)] == pytest.approx(expected, abs=1e-15)
    assert TrainingOptions(steps=1, batch=1, learning_rate=0.5).learning_rate_at(0) == 0.5


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"steps": 0}, "steps is 0"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
        ({"final_learning_rate": 0.1}, "final_learning_rate is 0.1"),
        ({"warmup": 12}, "warmup is 12; .* 0 to 11"),
        ({"processes": 5}, "processes is 5; .* rows"),
        ({"dtype": "float16"}, "dtype is 'float16'"),
        ({"device": "tpu"}, "device is 'tpu'"),
        ({"device": "cuda:1", "processes": 2}, "'cuda:1', but there are 2 processes"),
    ],
)
def test_options_that_cannot_be(option, message):
    with pytest.raises(ParameterError, match=message):
        dataclasses.replace(OPTIONS, **option)
