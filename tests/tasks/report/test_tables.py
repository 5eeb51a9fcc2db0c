"""Tables from small frames of scores."""

import polars as pl
import pytest
import report_inputs as inputs

from tasks.report.codes import code_metrics, code_summaries, code_tables
from tasks.report.exact import bias_table, bits_table, examples_table, markov_errors, markov_tables
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

TABLE = Table("name", "A title", ["method", "|V|"], [["viterbi", "10"], ["other", ""]], ["a note"])


def test_one_table_in_three_formats():
    assert TABLE.csv() == "method,|V|\nviterbi,10\nother,\n"
    assert TABLE.markdown().splitlines()[2:4] == ["| method | \\|V\\| |", "| --- | ---: |"]
    assert TABLE.text().splitlines()[4] == "viterbi   10"


@pytest.mark.parametrize(
    ("values", "text"), [([], ""), ([None], ""), ([2.0], "2.0"), ([1.0, 3.0], "2.0 ± 1.4"), ([1, None, 3], "2.0 ± 1.4")]
)
def test_a_mean_has_a_deviation_where_there_are_several_values(values, text):
    scores = pl.DataFrame({"value": pl.Series(values, dtype=pl.Float64)})
    assert Column("", "value", "{:.1f}", spread=True).cell(scores) == text


def test_the_best_of_each_part_is_marked_and_optional_columns_without_values_are_left_out():
    scores = pl.DataFrame({"part": list("aaaabb"), "name": list("xxyyxx"), "value": [1.0, 1.1, 5, 5.1, 9, 9]})
    columns = [
        Column("name", "name"),
        Column("value", "value", "{:.0f}", best="largest"),
        Column("n", len),
        Column("paper", lambda rows: None, optional=True, note="a note"),
    ]
    table = tabulate("t", "T", scores, columns, key=["part", "name"], within=1, after=lambda part: [{"name": "end"}])
    assert table.header == ["name", "value", "n"] and table.notes == []
    assert table.rows == [["x", "1", "2"], ["y", "5 (2 runs)", "2"], ["end", "", ""], ["x", "9", "2"], ["end", "", ""]]
    assert [type(row[1]).__name__ for row in table.rows] == ["str", "Best", "str", "str", "str"]


def test_a_column_may_be_of_some_scores_and_carry_a_note():
    scores = pl.DataFrame({"kind": list("ab"), "share": [0.25, 0.5]})
    columns = [Column(kind, "share", "{:.1f}", 100, where={"kind": kind}, optional=True, note=kind) for kind in "abc"]
    table = tabulate("t", "T", scores.with_columns(row=1), columns, key=["row"], notes=["first"])
    assert (table.header, table.rows, table.notes) == (["a", "b"], [["25.0", "50.0"]], ["first", "a", "b"])


def test_rows_without_values_become_a_note():
    shorter = TABLE.without_empty_rows(1)
    assert shorter.rows == [["viterbi", "10"]] and shorter.notes == ["a note", "no values: other"]


def test_segmentation_cells_are_means_and_deviations_over_the_seeds():
    subset, full = segmentation_tables(inputs.segmentation_scores(), inputs.corpus_facts("zh"))
    assert (subset.name, full.name) == ("segmentation-zh", "segmentation-zh-full")
    rows = {row[0]: dict(zip(subset.header, row, strict=True)) for row in subset.rows}
    assert list(rows) == ["BPE alone", "viterbi"]
    assert rows["viterbi"]["F1"] == "55.0 ± 7.1" and rows["viterbi"]["BPE F1"] == "65.0 ± 7.1 (2 runs)"
    assert rows["viterbi"]["λ"] == "1.25" and rows["BPE alone"]["F1"] == ""


