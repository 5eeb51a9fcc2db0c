"""A sample by hash: the same lines in whatever order, as many as have room."""

import hashlib
from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from tokenlab.text.sample import sample_lines

LINES = st.lists(st.text(st.characters(exclude_characters="\n"), max_size=5), max_size=30)


def _plain(lines: list[str], characters: int) -> list[str]:
    """All lines sorted by hash, cut where the next content has no room."""
    chosen: list[str] = []
    ordered = sorted((hashlib.blake2b(line.encode(), digest_size=16).digest(), line) for line in lines if line.strip())
    for _, copies in groupby(ordered):
        some = [line for _, line in copies]
        if sum(map(len, chosen + some)) > characters:
            break
        chosen += some
    return chosen


@given(LINES, st.integers(0, 60), st.randoms())
def test_the_lines_with_the_lowest_hashes_in_any_order(lines, characters, random):
    expected = _plain(lines, characters)
    assert sample_lines(lines, characters) == expected
    random.shuffle(lines)
    assert sample_lines(lines, characters) == expected
