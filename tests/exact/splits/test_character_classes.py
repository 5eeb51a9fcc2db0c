"""Classes of characters against the engine of the tokenizer."""

import numpy as np
import pytest
from tokenizers import Regex, pre_tokenizers

from tokenlab.core.errors import InputError
from tokenlab.exact.splits.character_classes import CharacterClasses, members
from tokenlab.exact.splits.regex_syntax import SetSource
from tokenlab.exact.utf8 import code_points_beginning_with

SOME = [*range(0xD800), *range(0xE000, 0x10000), *np.random.default_rng(0).integers(0x10000, 0x110000, 20_000)]
POINTS = np.unique([*SOME, 0xFFFFF, 0x10FFFF, 0x100000, 0xE0001])
TEXT = "".join(map(chr, POINTS))


@pytest.mark.parametrize(
    "text", [r"\S", r"[^\s\p{L}\p{N}\-^]", r"(?i:s)", r"[\r\n/\]\p{P}一-龥+--]", r"[^-a\p{M}]", r"[&-9a&&b]"]
)
def test_sets_are_those_of_the_engine(text):
    found = np.ones(len(POINTS), bool)
    for _, (start, end) in pre_tokenizers.Split(Regex(f"(?:{text})+"), "removed").pre_tokenize_str(TEXT):
        found[start:end] = False
    assert np.array_equal(members(SetSource("regex", text))[POINTS], found)


def test_sets_of_other_pre_tokenizers():
    digits, punctuation = members(SetSource("digits", "")), members(SetSource("punctuation", ""))
    assert [chr(point) for point in np.flatnonzero(digits)[:12]] == list("0123456789²³")
    assert punctuation[[ord(c) for c in "!$。«"]].all() and not punctuation[[ord(c) for c in "a 1中"]].any()
    for source, splitter in (("digits", pre_tokenizers.Digits(True)), ("punctuation", pre_tokenizers.Punctuation())):
        chosen = np.random.default_rng(0).permutation(POINTS)[:2000]
        expected = [len(splitter.pre_tokenize_str(f"a{chr(point)}")) == 2 for point in chosen]
        assert members(SetSource(source, ""))[chosen].tolist() == expected


def test_case_is_ignored_as_the_engine_does():
    """The long s (U+017F) is an s."""
    assert {chr(point) for point in np.flatnonzero(members(SetSource("regex", "(?i:s)")))} == {"s", "S", "ſ"}


def test_classes_are_the_partition_by_all_sets():
    sources = [
        SetSource("regex", r"\s"),
        SetSource("regex", r"\p{L}"),
        SetSource("characters", " "),
        SetSource("end", ""),
    ]
    classes = CharacterClasses(sources)
    assert classes.count == 5
    for source in sources[:3]:
        inside = np.isin(classes.table, [c for c in range(classes.count) if classes.mask(source) >> c & 1])
        assert np.array_equal(inside, members(source))
    assert classes.mask(sources[3]) == classes.end == 1 << classes.count
    assert (classes.table[0xD800:0xE000] == 0).all() and (np.delete(classes.table, np.s_[0xD800:0xE000]) > 0).all()


def test_many_sets_make_many_classes():
    sources = [SetSource("characters", chr(point)) for point in range(0x4E00, 0x4E64)]
    classes = CharacterClasses(sources)
    assert classes.count == 102
    assert len(set(classes.of("".join(map(chr, range(0x4E00, 0x4E64)))))) == 100


def test_only_what_tokens_can_spell_occurs():
    classes = CharacterClasses([], [b"a", b"\xc3", b"\xa9", "中".encode(), b"ab", None])
    assert [chr(point) for point in np.flatnonzero(classes.table)] == ["a", "é", "中"]


def test_incomplete_characters_leave_classes_open():
    classes = CharacterClasses([SetSource("regex", r"\p{L}"), SetSource("regex", r"\p{Lu}")])
    upper, lower, cross = classes.of("Éé×")
    assert classes.pending(b"\xc3") == 1 << upper | 1 << lower | 1 << cross
    assert classes.pending(b"\xe4\xb8") == 1 << lower
    assert not any(map(classes.pending, [b"\x80", b"\xc1", b"\xf5", b"\xed\xa0", b"\xe0\x80", b"\xf4\x90"]))


def test_ranges_of_code_points():
    for point in [0x41, 0xE9, 0x4E2D, 0x1F642, 0x10FFFF, 0x800, 0x7FF]:
        encoded = chr(point).encode()
        assert code_points_beginning_with(encoded) == (point, point + 1)
        for length in range(1, len(encoded)):
            low, high = code_points_beginning_with(encoded[:length])
            assert low <= point < high
            assert {chr(c).encode("utf-8", "surrogatepass")[:length] for c in (low, high - 1)} == {encoded[:length]}


def test_a_broken_set_is_an_error():
    with pytest.raises(InputError, match="not valid"):
        members(SetSource("regex", r"\p{Nonsense}"))
