"""Classes of characters against the engine of the tokenizer."""

import numpy as np
import pytest
from tokenizers import Regex, pre_tokenizers

from tokenlab.core.errors import InputError
from tokenlab.exact.splits.character_classes import members
from tokenlab.exact.splits.regex_syntax import SetSource

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


def test_a_broken_set_is_an_error():
    with pytest.raises(InputError, match="not valid"):
        members(SetSource("regex", r"\p{Nonsense}"))
