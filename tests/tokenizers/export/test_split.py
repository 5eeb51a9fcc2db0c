"""The regular expression cuts text where the segmenter's classes and clusters say so."""

import itertools

import numpy as np
import pytest
import regex
import unicode_text
from hypothesis import assume, given
from tokenizers import Regex, pre_tokenizers

from tokenlab.ngrams.clusters import cluster_starts
from tokenlab.segment.isolation import ALONE, CharacterClasses
from tokenlab.text.code_points import code_points
from tokenlab.tokenizers.export.hugging_face import split_pattern

HOW = [("script", False), ("script", True), ("punctuation", False), ("none", False)]
# What `split_pattern` excepts: conjuncts across scripts, letters that join the next, and joiners without a character.
EXCEPTED = {
    "script": regex.compile(r"(?V1)\p{InCB=Linker}|\p{Logical_Order_Exception}|[\p{GCB=Prepend}--\p{Cf}]"),
    "punctuation": regex.compile(r"\p{InCB=Linker}|\p{Logical_Order_Exception}|\p{GCB=Prepend}"),
    "none": regex.compile(r"(?!)"),
}
FORMAT_JOINER = regex.compile(r"(?V1)[\p{Cf}&&[\p{GCB=Extend}\p{GCB=ZWJ}]]")


def split(pattern, text):
    return [piece for piece, _ in pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str(text)]


def expected(text, isolate, split_kana):
    """Runs of one class, and clusters where they stand alone."""
    points = code_points(text)
    starts = cluster_starts(points)
    classes = CharacterClasses(isolate, split_kana)(points, starts)
    begins = (classes != np.append(-1, classes[:-1])) | ((classes == ALONE) & starts)
    places = [*np.flatnonzero(begins).tolist(), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(places)]


@pytest.mark.parametrize(("isolate", "split_kana"), HOW)
def test_cuts_as_the_isolation(isolate, split_kana):
    pattern = split_pattern(isolate, split_kana)

    @given(unicode_text.text)
    def check(text):
        starts = cluster_starts(code_points(text))
        assume(not EXCEPTED[isolate].search(text))
        assume(not any(first and FORMAT_JOINER.match(c) for c, first in zip(text, starts, strict=True)))
        assert split(pattern, text) == expected(text, isolate, split_kana)

    check()


def test_portable():
    """No properties, no look-around, no class shorthand: the pattern means the same to every engine."""
    for isolate, split_kana in HOW:
        pattern = split_pattern(isolate, split_kana)
        outside = regex.sub(r"\[(?:\\.|[^\]\\])*\]", "", pattern, flags=regex.DOTALL)
        assert regex.fullmatch(r"(?:\(\?:|[)|*+,]|\u200d)*", outside), outside
        assert set(regex.findall(r"\\(.)", pattern)) <= set("\\[]^-")
        for text in unicode_text.UNSPACED.values():  # another engine
            assert regex.compile(pattern).findall(text) == split(pattern, text)
