"""The table of trained tokenizers: each size beside byte-level BPE of that size, and the verdict by all seeds."""

import report_inputs as inputs

from tasks.report.measures import measure_results


def test_each_tokenizer_stands_beside_byte_level_of_its_size(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stage = inputs.stage(tokenizers=["thai"])
    inputs.write_tokenizers(stage, "thai")
    (table,) = measure_results(stage).main
    assert table.name == "tokenizers-thai" and "at 2e+09 training FLOPs; mean ± sd of 3 seeds" in table.title
    rows = [dict(zip(table.header, row, strict=True)) for row in table.rows]
    assert [(row["size"], row["tokenizer"]) for row in rows] == [
        (size, name) for size in ("300", "400") for name in ("auto", "byte-level", "uncut")
    ]
    assert [row["× tokens"] for row in rows[:3]] == ["0.900", "1.000", "0.950"]
    assert [row["against byte-level"] for row in rows[:3]] == ["lower", "", "not separable"]
    assert rows[0]["bits/byte"] == "2.0100 ± 0.0100" and rows[0]["bytes/token"] == "3.333"
