"""Scripts in pictures: cells of readers' characters, the direction of the script, and characters without a font."""

import warnings

import pytest

from tasks.report.figures.segmentation_figures import draw_boundaries
from tasks.report.figures.writing import families_for, in_cells, missing_note

SCRIPTS = {
    "Burmese": "မြန်မာ",
    "Thai": "ภาษาไทย",
    "Khmer": "ខ្មែរ",
    "Devanagari": "हिन्दी",
    "Arabic": "العربية",
    "emoji": "😀👩‍👩‍👧🇩🇪",
    "Chinese": "中文",
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_there_is_a_font(script):
    assert not missing_note([SCRIPTS[script], "λ θ ν ± ≈"])


def test_a_character_without_a_font_is_named():
    note = missing_note(["བོད", "plain"])
    assert note.startswith("no font for U+0F51 TIBETAN LETTER DA, U+0F56") and note.endswith("shown as boxes")
    assert " and 14 more" in missing_note(map(chr, range(0x12000, 0x12000 + 20)))
    assert not missing_note(["a\u200d\ufe0f\n\t "])


def test_the_picture_says_what_it_could_not_draw(tmp_path):
    """The same picture, taller by the note; Matplotlib's own warning would be lost in a log."""
    for name, text in (("known", "ခဂဃ"), ("unknown", "ཀཁག")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            draw_boundaries({"gold": [text]}, tmp_path / name)
    heights = [
        (tmp_path / f"{name}.svg").read_text(encoding="utf-8").partition('height="')[2][:6]
        for name in ("known", "unknown")
    ]
    assert heights[0] < heights[1]


def test_only_needed_fonts_are_tried():
    assert len(families_for("plain λ 中文 한국어")) == 1
    assert families_for("ไทย 中")[1:] == ["Noto Sans Thai"]


def test_a_cell_is_what_a_reader_calls_a_character():
    assert in_cells("น้ำ!").cells == ["น้ำ", "!"]
    assert in_cells("မြန်မာ").cells == ["မြ", "န်", "မာ"]
    assert in_cells("a👩‍👩‍👧b").cells == ["a", "👩‍👩‍👧", "b"]
    assert in_cells("a\nb").cells == ["a", "⏎", "b"]


def test_a_boundary_inside_a_cell_has_a_place():
    line = in_cells("ab" + "e\u0301" + "c")
    assert line.cells == ["a", "b", "e\u0301", "c"]
    assert line.positions == [0, 1, 2, 2.5, 3, 4]
    assert line.spans(["ab", "e\u0301c"]) == [(0, 2), (2, 4)]


def test_a_line_begins_where_its_script_does():
    assert in_cells("abc").limits == (0, 3)
    assert in_cells("سلام").limits == (4, 0)
    assert in_cells("שלום").limits == (4, 0) and in_cells("12, 中").limits[0] == 0


def test_arabic_letters_keep_their_joined_forms():
    joiner = "\u200d"
    # Lam and alef join, alef and mim do not.
    assert in_cells("سلام").cells == ["س" + joiner, joiner + "ل" + joiner, joiner + "ا", "م"]
    assert in_cells("س ل").cells == ["س", " ", "ل"]


def test_scripts_are_drawn_alike_every_time(tmp_path):
    rows = {"gold": [SCRIPTS["Thai"], SCRIPTS["Arabic"]]}
    for name in ("one", "two"):
        draw_boundaries(rows, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
