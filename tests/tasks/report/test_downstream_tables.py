"""Tables of classification and of decoding errors, and verdicts in words."""

import pytest
import report_inputs as inputs

from tasks.report.downstream import downstream_results, judged
from tasks.report.summary import claim_findings


@pytest.fixture
def stage(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stage = inputs.stage(classified=["verses"], generated=["texts"])
    inputs.write_classification(stage, "verses")
    inputs.write_generation(stage, "texts")
    return stage


@pytest.fixture
def tables(stage):
    return {table.name: table for table in downstream_results(stage).all}


def test_f1_of_each_cut(tables):
    table = tables["classification-f1-transformer"]
    assert table.header[-1] == "english"
    assert table.rows[:4] == [
        ["|V| = |C|", "bpe", "characters", "", "50.50 ± 0.71"],
        ["|V| = |C|", "bpe", "bytes", "", "61.50 ± 0.71"],
        ["|V| = |C|", "bpe", "random", "2", "52.50 ± 0.71"],
        ["|V| = |C|", "bpe", "Latom", "2", "60.50 ± 0.71"],
    ]
    row = tables["classification-texts"].records[0]
    assert (row["|C|"], row["K, N = 2"]) == ("81", "9")


def test_verdicts_of_classification(tables):
    table = tables["classification-verdicts-transformer"]
    assert table.rows[2][4:] == ["not separable (2 runs): +2.00 ± 3.00", "lower (2 runs): -9.00 ± 3.00", ""]
    assert [name.split()[-1] for name in table.header[4:]] == ["characters", "bytes", "random"]
    assert table.rows[3][6] == "higher (2 runs): +8.00 ± 3.00"


def test_changes_on_perturbed_texts(tables):
    table = tables["classification-perturbed-linear"]
    assert table.header[-2:] == ["typos", "case"]
    assert table.rows[1] == ["english", "|V| = |C|", "bpe", "bytes", "", "61.0", "-9.0 ± 1.4", "-29.0 ± 1.4"]


def test_errors_of_each_code_beside_the_papers(tables):
    table = tables["generation-errors"]
    assert table.header[-2:] == ["chinese", "paper chinese"]
    assert table.rows == [
        ["characters", "", "0.00 ± 0.00", "0.00 ± 0.00"],
        ["bytes", "", "31.00 ± 1.00", "11.50 ± 0.11"],
        ["random", "2", "12.00 ± 1.00", "0.77 ± 0.10"],
        ["Latom", "2", "11.00 ± 1.00", "0.66 ± 0.14"],
    ]
    verdicts = tables["generation-verdicts"]
    assert [name.split()[-1] for name in verdicts.header[2:]] == ["bytes", "random"]
    assert [row[2:] for row in verdicts.rows] == [["lower", ""], ["", ""], ["lower", ""], ["lower", "not separable"]]
    costs = tables["generation-costs"]
    assert {row["n-grams"] for row in costs.records} == {"4.000"} and "worse than n-grams" in costs.notes[0]
    assert costs.notes[0].endswith("4 of 4 rows")
    row = costs.records[1]
    assert row["bits/character"] == "4.100 ± 0.100" and row["saved"] == "0.1000 ± 0.0000"
    assert (row["errors, free"], row["errors, constrained"]) == ("93 of 300", "0 of 300")


def test_claims_of_the_paper_are_held_refuted_or_not_separable(stage):
    (table,) = downstream_results(stage).page["claims"]
    assert table.header[-2:] == ["english", "chinese"]
    assert [row[3:] for row in table.rows] == [
        ["|C|", "", "held (2 runs)", ""],  # bytes are better than characters
        ["|C|", "2", "held (2 runs)", ""],  # Latom is no worse than bytes
        ["8,000", "2", "held (2 runs)", ""],
        ["|C|", "2", "held (2 runs)", ""],  # Latom is better than random codes
        ["8,000", "2", "held (2 runs)", ""],
        ["|C|, 8,000", "", "not separable (2 runs): 11.00, 11.00", ""],  # codes differ less
        ["|C|", "", "", "held"],  # errors in generation: bytes, random, Latom, and Latom against random
        ["|C|", "2", "", "held"],
        ["|C|", "2", "", "held"],
        ["|C|", "2", "", "not separable"],
    ]
    assert judged("lower", ["higher"]) == "refuted" and judged("one run", ["higher"]) == "one run"
    texts = [finding.text for finding in claim_findings([table])]
    assert texts[1].startswith("“Latom is no worse than bytes” ") and "held on english (2 runs)" in texts[1]
    assert len(texts) == 10 and "|V| = |C|, 8,000" in texts[5] and "not separable on english (2 runs)" in texts[5]


def test_generated_text_has_no_figures_and_claims_of_the_paper(stage):
    inputs.write_classification(stage, "verses", origin="generated")
    inputs.write_generation(stage, "texts", origin="generated")
    found = downstream_results(stage)
    assert found.page["claims"] == [] and "No verdict" in next(claim_findings([])).text
    assert not [heading for table in found.all for heading in table.header if "paper" in heading]
