"""Expressions that are refused with their reason; those that are read are in test_regex_machine.py."""

import pytest

from tokenlab.core.errors import InputError
from tokenlab.exact.splits.regex_syntax import parse


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("a*", "matches the empty text"),
        ("a(?!bc)", "look-ahead of more than one"),
        ("a(?<=b)", r"the group \(\?<="),
        ("^a", "an anchor"),
        (r"a\b", r"the escape \\b"),
        ("(?:ab)++", "possessive"),
        ("a{2000}", "more than 1000"),
        ("(a", "without a closing one"),
        ("[a", "without its closing bracket"),
        ("+a", "without anything before"),
        ("(?i:ss)", "matches a single character too"),
        ("(?i:ß+|x)", "matches several characters too"),
        ("(?i:[xß]+)", "matches several characters too"),
        ("(?i:[À-ÿ])", "matches several characters too"),
        (r"(?i:[\xC0-\xFF])", "code points in"),
        ("a{3,1}", "at least 3 and at most 1"),
        pytest.param("(?:" * 500 + "a" + ")" * 500, "groups in too many others", id="nested"),
        (r"\x{110000}a", "a broken code point"),
        ("a\\", "a backslash at its end"),
    ],
)
def test_refused_with_the_reason(expression, reason):
    with pytest.raises(InputError, match=reason):
        parse(expression)
