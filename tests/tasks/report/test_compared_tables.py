"""Ways of cutting on equal terms: the tables, their verdicts, and the answer for each corpus."""

import polars as pl
import pytest
import report_inputs as inputs

from tasks.report.compared import _front, compared_figures, compared_results


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def results(*, budgets=("flops", "bytes"), **seeds):
    """The results of corpora with so many seeds of each method."""
    stage = inputs.stage(compared=[*seeds])
    for name, number in seeds.items():
        inputs.write_compared(stage, name, number, budgets)
    return compared_results(stage)


def test_methods_stand_by_their_bits_with_the_verdict_and_ngrams_below():
    found = results(thai=3)
    tables = found.page["corpora"]["thai"]
    first, second, third, *below = tables[0].records
    assert [row["method"] for row in tables[0].records] == ["words", "chunks", "bpe", *["5-grams of bytes"] * 2]
    assert first["bits/byte ↓"] == "2.010 ± 0.010"
    assert [(row["bits/byte ↓"], row["MB read"]) for row in below] == [("2.100", "8"), ("2.900", "2")]
    assert [row["verdict"] for row in (first, second, third)] == ["best", "not separable", "worse"]
    assert [row["behind"] for row in (first, second, third)] == ["", "0.050 ± 0.100", "0.200 ± 0.100"]
    assert (first["exact"], first["gap"], second["exact"]) == ("1.900", "0.0500", "")
    units = {row["method"]: row for row in tables[2].records}
    assert units["words"]["F1, gold words ↑"] == "75.0" and units["chunks"]["F1, gold words ↑"] == ""
    assert tables[3].records[0]["typos"] == "+0.500" and tables[4].records[0]["nfd"] == "80.0"
    (answer,) = found.page["answers"][0].records
    assert (answer["use"], answer["command"]) == ("words", "tokenlab train --cut words --bytes fallback")
    (finding,) = found.page["findings"]
    assert finding.text == "thai: Use words: why." and finding.anchor == "compared-thai"


def test_methods_behind_ngrams_are_named_in_every_table_of_bits():
    found = results(thai=3, chinese=3)
    behind = (
        "thai: worse than 5-grams of bytes counted on 8 MB of training text (2.100 bits per byte of test text): bpe"
    )
    for table in (*found.page["corpora"]["thai"], found.page["answers"][1]):
        assert (behind in table.notes) == ("units" not in table.name and "boundaries" not in table.name)


def test_verdicts_on_two_runs_say_so():
    found = results(thai=2)
    verdicts = [row["verdict"] for row in found.page["corpora"]["thai"][0].records[:3]]
    assert verdicts == ["best (2 runs)", "not separable (2 runs)", "worse (2 runs)"]
    assert found.page["answers"][0].records[0]["why"] == "Use words: why. Each method has two runs."


def test_one_seed_has_no_verdict():
    found = results(thai=1)
    table = found.page["corpora"]["thai"][0]
    (answer,) = found.page["answers"][0].records
    assert "verdict" not in table.header and answer["use"] == "words" and "one run" in answer["why"]


def test_without_trainings_at_equal_bytes():
    """As in the preset `news`."""
    found = results(thai=3, budgets=["flops"])
    assert "compared-thai" in (names := [table.name for table in found.all]) and "compared-bytes-thai" not in names
    assert found.page["answers"][0].records[0]["use"] == "words"


def test_corpora_stand_side_by_side_where_there_are_several():
    _, table = results(thai=3, chinese=1).page["answers"]
    first, *_, as_much, of_all = table.records
    assert first == {"method": "words", "thai": "2.010 ± 0.010", "chinese": "2.000"}
    assert "as much text" in as_much.pop("method") and as_much == {"thai": "2.900", "chinese": "2.900"}
    assert "all text" in of_all.pop("method") and of_all == {"thai": "2.100", "chinese": "2.100"}
    assert table.title.endswith("1 or 3 seeds")


def test_a_picture_for_each_corpus(tmp_path):
    stage = inputs.stage(compared=["thai"])
    inputs.write_compared(stage, "thai")
    for draw in compared_figures(stage, tmp_path / "figures"):
        draw()
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"thai.png", "thai.svg"}
    assert not [*compared_figures(inputs.stage(), tmp_path)]


def test_the_front_has_what_nothing_cheaper_is_as_good_as():
    points = pl.DataFrame({"flops": [3, 1, 2, 4, 2], "bits_per_byte": [1.0, 2.0, 2.5, 1.0, 1.5]})
    assert _front(points, "flops").rows() == [(1, 2.0), (2, 1.5), (3, 1.0)]
