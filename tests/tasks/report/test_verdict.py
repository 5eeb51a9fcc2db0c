"""Which result is the best: only what leads by more than the spread, in every table by the same rule."""

import statistics

import polars as pl
import pytest
import report_inputs as inputs

from tasks.report.codes import code_summaries
from tasks.report.table import Table, read_markdown
from tasks.report.verdict import Best, Ours, Spread, Tied, against, kinds, separable, verdict


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [([1.0, 1.2], [1.1, 1.3], False), ([1.0, 1.01], [1.1, 1.11], True), ([1.0], [1.1, 1.11], None)],
)
def test_separability_follows_from_the_deviations(first, second, expected):
    one, other = (Spread.of(pl.Series(values)) for values in (first, second))
    assert one is not None and other is not None
    assert separable(one, other) is expected and separable(other, one) is expected
    if expected is not None:
        assert one.deviation == pytest.approx(statistics.stdev(first))


CLEAR, NEAR, FAR = Spread(10.0, 0.1), Spread(9.9, 0.1), Spread(1.0, 0.1)


@pytest.mark.parametrize(
    ("rivals", "text"),
    [
        ({"a": CLEAR, "b": FAR}, "a"),
        ({"b": FAR, "a": CLEAR, "c": NEAR}, "not separable: a; c"),
        ({"a": CLEAR, "same": CLEAR, "b": FAR}, "equal: a; same"),
        ({"a": CLEAR, "b": Spread(1.0, None)}, "one run"),
        ({"a": CLEAR, "b": FAR, "c": Spread(9.9, None)}, "a"),
        ({"a": CLEAR, "b": FAR, "c": Spread(9.9, None, 1)}, "a (1 run)"),
        ({"a": Spread(10.0, 0.1, 3), "b": Spread(1.0, 0.0), "c": Spread(9.9, None, 1)}, "a"),
        ({"a": CLEAR, "b": FAR, "c": Spread(10.1, None)}, "one run"),
        ({"a": Spread(3.0, None), "same": Spread(3.0, None)}, "equal: a; same"),
        ({"counted": Spread(3.0, 0.0), "b": Spread(2.999, 0.0)}, "counted"),
        ({"a": CLEAR, "b": None}, ""),
        ({}, ""),
    ],
)
def test_best_is_a_word_only_where_the_lead_exceeds_the_spread(rivals, text):
    assert verdict(rivals, largest=True).text() == text


def test_kinds_of_cells():
    assert verdict({"a": CLEAR, "b": FAR}, largest=False).text() == "b"
    assert kinds([CLEAR, FAR, None], largest=False) == [str, Best, str]
    assert kinds([CLEAR, CLEAR]) == [str, str]  # Equal cells lead nobody.
    assert Spread.of(pl.Series([2.0]), by_chance=False) == (2.0, 0.0, None) and Spread.of(pl.Series([2.0])).runs == 1


@pytest.mark.parametrize(
    ("difference", "separable", "runs", "word"),
    [
        (0.1, True, 3, "higher"),
        (-0.1, True, 2, "lower (2 runs)"),
        (0.1, False, 3, "not separable"),
        (0.1, None, 1, "one run"),
    ],
)
def test_words_of_a_comparison(difference, separable, runs, word):
    assert against(difference, separable, runs) == word


MARKED = Table("t", "T", ["m", "F1"], [[Ours("viterbi"), Best("9.0")], ["x", Tied("8")], ["y", "10.0"]], ["note"])


def test_marks_are_explained_in_every_format():
    text, page = MARKED.text(), MARKED.markdown()
    assert text.splitlines()[4:7] == ["viterbi†   9.0*", "x            8≈", "y         10.0"]
    assert "| viterbi † | **9.0** |" in page and "| x | 8 ≈ |" in page
    assert MARKED.csv() == "m,F1\nviterbi,9.0\nx,8\ny,10.0\n"
    assert "| \\|V\\| | F1 |" in MARKED._replace(header=["|V|", "F1"]).markdown()
    assert "bold: " in page and "*: " in text and "†: " in text and not MARKED._replace(rows=[["x", "1"]]).explained()


def test_a_page_can_be_read_back_with_its_marks():
    found = read_markdown(MARKED._replace(header=["m", "|V|"]).markdown())
    assert found == MARKED._replace(name="", header=["m", "|V|"])
    assert [[type(cell) for cell in row] for row in found.rows] == [[type(cell) for cell in row] for row in MARKED.rows]


def saving(latom: float, refined: float, *, seeds: int = 3) -> pl.DataFrame:
    """Scores in which each code saves so many tokens at |V| = 10, and one more with each seed."""
    rows = inputs.code_scores(inputs.CODES, seeds=seeds).with_columns(
        pl.col("code")
        .replace_strict(
            {"latom": float(latom), "latom-refined": float(refined), "random": -50.0, "character": 0.0, "byte": -90.0},
            return_dtype=pl.Float64,
        )
        .alias("saved")
    )
    saved = (pl.col("saved") + pl.col("seed").fill_null(0)).alias("tokens_saved_10")
    return rows.with_columns(saved, tokens_10=1000 - saved)


def best_at_10(scores: pl.DataFrame) -> tuple[str, Table]:
    table = {summary.name: summary for summary in code_summaries(scores, [10], [])}["codes-saved-10"]
    return table.rows[0][-1], table


def test_characters_are_a_rival_that_saves_nothing():
    assert best_at_10(saving(-20, -30))[0] == "characters"
    assert best_at_10(saving(20, -30))[0] == "Latom"
    assert best_at_10(saving(-1.5, -30))[0] == "not separable: characters; Latom"
    assert best_at_10(saving(20, -30, seeds=1))[0] == "one run"
    best, table = best_at_10(saving(20, -30))
    marked = table.records[0]
    assert best == "Latom" and [name for name, cell in marked.items() if isinstance(cell, Best)] == ["Latom"]


def test_a_verdict_on_fewer_than_three_runs_says_so():
    two, three = Spread.of(pl.Series([1.0, 1.1])), Spread.of(pl.Series([5.0, 5.1, 5.2]))
    assert verdict({"a": three, "b": two}, largest=True).text() == "a (2 runs)"
    assert verdict({"a": three, "b": Spread(1.0, 0.0)}, largest=True).text() == "a"
    assert verdict({"a": two, "b": two}, largest=True).text() == "equal: a; b (2 runs)"
    assert verdict({"a": Spread(5.0, 0.1, 1), "b": three}, largest=True).text() == "not separable: b; a (1 run)"
    leader, other = kinds([three, two])
    assert (leader("5.1"), type(leader("5.1"))) == ("5.1 (2 runs)", Best) and other is str
    assert [kind("x") for kind in kinds([two, two, Spread(0.0, 0.0)])] == ["x (2 runs)", "x (2 runs)", "x"]
    assert kinds([three, Spread.of(pl.Series([1.0, 1.1, 1.2]))]) == [Best, str]
    assert best_at_10(saving(20, -30, seeds=2))[0] == "Latom (2 runs)"
