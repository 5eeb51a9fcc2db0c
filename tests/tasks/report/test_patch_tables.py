"""Tables of patch models and patchers from small frames."""

import patch_report_inputs as inputs
import polars as pl

from tasks.report.patches import (
    boundaries_table,
    costs_table,
    examples_table,
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

SLIMPAJAMA: dict[str, str | None] = {"en": "slimpajama"}
SKYPILE: dict[str, str | None] = {"zh": "skypile"}
GENERATED: dict[str, str | None] = {"en": "builtin"}
NGRAMS = inputs.patch_ngrams()
NO_NGRAMS = NGRAMS.clear()


def cells(table: Table | None) -> list[dict[str, str]]:
    assert table is not None and len(set(table.header)) == len(table.header)
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def by_model(table: Table | None) -> dict[str, dict[str, str]]:
    return {row["model"]: row for row in cells(table)}


def test_models_stand_beside_the_papers():
    table = models_table(inputs.patch_scores(), NGRAMS, SLIMPAJAMA, ["a note"])
    rows = by_model(table)
    assert list(rows) == [
        "BPE", "bytes", "BPE-Patch", "Space-Patch", "Entropy-Patch", "Entropy-Patch, unbounded", "Character-Patch",
        "Fixed-Patch", "learned chunks", "5-grams of bytes", "single BPE tokens",
    ]  # fmt: skip
    space = rows["Space-Patch"]
    assert (space["BPB ↓"], space["against the best"], space["paper BPB"]) == (
        "2.360 ± 0.030",
        "lowest, not separable",
        "1.14",
    )
    assert (space["bytes/patch"], space["paper bytes"]) == ("4.20", "4.29")
    assert (space["fertility"], space["paper fertility"]) == ("1.43", "1.45")
    assert (rows["learned chunks"]["paper BPB"], rows["learned chunks"]["weights"]) == ("", "640,010")
    assert table.title.endswith("mean ± sd of 3 seeds") and table.notes[0] == "a note"


def test_a_distance_within_the_spread_is_not_separable():
    rows = by_model(models_table(inputs.patch_scores(), NGRAMS, GENERATED, []))
    # 0.03 to both sides: the deviation of a difference is 0.03 times the root of 2, 0.0424.
    assert rows["BPE"]["against the best"] == "+0.040, not separable"
    assert rows["learned chunks"]["against the best"] == "+0.020, not separable"
    assert rows["BPE-Patch"]["against the best"] == "+0.060"
    tied = ["BPE", "Space-Patch", "learned chunks"]
    assert [model for model, row in rows.items() if isinstance(row["BPB ↓"], Tied)] == tied
    assert "paper BPB" not in rows["BPE"]


def test_one_seed_says_nothing_about_separability():
    table = models_table(inputs.patch_scores(seeds=1), NGRAMS, GENERATED, [])
    assert not any("separable" in cell or isinstance(cell, Best | Tied) for row in table.rows for cell in row)
    assert [row[3] for row in table.rows].count("lowest, one run") == 1
    assert table.notes[-1] == "one seed: nothing is said about separability" and "seeds" not in table.title


def test_a_row_worse_than_ngrams_says_so():
    table = models_table(inputs.patch_scores(), NGRAMS, GENERATED, [])
    rows = by_model(table)
    assert rows["5-grams of bytes"]["BPB ↓"] == "2.430" and rows["single BPE tokens"]["BPB ↓"] == "3.430"
    assert (rows["BPE"]["against n-grams"], rows["bytes"]["against n-grams"]) == ("-0.030", "+0.120, worse")
    worse = [model for model, row in rows.items() if row["against n-grams"].endswith("worse")]
    assert worse == [model for model, row in rows.items() if row["weights"] and float(row["BPB ↓"][:5]) > 2.43]
    text = "en: worse than the best n-gram model: bytes, Entropy-Patch, Entropy-Patch, unbounded, Character-Patch, "
    assert f"{text}Fixed-Patch; n-grams count 10 MB, models read 7 to 7 MB" in table.notes
    for ablation in (vocabulary_table, longest_table):
        found = cells(ablation(inputs.patch_scores(), NGRAMS, []))
        assert {row["against n-grams"].endswith("worse") for row in found} == {True, False}
        assert all(row["against n-grams"].endswith("worse") == (float(row["BPB ↓"][:5]) > 2.43) for row in found)
    everything = models_table(inputs.patch_scores(), inputs.patch_ngrams(bpb=2.0), GENERATED, []).notes
    nothing = models_table(inputs.patch_scores(), inputs.patch_ngrams(bpb=3.0), GENERATED, []).notes
    assert any("model: all models;" in note for note in everything)
    assert any("model: no model;" in note for note in nothing)
    assert "against n-grams" not in models_table(inputs.patch_scores(), NO_NGRAMS, GENERATED, []).header


def test_the_small_budget_has_a_column_and_marks_of_its_own():
    table = models_table(inputs.patch_scores(), NGRAMS, GENERATED, [])
    rows = by_model(table)
    assert rows["Space-Patch"]["BPB at 0.25 of the FLOPs ↓"] == "2.660 ± 0.030"
    assert isinstance(rows["Space-Patch"]["BPB at 0.25 of the FLOPs ↓"], Tied)
    without = inputs.patch_scores().with_columns(small_bits_per_byte=None, small_share=None)
    assert not any("of the FLOPs" in heading for heading in models_table(without, NGRAMS, GENERATED, []).header)


def test_two_seeds_are_said():
    notes = [models_table(inputs.patch_scores(seeds=seeds), NGRAMS, GENERATED, []).notes[-1] for seeds in (1, 2, 3)]
    assert [note.partition(":")[0] for note in notes[:2]] == ["one seed", "two seeds"] and "seeds" not in notes[2]


def test_learning_rates_have_a_column_each():
    assert rates_table(inputs.patch_losses(), []) is None
    rows = by_model(rates_table(inputs.patch_search(), []))
    assert list(rows) == list(by_model(models_table(inputs.patch_scores(), NO_NGRAMS, GENERATED, [])))
    assert {model: row["chosen"] for model, row in rows.items() if row["chosen"] != "0.004"} == {"bytes": "0.008"}
    last = inputs.patch_search().filter(pl.col("small"), variant="bpe", learning_rate=2e-3)["held_out"][-1]
    assert rows["BPE-Patch"]["0.002"] == f"{last:.3f}"


def test_models_with_hash_embeddings_are_named():
    scores = inputs.patch_scores().with_columns(hash=pl.col("variant").is_in(["space", "entropy"]))
    notes = models_table(scores, NO_NGRAMS, GENERATED, []).notes
    assert notes[1] == "with hash n-gram embeddings: Space-Patch, Entropy-Patch"


def test_titles_say_what_was_equal():
    scores = inputs.patch_scores()
    assert models_table(scores, NO_NGRAMS, GENERATED, []).title.startswith("Patch models at equal training FLOPs:")
    steps = models_table(scores.with_columns(steps=pl.lit(13_500)), NO_NGRAMS, GENERATED, []).title
    assert steps.startswith("Patch models after equally many steps:")


def test_each_corpus_has_its_own_best():
    english = inputs.patch_scores("en")
    chinese = inputs.patch_scores("zh").with_columns(
        bits_per_byte=pl.when(variant="fixed").then(1.0).otherwise("bits_per_byte")
    )
    table = models_table(pl.concat([english, chinese]), NO_NGRAMS, SKYPILE, [])
    lowest = [(row["corpus"], row["model"]) for row in cells(table) if row["against the best"][:4] in ("best", "lowe")]
    assert lowest == [("en", "Space-Patch"), ("zh", "Fixed-Patch")]
    best = [(row["corpus"], row["model"]) for row in cells(table) if isinstance(row["BPB ↓"], Best)]
    assert best == [("zh", "Fixed-Patch")] and "| **1.000 ± 0.000** | best |" in table.markdown()
    printed = {(row["corpus"], row["model"]): row["paper BPB"] for row in cells(table) if row["paper BPB"]}
    assert printed == {("zh", "BPE-Patch"): "1.20", ("zh", "Space-Patch"): "1.24", ("zh", "Entropy-Patch"): "1.27"}


def test_medium_models_stand_beside_table_4():
    rows = by_model(models_table(inputs.patch_scores(size="medium"), NO_NGRAMS, {"en": "slimpajama-chunks"}, []))
    assert (rows["BPE-Patch"]["paper BPB"], rows["BPE"]["paper BPB"], rows["bytes"]["paper BPB"]) == (
        "0.98",
        "1.02",
        "",
    )
    weights = by_model(costs_table(inputs.patch_scores(size="medium"), SLIMPAJAMA, []))
    assert weights["Entropy-Patch"]["paper weights"] == "575M"


def test_costs_are_in_millions_of_flops_a_byte():
    rows = by_model(costs_table(inputs.patch_scores(), SLIMPAJAMA, ["a note"]))
    patch = rows["BPE-Patch"]
    # 0.24, 0.32 and 0.48 GFLOPs for 512 bytes; the paper has 554 GFLOPs for 8,192 bytes.
    assert (patch["MFLOPs/byte, formula"], patch["as built"], patch["padded"]) == ("0.469", "0.625", "0.938")
    assert (patch["paper formula"], patch["paper weights"]) == ("67.6", "99.7M")
    spent = [patch[column] for column in ("training TFLOPs", "steps", "training MB", "epochs")]
    assert spent == ["25.0", "975", "7", "2.50"]
    assert (rows["BPE"]["MFLOPs/byte, formula"], rows["bytes"]["padded"]) == ("0.709", "0.64")


def test_vocabularies_share_their_middle_with_the_main_comparison():
    found = cells(vocabulary_table(inputs.patch_scores(), NGRAMS, []))
    assert [(row["|V|"], row["model"], row["BPB ↓"]) for row in found] == [
        ("1,024", "BPE", "2.460"),
        ("1,024", "BPE-Patch", "2.450"),
        ("4,096", "BPE", "2.400 ± 0.030"),
        ("4,096", "BPE-Patch", "2.420 ± 0.030"),
        ("16,384", "BPE", "2.450"),
        ("16,384", "BPE-Patch", "2.440"),
    ]
    assert found[0]["nats/token"] == f"{2.46 * 3 * 0.693147:.3f}"


def test_longest_patches_are_in_order():
    found = cells(longest_table(inputs.patch_scores(), NGRAMS, []))
    assert [(row["S"], row["V'"]) for row in found] == [("4", "1,800"), ("6", "1,200"), ("8", "600"), ("10", "320")]


def test_without_ablations_there_are_no_tables_of_them():
    scores = inputs.patch_scores().filter(pl.col("ablation").is_null())
    assert vocabulary_table(scores, NGRAMS, []) is None and longest_table(scores, NGRAMS, []) is None


def test_patchers_stand_beside_the_papers_lengths():
    rows = {(row["patcher"], row["S"]): row for row in cells(patchers_table(inputs.patchers(), SLIMPAJAMA, ["a note"]))}
    assert rows["entropy-published", ""]["threshold, nats"] == "1.3354"
    assert (rows["entropy", ""]["calibrated"], rows["space", ""]["calibrated"]) == ("4.05", "")
    assert rows["space", ""]["paper bytes"] == "4.29" and rows["entropy", ""]["paper bytes"] == "3.45"
    # The paper's BPE is GPT-2's, so its length stands beside that tokenizer alone.
    assert rows["gpt2", "10"]["paper bytes"] == "4.12" and rows["bpe", "10"]["paper bytes"] == ""
    assert (rows["bpe", "4"]["symbols"], rows["bpe", "10"]["symbols/patch"]) == ("457", "4.90")
    generated = patchers_table(inputs.patchers(), GENERATED, ["a note"])
    assert "paper bytes" not in generated.header and generated.notes[0] == "a note"


def test_llama3_stands_beside_table_3():
    named = [pl.col(name).replace("gpt2", "llama3") for name in ("patcher", "tokenizer")]
    patchers = inputs.patchers("zh").with_columns(named)
    rows = {row["patcher"]: row["paper bytes"] for row in cells(patchers_table(patchers, SKYPILE, []))}
    assert (rows["llama3"], rows["space"], rows["entropy"], rows["bpe"]) == ("3.62", "3.06", "1.66", "")


def test_boundaries_have_words_only_where_some_corpus_has_gold_words():
    table = boundaries_table(inputs.patchers(), inputs.patch_scores(), [])
    assert table.header == ["corpus", "patcher", "spaces P", "spaces R", "spaces F1"]
    both = pl.concat([inputs.patchers(), inputs.patchers("zh", gold=True)], how="vertical_relaxed")
    rows = {(row["corpus"], row["patcher"]): row for row in cells(boundaries_table(both, inputs.patch_scores(), []))}
    assert (rows["zh", "space"]["words F1"], rows["zh", "space"]["word F1"]) == ("53.0", "31.0")
    assert (rows["en", "space"]["words F1"], rows["en", "space"]["spaces R"]) == ("", "90.0")
    learned = rows["en", "learned"]
    assert (learned["words F1"], learned["spaces F1"], learned["spaces P"]) == ("50.0 ± 0.0", "60.0 ± 0.0", "")
    assert ("zh", "learned") not in rows and len(rows) == 8 + 1 + 8


def test_without_gold_words_anywhere_there_are_no_columns_of_them():
    nothing = pl.lit(None)
    patchers = inputs.patchers().with_columns(gold_precision=nothing, gold_recall=nothing, gold_f1=nothing)
    scores = inputs.patch_scores().with_columns(gold_f1=nothing, whitespace_f1=nothing)
    rows = {row["patcher"]: row for row in cells(boundaries_table(patchers, scores, []))}
    assert rows["learned"]["spaces F1"] == "" and rows["space"]["spaces F1"] == "64.0"


def test_learned_boundaries_of_two_sizes_say_which():
    scores = pl.concat([inputs.patch_scores().with_columns(name=pl.lit(f"en-{size}")) for size in ("small", "medium")])
    found = [row["patcher"] for row in cells(boundaries_table(inputs.patchers(), scores, []))]
    assert found[-2:] == ["learned, en-small", "learned, en-medium"]


def test_merges_stand_beside_the_papers():
    rows = cells(merges_table(inputs.merges()))
    assert [(row["S"], row["merges"], row["V'"], row["paper V'"]) for row in rows] == [
        ("4", "5,095", "5,352", ""),
        ("10", "240", "497", "497"),
    ]
    assert "paper V'" not in merges_table(inputs.merges("en-4096")).header


def test_zero_shot_tasks_have_the_papers_metrics_and_rows():
    table = zero_shot_table(inputs.zero_shot(), SLIMPAJAMA, ["a note"])
    assert table.header == ["corpus", "model", "HellaSwag, acc_norm", "LAMBADA, acc", "PIQA, acc"]
    rows = by_model(table)
    assert rows["BPE-Patch"]["HellaSwag, acc_norm"] == "36.0 ± 1.4" and rows["guessing"]["PIQA, acc"] == "50.0"
    assert rows["guessing"]["LAMBADA, acc"] == "" and rows["BPE-Patch, paper"]["PIQA, acc"] == "63.3"
    assert (
        table.notes[-1]
        == "items (largest standard error): HellaSwag 200 (± 2.0), LAMBADA 200 (± 2.0), PIQA 200 (± 2.0)"
    )
    assert not any("paper" in model for model in by_model(zero_shot_table(inputs.zero_shot(), GENERATED, [])))


def test_a_task_without_the_papers_metric_shows_its_own():
    scores = inputs.zero_shot().filter(pl.col("metric") == "acc")
    assert "HellaSwag, acc" in zero_shot_table(scores, GENERATED, []).header


def test_samples_show_every_model():
    table = examples_table("en", [inputs.EXAMPLE, inputs.EXAMPLE | {"texts": {"bpe": " a", "toy": " b"}}])
    assert table.header == ["prompt", "text", "BPE", "BPE-Patch", "toy"]
    assert table.rows[1][2:] == ["", " a", " b"]
