"""Tables from small frames of scores."""

import polars as pl
import pytest
import report_inputs as inputs

from tasks.report.codes import code_metrics, code_tables
from tasks.report.papers import paper_tables
from tasks.report.segmentation import (
    export_table,
    own_text_table,
    segmentation_metrics,
    segmentation_tables,
    summary_table,
)
from tasks.report.table import Column, Table, tabulate
from tokenlab.metrics.registry import SEGMENTATION, SHARE, TOKENIZATION, Metric


@pytest.mark.parametrize(
    ("values", "text"), [([], ""), ([None], ""), ([2.0], "2.0"), ([1.0, 3.0], "2.0 ± 1.4"), ([1, None, 3], "2.0 ± 1.4")]
)
def test_a_mean_has_a_deviation_where_there_are_several_values(values, text):
    scores = pl.DataFrame({"value": pl.Series(values, dtype=pl.Float64)})
    assert Column("", "value", "{:.1f}", spread=True).cell(scores) == text


def test_the_best_of_each_part_is_marked_and_optional_columns_without_values_are_left_out():
    scores = pl.DataFrame(
        {"part": list("aaaabb"), "name": list("xxyyxx"), "value": [1.0, 1.1, 5, 5.1, 9, 9]}
    ).with_columns(share=0.25)
    columns = [
        Column("name", "name"),
        Column("value", "value", "{:.0f}", best="largest"),
        Column("n", len),
        Column("share of x", "share", "{:.1f}", 100, where={"name": "x"}, optional=True, note="a note on shares"),
        Column("paper", lambda rows: None, optional=True, note="a note"),
    ]
    table = tabulate("t", "T", scores, columns, key=["part", "name"], within=1, after=lambda part: [{"name": "end"}])
    assert table.header == ["name", "value", "n", "share of x"] and table.notes == ["a note on shares"]
    assert table.rows == [
        ["x", "1", "2", "25.0"],
        ["y", "5 (2 runs)", "2", ""],
        ["end", "", "", ""],
        ["x", "9", "2", "25.0"],
        ["end", "", "", ""],
    ]
    assert [type(row[1]).__name__ for row in table.rows] == ["str", "Best", "str", "str", "str"]


def test_without_gold_words_there_is_no_f1():
    facts = inputs.corpus_facts("zh", gold=False)
    table, _ = segmentation_tables(inputs.segmentation_scores(gold=False), facts)
    exported = export_table(inputs.export_scores(gold=False), {}, facts)
    assert exported is not None and not [name for name in (*table.header, *exported.header) if "F1" in name]
    assert summary_table(inputs.segmentation_scores(gold=False), facts) is None
    assert segmentation_metrics(inputs.segmentation_scores(gold=False), "zh", SEGMENTATION) is None
    assert export_table(inputs.export_scores().clear(), {}, facts) is None


def test_one_language_model_is_said():
    by_entropy = {"gpt2": {"signal": "entropy"}, "viterbi": {"signal": "statistics"}}
    table, _ = segmentation_tables(inputs.segmentation_scores(configurations=by_entropy), inputs.corpus_facts("zh"))
    assert "gpt2: by one language model; the draws are of sentences alone" in table.notes


def test_names_that_the_report_does_not_know_are_shown_as_they_are():
    toy = {"toy": {"signal": "statistics", "threshold": 0.5}}
    subset, _ = segmentation_tables(inputs.segmentation_scores(configurations=toy), inputs.corpus_facts("zh"))
    assert "toy, θ = 0.5" in [row[0] for row in subset.rows]
    for N in (None, 2):
        (table,) = code_tables(inputs.code_scores(inputs.CODES | {"toy": N}), "en", [], restarts=1)
        assert "toy" in [row[0] for row in table.rows]


def test_the_paper_is_beside_its_own_text_only():
    scores = inputs.segmentation_scores(configurations={"literal-4": {"signal": "statistics", "lambda": 4.0}}, full=())
    subset, full = segmentation_tables(scores, inputs.corpus_facts("pku", source="pku"))
    place = subset.header.index("BPE P") - 1
    beside = {row[0]: row[place] for row in subset.rows}
    assert beside == {"BPE alone": "46.89 / 51.96 / 49.30", "literal": "54.21 / 64.06 / 58.73"}
    assert not any("paper" in cell for cell in full.header)


def test_a_paper_has_a_table_of_the_rows_that_a_preset_has():
    sizes = Table("codes-sizes", "", ["corpus", "|C|", "K, N = 2"], [["english", "62", "8"]], [])
    (beside,) = paper_tables([sizes], "sample")
    assert [row[:4] for row in beside.rows] == [
        ["Table 2, english, characters", "60", "62", "codes-sizes: |C|"],
        ["Table 2, english, N = 2", "8", "8", "codes-sizes: K, N = 2"],
    ]


def test_published_figures_stand_beside_the_same_text_under_the_same_rules():
    facts = inputs.corpus_facts("pku", source="pku")
    whole = own_text_table(inputs.own_text_scores("pku", rules="slm", parts=1), facts)
    assert [row[0] for row in whole.rows][2:] == ["SLM, Sun and Deng (2018)", "SLM, the authors' new code"]
    for scores, of in (
        (inputs.own_text_scores("pku", parts=1), facts),
        (inputs.own_text_scores(rules="slm"), inputs.corpus_facts("zh")),
    ):
        assert len(own_text_table(scores, of).rows) == 2


def test_a_new_metric_has_a_column():
    metric = Metric("toy", lambda score: 0.25, SHARE, "higher")
    scores = inputs.segmentation_scores().with_columns(toy=0.25)
    table = segmentation_metrics(scores, "zh", [*SEGMENTATION, metric])
    assert table is not None and table.header[-1] == "toy ↑" and {row[-1] for row in table.rows} == {"25.0"}
    scores = inputs.code_scores(inputs.CODES).with_columns(toy_C=0.25)
    table = code_metrics(scores, "en", [*TOKENIZATION, metric], restarts=1)
    assert table is not None and table.header[-1] == "toy ↑"
    assert {(row[5], row[-1]) for row in table.rows} == {("|V| = |C|", "25.0"), ("|V| = 10", "")}
