"""Tables of measures from small frames of scores."""

import polars as pl
import report_inputs as inputs

from tasks.compare.rows import SCHEMA
from tasks.report.measures import measure_tables


def row(name, corpus, family, tokenizer, **values):
    sizes = {"texts": 10, "characters": 100, "bytes": 300, "vocabulary": 1000, "types": 50, "tokens": 60}
    fixed = {"name": name, "corpus": corpus, "family": family, "tokenizer": tokenizer, "param.reference": "models/en"}
    return dict.fromkeys(SCHEMA) | fixed | sizes | values


FACTS = {name: inputs.corpus_facts(name) for name in ("en", "zh")}
SCORES = pl.DataFrame(
    [
        row("zh", "zh", "code", "byte", normalised_length=1.5, words=20, fertility=3.0),
        row("zh", "zh", "reference", "en", normalised_length=1.0, words=20, fertility=2.0, words_kept_whole=0.25),
        *(row("two", corpus, "code", "byte", parity=p, gini=0.125) for corpus, p in (("en", 1.0), ("zh", 1.5))),
        *(row("two", corpus, "reference", "en", parity=p, gini=0.25) for corpus, p in (("en", 1.0), ("zh", None))),
    ],
    schema=SCHEMA,
)


def test_languages_side_by_side_come_first():
    parity, measures = measure_tables(SCORES, FACTS)
    assert (parity.name, measures.name) == ("parity-two", "measures-zh")
    assert parity.header == ["tokenizer", "kind", "en", "zh", "Gini ↓"]
    assert parity.rows == [["byte", "code", "1.00", "1.50", "0.125"], ["en", "reference", "1.00", "", "0.250"]]


def test_a_column_for_each_measure_that_has_a_value():
    table = measure_tables(SCORES, FACTS)[1]
    cells = [dict(zip(table.header, cells, strict=True)) for cells in table.rows]
    assert table.header == [
        "tokenizer",
        "kind",
        "|V|",
        "tokens ↓",
        "fertility ↓",
        "words kept whole ↑",
        "normalised length ↓",
    ]
    assert cells[0]["words kept whole ↑"] == "" and cells[1]["words kept whole ↑"] == "25.0"
    assert cells[0]["fertility ↓"] == "3.000" and "20 words" in table.title
    assert any("models/en" in note for note in table.notes) and not any("Rényi" in note for note in table.notes)


def test_no_scores_no_tables():
    assert measure_tables(pl.DataFrame(schema=SCHEMA), FACTS) == []
