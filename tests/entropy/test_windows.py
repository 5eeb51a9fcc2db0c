"""Windows and batches: each token once, from the window that says most, and nothing lost or over the limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenlab.core.errors import ParameterError
from tokenlab.entropy.windows import Window, plan_batches, plan_windows

shapes = st.integers(1, 12).flatmap(lambda room: st.tuples(st.just(room), st.integers(1, room)))


@given(st.integers(0, 60), st.integers(0, 2), shapes)
def test_each_token_comes_from_its_longest_left_context(tokens, prefix, shape):
    room, stride = shape
    windows = list(plan_windows(7, tokens, prefix, prefix + room, stride))
    given_by = {}
    for window in windows:
        assert window.text == 7 and window.first % stride == 0 and 0 <= window.end - window.first <= room
        assert window.end < max(tokens, 1)
        for token in range(window.target, window.end + 1):
            assert token not in given_by
            given_by[token] = window.first
    assert sorted(given_by) == list(range(0 if prefix else 1, tokens))
    for token, first in given_by.items():
        reached = [start for start in range(0, tokens, stride) if start < token <= start + room or start == token == 0]
        assert first == min(reached)
        assert first == 0 or prefix + token - first > prefix + room - stride


def test_a_window_needs_room():
    with pytest.raises(ParameterError, match=r"context is 2; .* 3"):
        list(plan_windows(0, 5, 2, 2, 1))
    for stride in (0, 4):
        with pytest.raises(ParameterError, match=f"stride is {stride}; .* 1 to 3"):
            list(plan_windows(0, 5, 1, 4, stride))


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 2), st.integers(1, 100))
def test_batches_hold_every_window_within_the_limit(lengths, prefix, limit):
    windows = [Window(text, 3, 3 + length, 3) for text, length in enumerate(lengths)]
    batches = list(plan_batches(windows, prefix, limit))
    assert sorted(window for batch in batches for window in batch) == windows
    for batch in batches:
        sizes = [prefix + window.end - window.first for window in batch]
        padded = len(batch) * max(sizes)
        assert padded <= limit or len(batch) == 1
        # All but the last window stood in a batch that was small or hardly padded.
        assert 16 * (padded - sum(sizes)) <= padded or 4 * (len(batch) - 1) * max(sizes) < limit
    flat = [window.end for batch in batches for window in batch]
    assert flat == sorted(flat, reverse=True)