def test_without_gold_words_the_table_has_lengths():
    table, _ = segmentation_tables(inputs.segmentation_scores(gold=False), inputs.corpus_facts("zh", gold=False))
    assert "F1" not in table.header and any("left out" in note for note in table.notes)
    assert summary_table(inputs.segmentation_scores(gold=False), inputs.corpus_facts("zh", gold=False)) is None


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
    assert beside.name == "paper-latom" and "PRESET=sample ONLY=codes" in beside.notes[0]
    assert [row[:4] for row in beside.rows] == [
        ["Table 2, english, characters", "60", "62", "codes-sizes: |C|"],
        ["Table 2, english, N = 2", "8", "8", "codes-sizes: K, N = 2"],
    ]


def test_the_short_table_fits_readme():
    table = summary_table(inputs.segmentation_scores(), inputs.corpus_facts("pku", source="pku"))
    assert table is not None and len(table.header) <= 6
    assert table.rows[0] == ["BPE alone", "49.30", "40.0 ± 0.0", "", "40.0 ± 0.0", ""]


def test_a_method_without_a_label_is_shown_under_its_name():
    toy = {"toy": {"signal": "statistics", "threshold": 0.5}}
    subset, _ = segmentation_tables(inputs.segmentation_scores(configurations=toy), inputs.corpus_facts("zh"))
    assert "toy, θ = 0.5" in [row[0] for row in subset.rows]


def test_a_text_alone_has_means_over_slices_and_seeds():
    table = own_text_table(inputs.own_text_scores(), inputs.corpus_facts("zh"))
    assert table.name == "own-text-zh-alone"
    assert table.title.endswith("each by itself; mean ± sd of 2 slices and 2 seeds")
    assert [row[:2] for row in table.rows] == [["viterbi", "1.25"], ["words", ""]]
    f1 = {row[0]: row[table.header.index("F1")] for row in table.rows}
    assert f1 == {
        "viterbi": "65.0 ± 7.1 (2 runs)",
        "words": "65.5 ± 5.8 (2 runs)",
    }  # of 60 and 70; of 60, 61, 70 and 71
    assert [row[table.header.index("F1, words of Han alone")] for row in table.rows] == ["", ""]


def test_published_figures_stand_beside_the_same_text_under_the_same_rules():
    facts = inputs.corpus_facts("pku", source="pku")
    whole = own_text_table(inputs.own_text_scores("pku", rules="slm", parts=1), facts)
    assert [row[0] for row in whole.rows][2:] == ["SLM, Sun and Deng (2018)", "SLM, the authors' new code"]
    assert "1,000 characters, by that text alone; digits, Latin letters" in whole.title
    for scores, of in (
        (inputs.own_text_scores("pku", parts=1), facts),
        (inputs.own_text_scores(rules="slm"), inputs.corpus_facts("zh")),
    ):
        assert len(own_text_table(scores, of).rows) == 2


def test_exported_tokenizers_have_a_row_each():
    left_out = {"small": "vocabulary_size is 5, but"}
    table = export_table(inputs.export_scores(), left_out, inputs.corpus_facts("zh"))
    assert table is not None and table.name == "export-zh"
    assert [row[:2] for row in table.rows] == [["viterbi", "unigram"], ["viterbi", "bpe"]]
    cells = dict(zip(table.header, table.rows[0], strict=True))
    assert (cells["|V|"], cells["MB"], cells["equal segments"]) == ("1,234", "0.06", "99.00")
    assert (cells["round trip"], cells["token F1"]) == ("100.00", "55.00")
    assert table.notes == ["generated text", "small is left out: vocabulary_size is 5, but"]


def test_without_gold_words_exported_tokenizers_have_no_f1():
    table = export_table(inputs.export_scores(gold=False), {}, inputs.corpus_facts("zh", gold=False))
    assert table is not None and not [name for name in table.header if "F1" in name]
    assert export_table(inputs.export_scores().clear(), {}, inputs.corpus_facts("zh")) is None


@pytest.mark.parametrize("N", [None, 2])
def test_a_kind_of_code_without_a_label_is_shown_under_its_name(N):
    (table,) = code_tables(inputs.code_scores(inputs.CODES | {"toy": N}), "en", [], restarts=1)
    assert table.name == "codes-en-bpe" and "toy" in [row[0] for row in table.rows]


