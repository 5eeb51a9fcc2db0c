"""Tables of Unicode properties against the module regex, a code point at a time."""

import numpy as np
import regex
from hypothesis import given
from unicode_text import text

from tokenlab.ngrams.clusters import SPACE_SET, PropertyTable
from tokenlab.text.code_points import code_points


@given(text, text)
def test_the_first_matching_set_decides(first, second):
    table = PropertyTable([(r"\p{Lu}", 3), (r"\p{L}&&\p{Script=Latin}", -2), (r"\p{L}\p{M}", 127)], 0)
    for whole in (first, second, first):  # once to match, once to look up
        assert table(code_points(whole)).tolist() == [plain_number(c) for c in whole]


def plain_number(character):
    if regex.match(r"\p{Lu}", character):
        return 3
    if regex.match(r"\p{L}", character) and regex.match(r"\p{Script=Latin}", character):
        return -2
    return 127 if regex.match(r"[\p{L}\p{M}]", character) else 0


def test_space_is_what_python_calls_space():
    points = np.arange(0x110000, dtype=np.uint32)
    found = np.flatnonzero(PropertyTable([(SPACE_SET, 1)], 0)(points))
    assert found.tolist() == [point for point in range(0x110000) if chr(point).isspace()]
