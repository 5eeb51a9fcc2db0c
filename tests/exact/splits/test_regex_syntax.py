"""Expressions: what is read, and what is refused with its reason."""

import pytest
from tiny_tokenizers import DEEPSEEK, EXPRESSIONS

from tokenlab.core.errors import InputError
from tokenlab.exact.splits.regex_syntax import Choice, Look, Repeat, Sequence, Set, SetSource, parse


@pytest.mark.parametrize("expression", [*EXPRESSIONS.values(), *DEEPSEEK])
def test_expressions_of_real_tokenizers_are_read(expression):
    parse(expression)


def test_structure():
    a, space = Set(SetSource("characters", "a")), Set(SetSource("regex", r"\s"))
    assert parse(r"a\s+(?!a|\s)|[a]{2}|a{,3}?a") == Choice(
        (
            Sequence((a, Repeat(space, 1, None, "greedy"), Look((a.source, space.source), negative=True))),
            Repeat(Set(SetSource("regex", "[a]")), 2, 2, "greedy"),
            Sequence((Repeat(a, 0, 3, "lazy"), a)),
        )
    )
    assert parse("a++") == Repeat(a, 1, None, "possessive")
    assert parse("a{1,3}+") == Repeat(Repeat(a, 1, 3, "greedy"), 1, None, "greedy")
    assert parse("a{x") == Sequence((a, Set(SetSource("characters", "{")), Set(SetSource("characters", "x"))))
    assert parse("(?i:'a)") == parse("(?i)'a")


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("a*", "matches the empty text"),
        ("a|", "matches the empty text"),
        ("(?!a)", "matches the empty text"),
        ("a(?!bc)", "look-ahead of more than one character"),
        ("a(?<=b)", r"the group \(\?<="),
        ("(?>a)", r"the group \(\?>"),
        ("^a", "an anchor"),
        (r"a\b", r"the escape \\b"),
        (r"(a)\1", r"the escape \\1"),
        ("(?:ab)++", "possessive"),
        ("(?:a*)+b", "repetition of what can be empty"),
        ("a{2000}", "more than 1000"),
        ("(a", "without a closing one"),
        ("a)", "without an opening one"),
        ("[a", "without its closing bracket"),
        ("+a", "without anything before"),
        ("(?i:ss)", "matches a single character too"),
        ("(?i:affb)", "matches a single character too"),
        (r"\x{110000}a", "a broken code point"),
        ("a\\", "a backslash at its end"),
    ],
)
def test_refused_with_the_reason(expression, reason):
    with pytest.raises(InputError, match=reason):
        parse(expression)
