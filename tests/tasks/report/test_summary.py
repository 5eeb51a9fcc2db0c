"""The summary of the report: sentences that say no more than the tables."""

import re

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


def says(text: str, *facts: str) -> bool:
    """Whether a sentence holds these facts in this order."""
    return re.search(".*".join(map(re.escape, facts)), text) is not None


def test_words_have_a_best_only_where_the_table_has():
    (found,) = findings("50.0 ± 0.1", Best("60.0 ± 0.1"))
    assert says(found, "method1, λ = 4 (60.0 ± 0.1) is best", "40.0 ± 0.1")
    (found,) = findings(Tied("59.0 ± 9.0"), Tied("60.0 ± 0.1"))
    assert says(found, "method1, λ = 4 (60.0 ± 0.1)", "method0, λ = 4 (59.0 ± 9.0)", "not separable")
    (found,) = findings("50.0", "60.0")
    assert says(found, "method1, λ = 4 (60.0)", "one run", "no verdict")
    assert not findings("50.0 ± 0.1", "60.0 ± 0.1") and not findings("1.5", column="characters")


def saved(label: str, *verdicts: str) -> Table:
    rows = [[f"corpus{number}", "+1", verdict] for number, verdict in enumerate(verdicts)]
    title = f"All corpora, BPE at |V| = {label}, N = 2: x"
    return Table(f"codes-saved-{label}", title, ["corpus", "x", "best"], rows, [])


def test_codes_are_counted_at_the_smallest_and_the_largest_size():
    smallest = saved("C", "Latom", "not separable: Latom; random", "Latom")
    first, last = (found.text for found in code_findings([smallest, saved("5", "x"), saved("9", "characters", "")]))
    assert says(first, "|V| = C: ", "Latom on corpus0 and corpus2", "not separable on corpus1")
    assert says(last, "|V| = 9: ", "no code", "on corpus0")
    few = ["characters (2 runs)", "not separable: Latom; random (1 run)"]
    (many,) = code_findings([saved("C", *["Latom"] * 7, "one run", *few)])
    assert says(many.text, "Latom on 7 corpora", "one run", "on corpus7", "no code", "on corpus8 (2 runs)")
    assert says(many.text, "not separable on corpus9 (1 run)")


def test_exact_probabilities_and_naive_ones_stand_side_by_side():
    scores = inputs.exact_scores("en")
    assert bits_table(scores, []).notes[-1] == "worse than n-grams, so little was learned: en; each is one training"
    assert "worse" not in " ".join(bits_table(scores.with_columns(ngram_bits_per_character=2.5), []).notes)
    bits, bias = (found.text for found in exact_findings([bits_table(scores, []), bias_table(scores, [])]))
    assert says(bits, "1.9000", "2.0000") and "5.00 %" in bits and "25.0 %" in bias


def test_bits_patches_and_languages():
    lengths = Table("bits-savings", "", ["corpus", "0 known"], [["ja", "1.0 / 2.0 / 3.5"], ["zh", "1 / 2 / 9.0"]], [])
    (found,) = bits_findings([lengths], [])
    assert "3.5 % (ja) to 9.0 % (zh)" in found.text
    rows = [
        ["en", "BPE", Best("2.0 ± 0.1"), "-0.1"],
        ["en", "bytes", "3.0 ± 0.1", "+0.9, worse"],
        ["zh", "BPE", "1.0", "+0.1, worse"],
        ["zh", "bytes", "2.0", "+1.1, worse"],
        ["zh", "5-grams of bytes", "0.9", ""],
    ]
    header = ["corpus", "model", "BPB ↓", "against n-grams"]
    english, chinese = (found.text for found in patch_findings([Table("patch-models", "", header, rows, [])]))
    assert says(english, "BPE (2.0 ± 0.1) is best", "1 of 2 are worse")
    assert says(chinese, "BPE (1.0)", "one run", "2 of 2 are worse")
    rows = [
        ["en-de", "byte fallback", "1.0", "7"],
        ["en-de", "bit-level", "2.0", "0"],
        ["de-en", "bit-level", "40.0", "0"],
    ]
    rows += [["de-en", "byte fallback", "30.0", "7"]]
    silent, chrf, _ = bits_findings([], [Table("translation", "", ["pair", "code", "chrF", "decode errors"], rows, [])])
    assert says(silent.text, "en-de: no model", "2.0") and "bit-level (40.0)" in chrf.text
    parity = Table("parity-all", "", ["tokenizer", "Gini ↓"], [["byte", "0.250"], ["bits", "0.125"]], [])
    (found,) = parity_findings([parity])
    assert says(found.text, "most even", "bits (Gini 0.125)", "byte (0.250)")
