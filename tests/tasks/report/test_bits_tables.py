"""Tables of the bits family from small frames."""

import bits_inputs as inputs
import polars as pl
import pytest

from tasks.report.bits import (
    choices_table,
    comparison_table,
    corpus_table,
    dead_table,
    entropy_table,
    error_table,
    front_tables,
    savings_table,
    tokenizers_table,
    translation_examples,
    translation_notes,
    translation_table,
)
from tasks.report.draw_bits import draw_losses, draw_search, draw_translation
from tasks.report.summary import bits_findings
from tasks.report.table import Table


def lengths(*corpora: str) -> pl.DataFrame:
    """What `read_lengths` gives of corpora."""
    table = pl.concat([inputs.lengths(corpus) for corpus in corpora])
    names = {f"renyi_{of}_2.5": f"renyi_{of}" for of in ("nominal", "observed")}
    return table.rename(names).with_columns(alpha=2.5)


def cells(table: Table | None) -> list[dict[str, str]]:
    assert table is not None
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def test_savings_stand_beside_the_papers_where_it_has_the_corpus():
    (row,) = cells(savings_table(lengths("ja"), ["a note"]))
    assert row == {"corpus": "ja", "0 known": "0.2 / 20.0 / 40.0", "10 known": "0.1 / 10.0 / 20.0", "resets": "2"}
    table = savings_table(lengths("ja", "korean"), ["a note"])
    assert [row["paper"] for row in cells(table)] == ["", "6.5"]
    assert table is not None and table.notes == ["a note", "paper: another text and another vocabulary"]


def test_without_bases_of_characters_there_are_no_savings():
    rows = lengths("ja").filter(pl.col("base") != "characters")
    assert savings_table(rows, []) is None and entropy_table(rows, []) is None and comparison_table(rows, []) is None
    assert tokenizers_table(lengths("ja").filter(pl.col("base") != "plain"), []) is None


def test_tokenizers_have_a_row_each():
    (row,) = cells(tokenizers_table(lengths("ja"), []))
    assert (row["tokenizer"], row["tokens/character"], row["fallen back %"]) == ("plain", "2.500", "50.00")
    assert [row[f"{name}, %"] for name in ("3 prefixes", "4 prefixes", "4, on change")] == ["0.10", "10.00", "20.00"]


def test_entropies_are_those_of_bytes_runs_and_changes():
    first, second = cells(entropy_table(lengths("ja"), []))
    assert (first["known"], second["known"]) == ("0", "10") and first["H, bits per token"] == "6.50 / 6.50 / 6.50"
    assert first["Rényi, alpha = 2.5, % of |V|"] == "50.0 / 50.0 / 50.0"
    assert first["bits per character"] == "16.25 / 13.00 / 9.75"  # 1000, 800 and 600 tokens of 400 characters


def test_codes_without_merges_are_compared_where_no_character_is_a_token():
    (row,) = cells(comparison_table(lengths("ja"), []))
    assert list(row) == ["corpus", "bytes", "3 prefixes", "4 prefixes", "4, on change", "SCRIPT", "characters"]
    assert (row["4 prefixes"], row["SCRIPT"], row["characters"]) == ("2.000 / 13.00", "2.000 / 13.00", "1.000 / 6.50")


def test_bases_with_the_same_dead_tokens_share_a_row():
    assert dead_table(lengths("ja", "ko")).rows == [["characters, plain", "130", "130", "130"]]


def test_a_corpus_shows_resets_and_the_texts_that_the_published_code_refuses():
    rows = {(row["base"], row["code"]): row for row in cells(corpus_table(lengths("ja"), "ja", []))}
    assert len(rows) == 3 * 9 + 2
    lossless = rows["10 characters", "4 prefixes, every run"]
    assert (lossless["saved %"], lossless["resets"], lossless["ambiguous"]) == ("10.00", "2", "")
    paper = rows["plain", "3 prefixes, changes, paper"]
    assert (paper["resets"], paper["ambiguous"]) == ("", "3")
    assert rows["none", "SCRIPT"]["tokens"] == "800" and rows["none", "characters"]["saved %"] == ""


def test_the_shortest_splits_stand_beside_the_papers():
    table = choices_table(inputs.search(), ["a note"])
    assert table.notes[0] == "a note" and "save tokens in the other texts" in table.notes[1]
    rows = cells(table)
    found = [(row["added"], row["split"], row["written"], row["saved %"]) for row in rows]
    assert found == [
        ("the paper's", "6-9-9", "every run", "20.00"),
        ("at most 16", "8-8-8", "every run", "5.00"),
        ("at most 259", "8-8-8", "every run", "5.00"),
        ("at most 1,024", "6-9-9", "changes", "25.00"),
    ]


