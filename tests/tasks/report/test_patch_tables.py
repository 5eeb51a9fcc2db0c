"""Tables of patch models and patchers from small frames."""

import patch_report_inputs as inputs
import polars as pl
import pytest

from tasks.report.patches import (
    longest_table,
    merges_table,
    models_table,
    patchers_table,
    rates_table,
    vocabulary_table,
    zero_shot_table,
)
from tasks.report.table import Table
from tasks.report.verdict import Best, Tied

GENERATED: dict[str, str | None] = {"en": "builtin"}
NGRAMS = inputs.patch_ngrams()
NO_NGRAMS = NGRAMS.clear()


def by_model(table: Table) -> dict[str, dict[str, str]]:
    return {row["model"]: row for row in table.records}


@pytest.mark.parametrize(
    ("size", "source", "printed"),
    [
        ("mini", "slimpajama", {"Space-Patch": "1.14", "learned chunks": ""}),
        ("mini", "skypile", {"BPE-Patch": "1.20", "Space-Patch": "1.24", "Entropy-Patch": "1.27", "bytes": ""}),
        ("medium", "slimpajama-chunks", {"BPE-Patch": "0.98", "BPE": "1.02", "bytes": ""}),
    ],
)
def test_models_stand_beside_those_of_the_paper_on_the_same_text(size, source, printed):
    rows = by_model(models_table(inputs.patch_scores(size=size), NGRAMS, {"en": source}, []))
    assert {model: rows[model]["paper BPB"] for model in printed} == printed
    assert "paper BPB" not in models_table(inputs.patch_scores(size=size), NGRAMS, GENERATED, []).header


def test_a_distance_within_the_spread_is_not_separable():
    rows = by_model(models_table(inputs.patch_scores(), NGRAMS, GENERATED, []))
    assert rows["Space-Patch"]["BPB ↓"] == "2.360 ± 0.030"
    # 0.03 to both sides: the deviation of a difference is 0.03 times the root of 2, 0.0424.
    assert rows["BPE"]["against the best"] == "+0.040, not separable"
    assert rows["learned chunks"]["against the best"] == "+0.020, not separable"
    assert rows["BPE-Patch"]["against the best"] == "+0.060"
    for column in ("BPB ↓", "BPB at 0.25 of the FLOPs ↓"):
        tied = [model for model, row in rows.items() if isinstance(row[column], Tied)]
        assert tied == ["BPE", "Space-Patch", "learned chunks"]


def test_one_seed_and_two_seeds_are_said():
    one, two, three = (models_table(inputs.patch_scores(seeds=seeds), NGRAMS, GENERATED, []) for seeds in (1, 2, 3))
    assert not any("separable" in cell or isinstance(cell, Best | Tied) for row in one.rows for cell in row)
    assert [row[3] for row in one.rows].count("lowest, one run") == 1
    assert one.notes[-1].startswith("one seed: ") and two.notes[-1].startswith("two seeds: ")
    assert "seeds: " not in three.notes[-1]


def test_a_row_worse_than_ngrams_says_so():
    table = models_table(inputs.patch_scores(), NGRAMS, GENERATED, [])
    rows = by_model(table)
    assert rows["5-grams of bytes"]["BPB ↓"] == "2.430" and rows["single BPE tokens"]["BPB ↓"] == "3.430"
    assert (rows["BPE"]["against n-grams"], rows["bytes"]["against n-grams"]) == ("-0.030", "+0.120, worse")
    models = [row for row in rows.values() if row["weights"]]
    for found in (
        models,
        *(make(inputs.patch_scores(), NGRAMS, []).records for make in (vocabulary_table, longest_table)),
    ):
        assert {"worse" in row["against n-grams"] for row in found} == {True, False}
        assert all(("worse" in row["against n-grams"]) == (float(row["BPB ↓"][:5]) > 2.43) for row in found)
    for bpb, worse in ((2.0, "all models"), (3.0, "no model")):
        notes = models_table(inputs.patch_scores(), inputs.patch_ngrams(bpb=bpb), GENERATED, []).notes
        assert any(f"model: {worse};" in note for note in notes)
    assert "against n-grams" not in models_table(inputs.patch_scores(), NO_NGRAMS, GENERATED, []).header