def test_codes_save_the_mean_over_the_seeds():
    scores = inputs.code_scores(inputs.CODES)
    (table,) = code_tables(scores, "en", ["a note"], restarts=1)
    row = next(row for row in table.rows if row[0] == "Latom")
    assert row[:6] == ["Latom", "2", "3", "8", "2", "+11 ± 1 (2 runs)"] and table.notes[0] == "a note"
    summaries = {summary.name: summary for summary in code_summaries(scores, [10], [])}
    assert list(summaries) == ["codes-sizes", "codes-saved-C", "codes-bits-C", "codes-saved-10", "codes-bits-10"]
    assert summaries["codes-saved-C"].rows[0][-1].startswith("not separable: Latom; Latom, refined; random")


def test_figures_3_and_7_are_tables_of_the_first_character():
    tables = {table.name: table for table in markov_tables(inputs.markov_scores())}
    assert list(tables) == ["markov-chain-mpe", "markov-chain-bpe"]
    rows = {
        row[0]: dict(zip(tables["markov-chain-mpe"].header, row, strict=True))
        for row in tables["markov-chain-mpe"].rows
    }
    assert list(rows) == ["A, chain 0", "B, chain 0", "A, chain 1", "B, chain 1"]
    assert rows["A, chain 0"]["P(A)"] == "0.600" and rows["A, chain 0"]["naive, exact model"] == "0.200 ± 0.010"
    assert rows["B, chain 0"]["naive, exact model"] == "undefined"
    assert {row["corrected, trained model"] for row in rows.values()} == {"0.600 ± 0.010"}


def test_errors_of_estimators_are_means_over_the_chains():
    table = markov_errors(inputs.markov_summary())
    rows = {(row[0], row[1][:3]): dict(zip(table.header, row, strict=True)) for row in table.rows}
    naive = rows["naive, exact model", "MPE"]
    assert (naive["mean"], naive["largest"], naive["undefined %"]) == ("0.4000", "0.4000", "50.0")
    assert rows["incremental, trained model", "BPE"]["mean, biased"] == "< 1e-12"
    assert table.title.endswith("means over 2 chains")


def test_bits_and_bias_have_the_notes_of_their_corpora():
    scores = inputs.exact_scores("tokens")
    (row,) = bits_table(scores, ["a note"]).rows
    assert row[:7] == ["tokens", "tokens", "3", "3.00", "1.9000", "2.0000", "2.0000"]
    assert row[7:] == ["5.00", "3.00", "0.40", "0.40"]
    table = bias_table(scores, ["a note"])
    assert table.notes == ["a note"] and table.rows[0][1] == "all prompts"
    assert [row[3] for row in table.rows] == ["1.250", "1.250", ""]


def test_examples_show_spaces_and_line_ends():
    best = [["t", 0.9], ["\n", 0.05], [" ", 0.01]]
    example = {"tokens": ["so", " th", "a"], "true": " ", "exact": best, "naive": best, "kl": 4.5}
    (row,) = examples_table("en", [example]).rows
    assert row == ["so| th|a", "␣", "t 0.90  ⏎ 0.05  ␣ 0.01", "t 0.90  ⏎ 0.05  ␣ 0.01", "4.50"]


def test_a_new_metric_has_a_column():
    metric = Metric("toy", lambda score: 0.25, SHARE, "higher")
    scores = inputs.segmentation_scores().with_columns(toy=0.25)
    table = segmentation_metrics(scores, "zh", [*SEGMENTATION, metric])
    assert table is not None and table.header[-1] == "toy ↑" and {row[-1] for row in table.rows} == {"25.0"}
    scores = inputs.code_scores(inputs.CODES).with_columns(toy_C=0.25)
    table = code_metrics(scores, "en", [*TOKENIZATION, metric], restarts=1)
    assert table is not None and table.header[-1] == "toy ↑"
    assert {(row[5], row[-1]) for row in table.rows} == {("|V| = |C|", "25.0"), ("|V| = 10", "")}


def test_without_values_there_is_no_table_of_metrics():
    assert segmentation_metrics(inputs.segmentation_scores(gold=False), "zh", SEGMENTATION) is None
