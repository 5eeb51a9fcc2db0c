"""Rules of patchers: known examples, and every text as a loop over its bytes cuts it."""

from itertools import pairwise

import numpy as np
import pytest
import unicode_text
from hypothesis import given
from hypothesis import strategies as st

from tokenlab.core.errors import ParameterError
from tokenlab.patches.by_bytes import character_starts, entropy_starts, space_starts
from tokenlab.patches.options import EntropyOptions, SpaceOptions

texts = st.one_of(
    unicode_text.text.map(str.encode),
    st.text("ab1 .,\n中é", max_size=30).map(str.encode),
    st.binary(max_size=30),
)
caps = st.one_of(st.none(), st.integers(1, 7))
entropies = st.lists(st.floats(0, 6, width=32), max_size=30).map(lambda values: np.array(values, np.float32))


def parts(text, starts):
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def is_spacelike(byte):
    """As SpaceByte and BLT have it: no letter, digit or continuation byte."""
    return not (
        ord("a") <= byte <= ord("z")
        or ord("A") <= byte <= ord("Z")
        or ord("0") <= byte <= ord("9")
        or 0x80 <= byte <= 0xBF
    )


def plain_space(text, cap=None):
    """Starts: after each spacelike byte that follows one that is not spacelike, or where the cap is reached."""
    starts, before, ended = [], True, True
    for at, byte in enumerate(text):
        if ended or at - starts[-1] == cap:
            starts.append(at)
        ended = is_spacelike(byte) and not before
        before = is_spacelike(byte)
    return starts


def plain_entropy(entropies, begins, cap=None):
    """Starts: where begins(before, now) holds of two neighbouring entropies, at 0, and where the cap is reached."""
    starts = []
    for at in range(len(entropies)):
        if at == 0 or begins(entropies[at - 1], entropies[at]) or (cap and at - starts[-1] == cap):
            starts.append(at)
    return starts


def test_patches_end_with_a_spacelike_byte():
    cut = parts(b"the cat, it -- is. x", space_starts(b"the cat, it -- is. x").tolist())
    assert cut == [b"the ", b"cat,", b" it ", b"-- is.", b" x"]
    assert parts(b" (a b", space_starts(b" (a b").tolist()) == [b" (a ", b"b"]


@given(text=texts, cap=caps)
def test_space(text, cap):
    assert space_starts(text, cap).tolist() == plain_space(text, cap)


@given(text=unicode_text.text)
def test_characters(text):
    data = text.encode()
    assert parts(data, character_starts(data).tolist()) == [character.encode() for character in text]


@given(data=st.binary(max_size=20))
def test_bytes_that_are_no_text_are_cut_by_their_first_bytes(data):
    cut = parts(data, character_starts(data).tolist())
    assert b"".join(cut) == data
    for part in cut[:-1]:
        announced = next((n for n, low in ((4, 0xF0), (3, 0xE0), (2, 0xC0)) if low <= part[0] < 0xF8), 1)
        assert len(part) == announced


@given(values=entropies, threshold=st.floats(0, 6, width=32), rise=st.floats(-3, 3, width=32), cap=caps)
def test_entropy(values, threshold, rise, cap):
    threshold, rise = np.float32(threshold), np.float32(rise)
    rules = {
        "threshold": lambda before, now: now > threshold,
        "monotone": lambda before, now: now - before > rise,
        "both": lambda before, now: now > threshold and now - before > rise,
    }
    for rule, begins in rules.items():
        options = EntropyOptions(rule, float(threshold), float(rise), cap)
        assert entropy_starts(values, options).tolist() == plain_entropy(values, begins, cap)


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (SpaceOptions, {"cap": 0}, "cap is 0"),
        (EntropyOptions, {"rule": "highest"}, "rule is 'highest'"),
        (EntropyOptions, {"threshold": float("nan")}, "threshold is no number"),
    ],
)
def test_options_out_of_range(kind, values, message):
    with pytest.raises(ParameterError, match=message):
        kind(**values)
