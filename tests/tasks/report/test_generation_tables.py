"""Tables of decoding errors: the layout of the paper's, its figures beside ours, and verdicts in words."""

import pytest
import report_inputs as inputs

from tasks.report.downstream import downstream_results, verdict_word
from tasks.report.verdict import Spread


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stage = inputs.stage(generated=["verses"])
    inputs.write_generation(stage, "verses")
    return {table.name: table for table in downstream_results(stage).all}


def test_a_row_for_each_code_beside_the_papers_figures(tables):
    table = tables["generation-errors"]
    assert table.header == ["code", "N", "chinese", "paper chinese"]
    assert table.rows == [
        ["characters", "", "0.00 ± 0.00", "0.00 ± 0.00"],
        ["bytes", "", "31.00 ± 1.00", "11.50 ± 0.11"],
        ["random", "2", "12.00 ± 1.00", "0.77 ± 0.10"],
        ["Latom", "2", "11.00 ± 1.00", "0.66 ± 0.14"],
    ]
    assert "100 texts of each model; mean ± sd of 3 seeds" in table.title


def test_verdicts(tables):
    table = tables["generation-verdicts"]
    assert table.header == ["code", "N", "chinese, against bytes", "chinese, against random"]
    assert [row[2:] for row in table.rows] == [["lower", ""], ["", ""], ["lower", ""], ["lower", "not separable"]]
    assert verdict_word(Spread(1, 0.1, 2), Spread(0.5, 0.1, 3)) == "higher (2 runs)"
    assert verdict_word(Spread(1, None, 1), Spread(0.5, None, 1)) == "one run"


def test_kinds_and_costs(tables):
    kinds, costs = tables["generation-kinds"], tables["generation-costs"]
    assert dict(zip(kinds.header, kinds.rows[1], strict=True))["truncated"] == "31.00 ± 1.00"
    row = dict(zip(costs.header, costs.rows[1], strict=True))
    assert row["bits/character"] == "4.100 ± 0.100" and row["saved"] == "0.1000 ± 0.0000"
    assert (row["errors, free"], row["errors, constrained"]) == ("93 of 300", "0 of 300")


def test_the_papers_figures_do_not_stand_beside_built_in_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stage = inputs.stage(generated=["en"])
    inputs.write_generation(stage, "en", origin="generated")
    assert not [name for table in downstream_results(stage).all for name in table.header if "paper" in name]
