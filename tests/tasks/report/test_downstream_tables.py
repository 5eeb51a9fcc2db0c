"""Tables of classification: the layout of the paper's, its figures beside ours, and verdicts in words."""

import pytest
import report_inputs as inputs

from tasks.report.downstream import downstream_results, judged
from tasks.report.summary import classification_findings
from tasks.report.verdict import against


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stage = inputs.stage(classified=["verses"])
    inputs.write_classification(stage, "verses")
    return {table.name: table for table in downstream_results(stage).all}


def test_a_row_for_each_cut_beside_the_papers_figures(tables):
    table = tables["classification-f1-transformer"]
    assert table.header == ["|V|", "tokenizer", "code", "N", "english", "paper english"]
    assert table.rows[:4] == [
        ["|V| = |C|", "bpe", "characters", "", "50.50 ± 0.71", "52.22"],
        ["|V| = |C|", "bpe", "bytes", "", "61.50 ± 0.71", "55.54"],
        ["|V| = |C|", "bpe", "random", "2", "52.50 ± 0.71", "56.59"],
        ["|V| = |C|", "bpe", "Latom", "2", "60.50 ± 0.71", "56.82"],
    ]
    assert [row[0] for row in table.rows[4:]] == ["|V| = 8,000"] * 4 and table.rows[7][5] == "59.79"
    assert "paper english" not in tables["classification-f1-linear"].header
    assert any("not these texts" in note for note in table.notes)


def test_verdicts_and_what_the_summary_says_of_them(tables):
    table = tables["classification-verdicts-transformer"]
    assert table.header[4:] == ["english, against characters", "english, against bytes"]
    assert table.rows[1:4] == [
        ["|V| = |C|", "bpe", "bytes", "", "higher (2 runs): +11.00 ± 3.00", ""],
        ["|V| = |C|", "bpe", "random", "2", "not separable (2 runs): +2.00 ± 3.00", "lower (2 runs): -9.00 ± 3.00"],
        ["|V| = |C|", "bpe", "Latom", "2", "higher (2 runs): +10.00 ± 3.00", "not separable (2 runs): -1.00 ± 3.00"],
    ]
    found = [finding.text for finding in classification_findings(list(tables.values()))]
    assert len(found) == 4 and found[0].endswith("that is: 4 higher, 0 lower, 2 not separable.")


@pytest.mark.parametrize(
    ("difference", "separable", "runs", "word"),
    [
        (0.1, True, 3, "higher"),
        (-0.1, True, 5, "lower"),
        (0.1, False, 3, "not separable"),
        (0.1, True, 1, "higher (1 run)"),
    ],
)
def test_words_of_a_comparison(difference, separable, runs, word):
    assert against(difference, separable, runs) == word


def test_characters_and_the_smallest_k_beside_the_papers(tables):
    table = tables["classification-texts"]
    row = dict(zip(table.header, table.rows[0], strict=True))
    assert row["|C|"] == "81" and row["paper |C|"] == "302" and (row["K, N = 2"], row["paper K, N = 2"]) == ("9", "18")
    assert row["train"] == "8,000" and row["classes"] == "5"


def test_generated_text_has_no_figures_of_the_paper(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stage = inputs.stage(classified=["en"])
    inputs.write_classification(stage, "en", origin="generated")
    headers = [heading for table in downstream_results(stage).all for heading in table.header]
    assert not [heading for heading in headers if heading.startswith("paper")]


def test_claims_of_the_paper_are_held_refuted_or_not_separable(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stage = inputs.stage(classified=["verses"], generated=["texts"])
    inputs.write_classification(stage, "verses")
    inputs.write_generation(stage, "texts")
    (table,) = downstream_results(stage).page["claims"]
    assert table.header == ["claim", "in the paper", "model", "|V|", "N", "english", "chinese"]
    assert [row[3:] for row in table.rows] == [
        ["|C|", "", "held (2 runs)", ""],  # bytes are better than characters
        ["|C|", "2", "held (2 runs)", ""],  # Latom is no worse than bytes
        ["8,000", "2", "held (2 runs)", ""],
        ["|C|", "2", "held (2 runs)", ""],  # Latom is better than random codes
        ["8,000", "2", "held (2 runs)", ""],
        ["|C|, 8,000", "", "refuted: 11.00, 11.00", ""],  # codes differ less
        ["|C|", "", "", "held"],  # errors in generation: bytes, random, Latom, and Latom against random
        ["|C|", "2", "", "held"],
        ["|C|", "2", "", "held"],
        ["|C|", "2", "", "not separable"],
    ]
    assert judged("lower", ["higher"]) == "refuted" and judged("one run", ["higher"]) == "one run"
    inputs.write_classification(stage, "verses", origin="generated")
    inputs.write_generation(stage, "texts", origin="generated")
    assert downstream_results(stage).page["claims"] == []
