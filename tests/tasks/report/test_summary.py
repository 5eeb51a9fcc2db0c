"""The summary of the report: sentences that say no more than the tables."""

import report_inputs as inputs

from tasks.report.exact import bias_table, bits_table
from tasks.report.summary import (
    bits_findings,
    code_findings,
    exact_findings,
    parity_findings,
    patch_findings,
    word_findings,
)
from tasks.report.table import Table
from tasks.report.verdict import Best, Ours, Tied


def findings(*cells: str, column: str = "F1") -> list[str]:
    """What is said of methods with these F1."""
    rows = [["BPE alone", "", "", "40.0 ± 0.1"]]
    rows += [[Ours(f"method{number}"), "4", cell, ""] for number, cell in enumerate(cells)]
    table = Table("segmentation-zh-full", "", ["method", "λ", column, "BPE F1"], rows, [])
    return [found.text for found in word_findings([{"facts": {"corpus": "zh"}, "tables": [table]}])]


def test_words_have_a_best_only_where_the_table_has():
    (found,) = findings("50.0 ± 0.1", Best("60.0 ± 0.1"))
    assert found.endswith(": method1, λ = 4 (60.0 ± 0.1) is best; BPE alone has 40.0 ± 0.1.")
    (found,) = findings(Tied("59.0 ± 9.0"), Tied("60.0 ± 0.1"))
    assert "method1, λ = 4 (60.0 ± 0.1) and method0, λ = 4 (59.0 ± 9.0) are not separable" in found
    (found,) = findings("50.0", "60.0")
    assert "method1, λ = 4 (60.0) comes first in one run, no verdict" in found
    assert not findings("50.0 ± 0.1", "60.0 ± 0.1") and not findings("1.5", column="characters")


def saved(label: str, *verdicts: str) -> Table:
    rows = [[f"corpus{number}", "+1", verdict] for number, verdict in enumerate(verdicts)]
    title = f"All corpora, BPE at |V| = {label}, N = 2: x"
    return Table(f"codes-saved-{label}", title, ["corpus", "x", "best"], rows, [])


def test_codes_are_counted_at_the_smallest_and_the_largest_size():
    smallest = saved("C", "Latom", "not separable: Latom; random", "Latom")
    first, last = (found.text for found in code_findings([smallest, saved("5", "x"), saved("9", "characters", "")]))
    assert first.endswith("|V| = C: Latom on corpus0 and corpus2; not separable on corpus1.")
    assert last.endswith("|V| = 9: no code, plain characters lead on corpus0.")
    few = ["characters (2 runs)", "not separable: Latom; random (1 run)"]
    (many,) = code_findings([saved("C", *["Latom"] * 7, "one run", *few)])
    assert (
        "Latom on 7 corpora; one run, no verdict on corpus7; no code, plain characters lead on corpus8 (2 runs);"
        in many.text
    )
    assert many.text.endswith("not separable on corpus9 (1 run).")


def test_exact_probabilities_and_naive_ones_stand_side_by_side():
    scores = inputs.exact_scores("en")
    bits, bias = (found.text for found in exact_findings([bits_table(scores, []), bias_table(scores, [])]))
    assert "1.9000 bits per character by all encodings, 2.0000 by the one" in bits and "5.00 % saved" in bits
    assert "in 25.0 % of the cases" in bias


def test_bits_patches_and_languages():
    lengths = Table("bits-savings", "", ["corpus", "0 known"], [["ja", "1.0 / 2.0 / 3.5"], ["zh", "1 / 2 / 9.0"]], [])
    (found,) = bits_findings([lengths], [])
    assert "save 3.5 % (ja) to 9.0 % (zh) of the tokens" in found.text
    rows = [
        ["en", "BPE", Best("2.0 ± 0.1"), "-0.1"],
        ["en", "bytes", "3.0 ± 0.1", "+0.9, worse"],
        ["zh", "BPE", "1.0", "+0.1, worse"],
        ["zh", "bytes", "2.0", "+1.1, worse"],
        ["zh", "5-grams of bytes", "0.9", ""],
    ]
    header = ["corpus", "model", "BPB ↓", "against n-grams"]
    english, chinese = (found.text for found in patch_findings([Table("patch-models", "", header, rows, [])]))
    assert "BPE (2.0 ± 0.1) is best" in english and "; 1 of 2 are worse than n-grams" in english
    assert "BPE (1.0) comes first in one run, no verdict; 2 of 2 are worse" in chinese
    rows = [
        ["en-de", "byte fallback", "1.0", "7"],
        ["en-de", "bit-level", "2.0", "0"],
        ["de-en", "bit-level", "40.0", "0"],
    ]
    rows += [["de-en", "byte fallback", "30.0", "7"]]
    silent, chrf, _ = bits_findings([], [Table("translation", "", ["pair", "code", "chrF", "decode errors"], rows, [])])
    assert silent.text == "en-de: no model translates yet; the best chrF is 2.0 of 100."
    assert "bit-level (40.0) comes first" in chrf.text
    parity = Table("parity-all", "", ["tokenizer", "Gini ↓"], [["byte", "0.250"], ["bits", "0.125"]], [])
    (found,) = parity_findings([parity])
    assert "most even over languages by bits (Gini 0.125) and least by byte (0.250)" in found.text
