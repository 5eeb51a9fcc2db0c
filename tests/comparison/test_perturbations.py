"""Perturbed texts: what each kind changes, what it leaves, and the places of the original characters."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenlab.comparison.perturbations import KINDS, Perturbed, boundary_counts, perturb

TEXTS = st.text(
    st.sampled_from([*"abzAZéñ019 .,ß", *"一二人口へがロー中文ไทยแก่ำ٣०९ạ̇\u0323e\u0301", "\u0307"]), max_size=60
)


@settings(max_examples=40)
@given(TEXTS, st.sampled_from(sorted(KINDS)), st.integers(0, 3))
def test_places_ascend_from_start_to_end_and_draws_repeat(text, kind, seed):
    found = perturb(text, kind, seed)
    assert len(found.offsets) == len(text) + 1 and found.offsets[0] == 0 and found.offsets[-1] == len(found.text)
    assert (np.diff(found.offsets) >= 0).all()
    assert perturb(text, kind, seed).text == found.text


@settings(max_examples=40)
@given(TEXTS)
def test_nfd_is_unicodes_full_width_is_undone_by_nfkc_and_capitals_by_case_folding(text):
    assert perturb(text, "nfd").text == unicodedata.normalize("NFD", text)
    assert unicodedata.normalize("NFKC", perturb(text, "full-width").text) == unicodedata.normalize("NFKC", text)
    assert perturb(text, "case").text.casefold() == text.upper().casefold()


@settings(max_examples=40)
@given(TEXTS)
def test_digits_keep_their_values(text):
    def values(some):
        return [unicodedata.numeric(one) for one in some if one.isdecimal() or one in "〇一二三四五六七八九"]

    found = perturb(text, "digits").text
    assert values(found) == values(text)
    assert not any(a == b for a, b in zip(text, found, strict=True) if a.isdecimal())


@settings(max_examples=40)
@given(TEXTS, st.integers(0, 3))
def test_spacing_and_typos_change_spaces_and_letters_alone(text, seed):
    assert perturb(text, "spacing", seed).text.replace(" ", "") == text.replace(" ", "")
    found = perturb(text, "typos", seed)
    assert [one for one in found.text if not one.isalpha()] == [one for one in text if not one.isalpha()]
    assert set(found.text) <= set(text)


@pytest.mark.parametrize(
    "text, kind, expected",
    [
        ("Crème brûlée", "diacritics", "Creme brulee"),
        ("ガギ", "diacritics", "カキ"),
        ("ที่นี่ไม่", "diacritics", "ทีนีไม"),  # tone marks, no vowels
        ("हिन्दी", "diacritics", "हिन्दी"),
        ("Año 2024", "digits", "Año ٢٠٢٤"),
        ("共25页", "digits", "共二五页"),
        ("มี 10 คน", "digits", "มี ๑๐ คน"),
        ("٢٠", "digits", "20"),
    ],
)
def test_known_answers(text, kind, expected):
    assert perturb(text, kind).text == expected


def test_drawn_kinds_change_about_their_share_and_seeds_differ():
    text = "cope with exotic spaces " * 200
    for kind, low, high in (("typos", 0.02, 0.08), ("homoglyphs", 0.08, 0.2), ("spacing", 0.02, 0.08)):
        found = perturb(text, kind)
        changed = sum(
            found.text[start:end] != one
            for one, start, end in zip(text, found.offsets[:-1], found.offsets[1:], strict=True)
        )
        assert low < changed / len(text) < high, kind
        assert perturb(text, kind, 1).text != found.text
    assert unicodedata.normalize("NFKC", perturb("人口" * 100, "homoglyphs").text) == "人口" * 100


def test_boundaries_are_compared_at_their_new_places():
    changed = perturb("öde", "nfd")  # o, mark, d, e
    assert boundary_counts([0, 1, 2, 3], [0, 2, 3], changed) == (2, 2, 2)
    assert boundary_counts([0, 1], [0, 1, 4], changed) == (1, 1, 0)
    assert boundary_counts([0], [0], changed) == (0, 0, 0)
    left_out = Perturbed("ac", np.array([0, 1, 1, 2]))  # abc without b: the boundaries around it meet
    assert boundary_counts([0, 1, 2], [0, 1], left_out) == (1, 1, 1)
