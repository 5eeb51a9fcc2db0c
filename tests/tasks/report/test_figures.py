"""Pictures: the same bytes every time, scales, scripts, and little or unknown data."""

import warnings

import patch_report_inputs as patches
import polars as pl
import pytest
import report_inputs as inputs
from matplotlib.figure import Figure

from tasks.report.codes import draw_lengths, draw_tables
from tasks.report.patches import ablation_points, draw_ablation, draw_tokens, draw_training, largest_tokenizers
from tasks.report.plot import in_cells, log_where_needed, missing_note
from tasks.report.segmentation import draw_boundaries

SCRIPTS = {
    "Burmese": "မြန်မာ",
    "Thai": "ภาษาไทย",
    "Khmer": "ខ្មែរ",
    "Devanagari": "हिन्दी",
    "Arabic": "العربية",
    "emoji": "😀👩‍👩‍👧🇩🇪",
    "Chinese": "中文",
}


@pytest.mark.slow
def test_unknown_codes_are_drawn(tmp_path):
    curves = inputs.code_curves(inputs.CODES | {"toy": None, "shaped": 2})
    draw_tables(curves, 2, 3, 8, tmp_path / "tables")
    draw_lengths(curves, "bpe", {2: 3}, 8, tmp_path / "bpe")
    draw_lengths(inputs.code_curves(inputs.CODES), "bpe", {2: 3}, 8, tmp_path / "known")
    assert (tmp_path / "bpe.svg").read_bytes() != (tmp_path / "known.svg").read_bytes()
    assert (tmp_path / "tables.png").exists()


@pytest.mark.parametrize(
    ("values", "scale"), [([1.0, -2, 3, 4], "linear"), ([1.0, -2, 3, 4, 500], "symlog"), ([0.0, 0, 0], "linear")]
)
def test_a_scale_is_logarithmic_where_a_few_values_hide_the_others(values, scale):
    axes = Figure().subplots()
    axes.plot(values)
    log_where_needed([axes])
    assert axes.get_yscale() == scale and (axes.get_ylabel() == "logarithmic") == (scale == "symlog")


@pytest.mark.parametrize("script", SCRIPTS)
def test_there_is_a_font(script):
    assert not missing_note(SCRIPTS[script])


def test_the_picture_says_what_it_could_not_draw(tmp_path):
    """The same picture, taller by the note; Matplotlib's own warning would be lost in a log."""
    assert "U+0F51" in missing_note("བོད plain") and not missing_note("a\u200d\ufe0f\n\t ")
    heights = []
    for text in ("ခဂဃ", "ཀཁག"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            draw_boundaries({"gold": [text]}, tmp_path / "picture")
        heights.append((tmp_path / "picture.svg").read_text(encoding="utf-8").partition('height="')[2][:6])
    assert heights[0] < heights[1]


def test_a_cell_is_what_a_reader_calls_a_character():
    assert in_cells("น้ำ!").cells == ["น้ำ", "!"]
    assert in_cells("မြန်မာ").cells == ["မြ", "န်", "မာ"]
    assert in_cells("a👩‍👩‍👧b\n").cells == ["a", "👩‍👩‍👧", "b", "⏎"]


def test_a_boundary_inside_a_cell_has_a_place():
    line = in_cells("ab" + "e\u0301" + "c")
    assert line.cells == ["a", "b", "e\u0301", "c"]
    assert line.positions == [0, 1, 2, 2.5, 3, 4]
    assert line.spans(["ab", "e\u0301c"]) == [(0, 2), (2, 4)]


def test_a_line_begins_where_its_script_does():
    assert in_cells("abc").limits == (0, 3) and in_cells("12, 中").limits[0] == 0
    assert in_cells("سلام").limits == (4, 0) and in_cells("שלום").limits == (4, 0)


def test_of_each_key_the_largest_tokenizer_is_drawn():
    small = patches.token_lengths("en-300").with_columns(tokens=pl.lit(1, pl.Int64))
    tables = [small, patches.token_lengths("en-900"), small.with_columns(tokenizer=pl.lit("gpt2"))]
    lengths = pl.concat(t.with_columns(key=pl.lit(k)) for t, k in zip(tables, ("en", "en", "gpt2"), strict=True))
    assert set(largest_tokenizers(lengths)["tokenizer"]) == {"en-900", "gpt2"}
    assert len(largest_tokenizers(lengths)) == len(tables[1]) + len(tables[2])


@pytest.mark.slow
def test_pictures_are_drawn_from_one_seed_one_point_and_an_unknown_variant(tmp_path):
    toy = patches.patch_losses(seeds=1).group_by("variant", maintain_order=True).head(1)
    draw_training(toy.with_columns(variant=pl.col("variant").replace("fixed", "toy")), tmp_path / "training")
    points = ablation_points(patches.patch_scores(seeds=1), "vocabulary")
    draw_ablation(points, "vocabulary", tmp_path / "vocabulary")
    draw_tokens(patches.token_lengths().filter(longest=0), tmp_path / "tokens")
    assert {path.name for path in tmp_path.glob("*.png")} == {"training.png", "vocabulary.png", "tokens.png"}