def test_equally_good_splits_are_one_point_of_the_front():
    twin = inputs.search().head(1).with_columns(split=pl.lit("9-8-7"))
    (table,) = front_tables(pl.concat([inputs.search(), twin]), [])
    assert [row[0] for row in table.rows] == ["8-8-8", "6-9-9", "12-12"] and table.name == "bits-front-ja"


def test_translations_stand_beside_the_papers_unless_the_text_is_generated():
    scores = inputs.translation_scores("en-ko")
    table = translation_table(scores, [], ["a note"])
    rows = {row["code"]: row for row in cells(table)}
    assert table.title == "Translation of 100 test sentences; mean ± sd of 2 seeds"
    assert table.notes == ["a note", "paper: 65 million weights, other text, other test sentences"]
    assert rows["byte fallback"]["chrF"] == "11.0 ± 1.4" and rows["bit-level"]["decode errors"] == "5 ± 1 (2 runs)"
    assert rows["bit-level"]["relative gain"] == "1.2500" and rows["byte fallback"]["broken %"] == "20.0 ± 0.0"
    paper = rows["byte fallback, paper"]
    assert (paper["BLEU"], paper["decode errors"], paper["chrF"]) == ("19.0", "1,522", "")
    assert table.rows[-1][1] == "bit-level, paper" and (rows["byte fallback"]["epochs"], paper["epochs"]) == (
        "0.800",
        "",
    )
    generated = cells(translation_table(scores, ["en-ko"], []))
    assert [row["code"] for row in generated] == ["byte fallback", "bit-level", "bit-level, fine-tuned, means"]


def test_the_rivals_are_the_codes_of_one_start():
    """Errors of 234 and 41 against 138 and 116: fewer on average, and not separable; fine-tuned models have none."""
    errors = [234, 41, 138, 116, 0, 0]
    scores = inputs.translation_scores().with_columns(errors=pl.Series(errors))
    table = translation_table(scores, [], [])
    assert [row["decode errors"] for row in cells(table)] == ["138 ± 136 (2 runs)", "127 ± 16 (2 runs)", "0 ± 0"]
    assert table.markdown().count("(2 runs) ≈ |") == 2
    (finding,) = (found.text for found in bits_findings([], [table]))
    text = "bit-level (127 ± 16 (2 runs)) and byte fallback (138 ± 136 (2 runs)) are not separable."
    assert finding == f"en-ja, decode errors of translations: {text}"


def test_notes_say_what_the_figures_of_translation_rest_on():
    two = pl.concat([inputs.translation_scores(pair) for pair in ("en-ja", "en-ko")])
    known, left_out, seen = translation_notes(two)
    assert "the 100 most frequent characters" in known and known.endswith("37.5 % (en-ja), 37.5 % (en-ko)")
    assert "7 (en-ja), 7 (en-ko) whose source or target is in training, 3 (en-ja), 3 (en-ko) too long" in left_out
    assert seen.endswith("bit-level models see +5.0 % (en-ja), +5.0 % (en-ko)")


def test_decode_errors_are_shown_by_kind_and_beside_the_number_of_outputs():
    rows = cells(error_table(inputs.translation_scores(), []))
    assert rows[0]["not UTF-8"] == "41.0 ± 1.4" and rows[0]["outside a run"] == "0.0 ± 0.0"
    assert (rows[0]["ended outputs"], rows[0]["broken of these"], rows[0]["errors in these"]) == (
        "98.0 ± 0.0",
        "10.0 ± 0.0",
        "40.0 ± 0.0",
    )
    unfinished = [rows[0][name] for name in ("unfinished outputs", "broken of those", "errors in those")]
    assert unfinished == ["2.0 ± 0.0", "10.0 ± 0.0", "1.0 ± 1.4"]
    assert (rows[0]["tokens/character"], rows[0]["output/reference"]) == ("2.500", "0.500 ± 0.000")


def test_examples_show_both_codes():
    table = translation_examples("en-ja", [inputs.EXAMPLE])
    assert table.header == ["source", "reference", "byte fallback", "bit-level"]
    assert table.rows == [["light", "光", "火", "光"]]


@pytest.mark.slow
def test_pictures_are_drawn_without_errors_to_show_and_without_a_front(tmp_path):
    """No decode error at all, one seed, and corpora whose only split on the front adds nothing."""
    scores = inputs.translation_scores().with_columns(broken=0).filter(seed=0)
    draw_translation(scores, tmp_path / "translation")
    draw_losses({"en-ja": inputs.translation_losses().filter(seed=0)}, tmp_path / "loss")
    draw_search(inputs.search().with_columns(front=False), tmp_path / "search")
    assert {path.name for path in tmp_path.glob("*.svg")} == {"translation.svg", "loss.svg", "search.svg"}