def test_each_corpus_has_its_own_best():
    chinese = inputs.patch_scores("zh").with_columns(
        bits_per_byte=pl.when(variant="fixed").then(1.0).otherwise("bits_per_byte")
    )
    table = models_table(pl.concat([inputs.patch_scores("en"), chinese]), NO_NGRAMS, {}, [])
    lowest = [(row["corpus"], row["model"]) for row in table.records if row["against the best"][:4] in ("best", "lowe")]
    assert lowest == [("en", "Space-Patch"), ("zh", "Fixed-Patch")]
    best = [(row["corpus"], row["model"]) for row in table.records if isinstance(row["BPB ↓"], Best)]
    assert best == [("zh", "Fixed-Patch")]


def test_without_ablations_and_a_search_there_are_no_tables_of_them():
    scores = inputs.patch_scores().filter(pl.col("ablation").is_null())
    assert not vocabulary_table(scores, NGRAMS, []).rows and not longest_table(scores, NGRAMS, []).rows
    assert not rates_table(inputs.patch_losses(), NGRAMS, []).rows


def test_a_model_worse_than_ngrams_with_every_rate_is_named():
    search = [
        {"name": "en", "variant": variant, "seed": 0, "learning_rate": rate, "small": small, "held_out": bits}
        for variant, lowest in (("bytes", 2.44), ("space", 2.42))
        for rate, small, bits in ((0.002, True, lowest + 1), (0.004, True, lowest), (0.004, False, 2.0))
    ]
    table = rates_table(pl.DataFrame(search), NGRAMS, [])
    assert [row["0.004"] for row in table.records] == ["2.440", "2.420"]
    assert table.notes == ["en: worse than n-grams of all the training text (2.430 on test text): bytes"]


def test_patchers_stand_beside_the_papers_lengths():
    rows = {
        (row["patcher"], row["S"]): row for row in patchers_table(inputs.patchers(), {"en": "slimpajama"}, []).records
    }
    assert rows["space", ""]["paper bytes"] == "4.29" and rows["entropy", ""]["paper bytes"] == "3.45"
    # The paper's BPE is GPT-2's, and Llama 3's for Chinese: their lengths stand beside these tokenizers alone.
    assert rows["gpt2", "10"]["paper bytes"] == "4.12" and rows["bpe", "10"]["paper bytes"] == ""
    assert (rows["bpe", "4"]["symbols"], rows["bpe", "10"]["symbols/patch"]) == ("457", "4.90")
    named = [pl.col(name).replace("gpt2", "llama3") for name in ("patcher", "tokenizer")]
    chinese = patchers_table(inputs.patchers("zh").with_columns(named), {"zh": "skypile"}, []).records
    printed = {row["patcher"]: row["paper bytes"] for row in chinese}
    assert (printed["llama3"], printed["space"], printed["bpe"]) == ("3.62", "3.06", "")
    merges = merges_table(inputs.merges()).records
    assert [(row["S"], row["V'"]) for row in merges] == [("4", "5,352"), ("10", "497")]


def test_zero_shot_tasks_have_the_papers_metrics_and_rows():
    rows = by_model(zero_shot_table(inputs.zero_shot(), {"en": "slimpajama"}, []))
    assert rows["BPE-Patch"]["HellaSwag, acc_norm"] == "36.0 ± 1.4" and rows["guessing"]["PIQA, acc"] == "50.0"
    assert rows["guessing"]["LAMBADA, acc"] == "" and rows["BPE-Patch, paper"]["PIQA, acc"] == "63.3"
    assert not any("paper" in model for model in by_model(zero_shot_table(inputs.zero_shot(), GENERATED, [])))
    of_one_metric = inputs.zero_shot().filter(pl.col("metric") == "acc")
    assert "HellaSwag, acc" in zero_shot_table(of_one_metric, GENERATED, []).header
