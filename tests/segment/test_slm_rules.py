"""The rules of the segmental language model for what is not Han."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenlab.segment.isolation import apply_slm_rules
from tokenlab.text.documents import words


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ("在 １ ９９８年 来临", "在 １９９８ 年 来临"),
        ("１２．５％的", "１２．５％ 的"),
        ("ＡＢ ａ１２型", "ＡＢａ １２ 型"),
        ("世纪—— ，。。新年", "世纪 —— ， 。。 新年"),
        ("二○ ○一年", "二○ ○一年"),  # a Han character in the text of PKU
        ("（１）", "（ １ ）"),
        ("新世纪", "新世纪"),
    ],
)
def test_runs_of_numbers_of_letters_and_of_one_mark_are_segments(segments, expected):
    pieces = segments.split()
    text = "".join(pieces)
    boundaries = [sum(map(len, pieces[:i])) for i in range(1, len(pieces))]
    assert words(text, apply_slm_rules(text, boundaries)) == expected.split()


@given(st.text("中文○1.ａＢ，。", min_size=1), st.randoms())
def test_boundaries_between_han_characters_stay_and_twice_is_once(text, random):
    given_ = [at for at in range(1, len(text)) if random.random() < 0.5]
    found = apply_slm_rules(text, given_)
    han = set("中文○")
    inside = [at for at in range(1, len(text)) if text[at - 1] in han and text[at] in han]
    assert [at for at in found if at in inside] == [at for at in given_ if at in inside]
    assert apply_slm_rules(text, found) == found
    assert apply_slm_rules(text, []) == [at for at in found if at not in inside]
