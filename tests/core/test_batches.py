"""Streams in parts."""

from hypothesis import given
from hypothesis import strategies as st

from tokenlab.core.batches import in_batches


@given(st.lists(st.text(max_size=5)), st.integers(1, 20))
def test_batches_are_the_items_in_order_and_end_where_they_are_full(texts, most):
    batches = list(in_batches(texts, most, size=lambda text: len(text) + 1))
    assert [text for batch in batches for text in batch] == texts
    assert all(sum(len(text) + 1 for text in batch[:-1]) < most for batch in batches)
    assert all(sum(len(text) + 1 for text in batch) >= most for batch in batches[:-1])
