"""Tables of the bits family from small frames."""

import bits_inputs as inputs
import polars as pl
import pytest

from tasks.report.bits import (
    comparison_table,
    draw_losses,
    draw_search,
    draw_translation,
    entropy_table,
    savings_table,
    tokenizers_table,
    translation_table,
)
from tasks.report.summary import bits_findings


def lengths(*corpora: str) -> pl.DataFrame:
    """What `read_lengths` gives of corpora."""
    table = pl.concat([inputs.lengths(corpus) for corpus in corpora])
    names = {f"renyi_{of}_2.5": f"renyi_{of}" for of in ("nominal", "observed")}
    return table.rename(names).with_columns(alpha=2.5)


def test_savings_stand_beside_the_papers_where_it_has_the_corpus():
    (row,) = savings_table(lengths("ja"), []).records
    assert row == {"corpus": "ja", "0 known": "0.2 / 20.0 / 40.0", "10 known": "0.1 / 10.0 / 20.0", "resets": "2"}
    assert [row["paper"] for row in savings_table(lengths("ja", "korean"), []).records] == ["", "6.5"]


def test_without_bases_of_characters_there_are_no_savings():
    rows = lengths("ja").filter(pl.col("base") != "characters")
    assert not [make for make in (savings_table, entropy_table, comparison_table) if make(rows, []).rows]
    assert not tokenizers_table(lengths("ja").filter(pl.col("base") != "plain"), []).rows


def test_translations():
    rows = {row["code"]: row for row in translation_table(inputs.translation_scores("en-ko"), []).records}
    assert rows["byte fallback"]["chrF"] == "11.0 ± 1.4" and rows["bit-level"]["decode errors"] == "5 ± 1 (2 runs)"
    assert rows["bit-level"]["relative gain"] == "1.2500" and rows["byte fallback"]["broken %"] == "20.0 ± 0.0"


def test_the_rivals_are_the_codes_of_one_start():
    """Errors of 234 and 41 against 138 and 116: fewer on average, and not separable; fine-tuned models have none."""
    scores = inputs.translation_scores().with_columns(pl.col("chrf") + 10, errors=pl.Series([234, 41, 138, 116, 0, 0]))
    table = translation_table(scores, [])
    assert [row["decode errors"] for row in table.records] == ["138 ± 136 (2 runs)", "127 ± 16 (2 runs)", "0 ± 0"]
    assert table.markdown().count("(2 runs) ≈ |") == 2
    (finding,) = (found.text for found in bits_findings([], [table]))
    facts = ("bit-level (127 ± 16 (2 runs))", "byte fallback (138 ± 136 (2 runs))", "not separable")
    assert all(fact in finding for fact in facts)


@pytest.mark.slow
def test_pictures_are_drawn_without_errors_to_show_and_without_a_front(tmp_path):
    """No decode error at all, one seed, and corpora whose only split on the front adds nothing."""
    scores = inputs.translation_scores().with_columns(broken=0).filter(seed=0)
    draw_translation(scores, tmp_path / "translation")
    draw_losses({"en-ja": inputs.translation_losses().filter(seed=0)}, tmp_path / "loss")
    draw_search(inputs.search().with_columns(front=False), tmp_path / "search")
    assert {path.name for path in tmp_path.glob("*.svg")} == {"translation.svg", "loss.svg", "search.svg"}
