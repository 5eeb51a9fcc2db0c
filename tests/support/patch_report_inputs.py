"""Small results of the patch models, to draw and to lay out without running a pipeline."""

from typing import Any

import numpy as np
import polars as pl
from report_inputs import corpus_facts

from tasks.runtime.stage import Stage, write_json
from tasks.runtime.tables import write_table

MAIN: dict[str, dict[str, Any]] = {
    "bpe-tokens": {"model": "tokens", "bpb": 2.40, "length": 3.9},
    "bytes": {"model": "bytes", "bpb": 2.55, "length": 1.0},
    "bpe": {"model": "patches", "bpb": 2.42, "length": 3.9},
    "space": {"model": "patches", "bpb": 2.36, "length": 4.2},
    "entropy": {"model": "patches", "bpb": 2.44, "length": 4.0},
    "entropy-unbounded": {"model": "patches", "bpb": 2.50, "length": 4.0},
    "character": {"model": "patches", "bpb": 2.60, "length": 1.1},
    "fixed": {"model": "patches", "bpb": 2.70, "length": 4.0},
    "learned": {"model": "chunks", "bpb": 2.38, "length": 3.7},
}
"""Variant -> its model, the mean of its bits per byte, and bytes per patch."""

DEVIATION = 0.03
"""Of the bits per byte of three seeds: those of a variant are its mean and 0.03 to both sides."""

_CONTEXT = 512


def patch_scores(corpus: str = "en", seeds: int = 3, size: str = "mini") -> pl.DataFrame:
    """What `evaluate_patch_lm` writes of a corpus: the main comparison, two vocabularies and three S."""
    rows = [_scores(name, seed, **_of_seed(facts, seed)) for name, facts in MAIN.items() for seed in range(seeds)]
    for model, name in (("tokens", "bpe-tokens"), ("patches", "bpe")):
        for vocabulary, bpb, length in ((1024, 2.46, 3.0), (16384, 2.45, 4.6)):
            point = _scores(f"{name}-v{vocabulary}", 0, model, bpb - 0.01 * (model == "patches"), length, vocabulary)
            rows.append(point | {"ablation": "vocabulary"})
    for longest in (4, 6, 8):
        point = _scores(f"bpe-s{longest}", 0, "patches", 2.5 - longest / 100, 3.9)
        rows.append(point | {"ablation": "longest", "longest": longest, "symbols": 300 * (10 - longest)})
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col("vocabulary", "longest", "seed", "cap").cast(pl.Int64), **_key(corpus, size)
    )


def _key(corpus: str, size: str = "mini") -> dict[str, pl.Expr]:
    return {"name": pl.lit(corpus), "size": pl.lit(size), "corpus": pl.lit(corpus)}


def _of_seed(facts: dict[str, Any], seed: int) -> dict[str, Any]:
    return facts | {"bpb": facts["bpb"] + DEVIATION * (seed - 1)}


def _scores(variant: str, seed: int, model: str, bpb: float, length: float, vocabulary: int = 4096) -> dict[str, Any]:
    """One row. A forward pass of a patch model costs 0.32 GFLOPs as built, 0.48 padded, and 0.24 by the formula; the
    output layer of plain BPE costs 0.00003 for each token of its vocabulary."""
    patched = model in ("patches", "chunks")
    of_bpe = variant.startswith("bpe")
    patcher = None if not patched else "learned" if model == "chunks" else variant.partition("-v")[0].partition("-s")[0]
    row: dict[str, Any] = {"variant": variant, "ablation": None, "model": model, "patcher": patcher, "seed": seed}
    row |= {"tokenizer": "en-4096" if of_bpe else None, "vocabulary": vocabulary if of_bpe else None}
    row |= {"longest": 10 if of_bpe and patched else None, "symbols": 320 if of_bpe and patched else 256}
    row |= {"cap": 6 if patcher == "space" else None, "threshold": 2.5 if patcher == "entropy" else None}
    row |= {"hash": False, "bits_per_byte": bpb, "validation_bits_per_byte": bpb + 0.01, "nats_per_symbol": 1.5}
    row |= {"nats_per_patch": None if model == "bytes" else bpb * length * np.log(2), "test_bytes": 100_000}
    row |= {"bytes_per_patch": length, "symbols_per_patch": length + of_bpe * patched, "fertility": 6 / length}
    row |= {"gold_f1": 0.5 if patched else None, "whitespace_f1": 0.6 if patched else None}
    row |= {"parameters": 640_000 + 10 * seed * (model == "chunks"), "context": _CONTEXT, "steps": round(250 * length)}
    row |= {"calibrated": 4.05 if patcher == "entropy" else None}
    row |= {"small_bits_per_byte": bpb + 0.3, "small_share": 0.25, "learning_rate": 4e-3}
    row |= {"training_bytes": 7_000_000, "epochs": 2.5, "training_flops": 2.5e13}
    head = 0.0 if patched else 3e-5 * (row["vocabulary"] or 256)
    padded = 0.48 if of_bpe and patched else 0.32 + head
    return row | {"flops_paper": 0.24 + head, "flops_built": 0.32 + head, "flops_padded": padded}


def patch_ngrams(corpus: str = "en", bpb: float = 2.43) -> pl.DataFrame:
    """N-gram models of the text of a corpus; `bpb`: of bytes, the better ones."""
    rows = [
        {"over": "bytes", "order": 5, "bits_per_byte": bpb, "validation_bits_per_byte": bpb - 0.01},
        {"over": "tokens", "order": 1, "bits_per_byte": bpb + 1, "validation_bits_per_byte": bpb + 0.9},
    ]
    return pl.DataFrame(rows).with_columns(training_bytes=10_000_000, test_bytes=100_000, name=pl.lit(corpus))


def patch_losses(corpus: str = "en", seeds: int = 3) -> pl.DataFrame:
    """The curves of the main comparison; variants make different steps for the same FLOPs."""
    tables = []
    for number, (name, facts) in enumerate(MAIN.items()):
        step = np.arange(1, 9) * (100 + 10 * number)
        for seed in range(seeds):
            held_out = facts["bpb"] + DEVIATION * (seed - 1) + 2.5 * np.exp(-np.arange(1, 9) / 2)
            table = pl.DataFrame(
                {"step": step, "bytes": step * 8192, "held_out": held_out, "training": held_out + 0.02}
            )
            tables.append(
                table.with_columns(
                    pl.lit(name).alias("variant"),
                    pl.lit(seed).alias("seed"),
                    pl.lit(False).alias("small"),
                    pl.lit(4e-3).alias("learning_rate"),
                    pl.Series("flops", np.arange(1, 9) * 3e12),
                    **_key(corpus),
                )
            )
    return pl.concat(tables)


def patchers(corpus: str = "en") -> pl.DataFrame:
    """What `patches` writes of a corpus: those of the models, the published threshold, and a real tokenizer."""
    lengths = {name: facts["length"] for name, facts in MAIN.items() if facts["model"] == "patches"}
    lengths |= {"entropy-published": 1.3, "gpt2": 4.1}
    gold = ["gold_precision", "gold_recall", "gold_f1", "word_f1"]
    rows = []
    for name, length in lengths.items():
        kind = name.partition("-")[0] if name != "gpt2" else "bpe"
        for longest in (4, 10) if kind == "bpe" else (None,):
            row: dict[str, Any] = {
                "patcher": name,
                "kind": kind,
                "tokenizer": {"bpe": "en-4096", "gpt2": "gpt2"}.get(name),
            }
            row |= {"vocabulary": 4096 if kind == "bpe" else None, "longest": longest, "modelled": name in MAIN}
            row |= {"symbols": 257 + 800 // longest if longest else 256, "cap": 6 if kind == "space" else None}
            row |= {"rule": "threshold" if kind == "entropy" else None}
            row |= {"threshold": {"entropy": 2.125, "entropy-unbounded": 2.0, "entropy-published": 1.3354}.get(name)}
            row |= {"calibrated": {"entropy": 4.05, "entropy-unbounded": 3.98}.get(name)}
            row |= {"bytes": 100_000, "characters": 99_000, "words": 17_000, "patches": round(100_000 / length)}
            row |= {"bytes_per_patch": length, "symbols_per_patch": length + 1 if longest == 10 else length}
            row |= {"symbols_made": 100_000, "largest_patch": 12, "fertility": 6 / length}
            row |= {"whitespace_precision": 0.5, "whitespace_recall": 0.9, "whitespace_f1": 0.64}
            rows.append(row | dict.fromkeys(gold))
    table = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.lit(corpus).alias("corpus"))
    return table.with_columns(pl.col(gold).cast(pl.Float64))


def patch_lengths(corpus: str = "en") -> pl.DataFrame:
    """Patches by length in bytes and in symbols."""
    rows = []
    for row in patchers(corpus).iter_rows(named=True):
        for unit, mean in (("bytes", row["bytes_per_patch"]), ("symbols", row["symbols_per_patch"])):
            for length in range(1, 13):
                count = round(10_000 * np.exp(-abs(length - mean) / 2))
                key = {"corpus": corpus, "patcher": row["patcher"], "longest": row["longest"] or 0, "unit": unit}
                rows.append(key | {"length": length, "patches": count})
    return pl.DataFrame(rows)


def token_lengths(tokenizer: str = "gpt2") -> pl.DataFrame:
    """Entries of a vocabulary by length: in bytes, and in symbols for S = 4 and S = 10."""
    rows = []
    for longest in (0, 4, 10):
        for length in range(1, (longest or 60) + 1):
            tokens = round(8000 * np.exp(-abs(length - (longest or 6) * 0.7) / 3))
            rows.append({"tokenizer": tokenizer, "longest": longest, "length": length, "tokens": tokens})
    return pl.DataFrame(rows).filter(pl.col("tokens") > 0)


def merges(tokenizer: str = "gpt2") -> pl.DataFrame:
    """The second BPE of a vocabulary at two S."""
    rows = [
        {"longest": longest, "merges": merges, "hierarchical_vocabulary": 257 + merges, "largest_length": longest}
        for longest, merges in ((4, 5095), (10, 240))
    ]
    facts = {"vocabulary": 50_256, "mean_length": 3.5, "mean_bytes": 6.4, "largest_bytes": 128}
    return pl.DataFrame(rows).with_columns(tokenizer=pl.lit(tokenizer), **facts)


def zero_shot(corpus: str = "en") -> pl.DataFrame:
    """Two tasks with two metrics and one that generates, for three models."""
    rows = []
    for variant in ("bpe-tokens", "bpe", "space"):
        for seed in range(2):
            for task, metric, chance in (
                ("hellaswag", "acc", 0.25),
                ("hellaswag", "acc_norm", 0.25),
                ("piqa", "acc", 0.5),
                ("lambada", "acc", None),
            ):
                value = (chance or 0) + 0.02 * seed + 0.1 * (metric == "acc_norm")
                row = {"variant": variant, "seed": seed, "task": task, "metric": metric, "value": value}
                rows.append(row | {"stderr": 0.02, "items": 200, "chance": chance})
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(**_key(corpus))


EXAMPLE = {
    "prompt": "The keeper of",
    "reference": " the tall lighthouse",
    "texts": {"bpe-tokens": " the see", "bpe": " the ship"},
}
"""A prompt, what follows it in the corpus, and what two models write."""


def write_patches(place: Stage, name: str) -> None:
    """The files of a corpus with patch models, below the working directory."""
    write_json(place.reports("corpora", f"{name}.json"), corpus_facts(name, source="builtin"))
    write_table(place.reports("patches", name, "patchers.parquet"), patchers(name))
    write_table(place.reports("patch_scores", name, "scores.parquet"), patch_scores(name))
    write_table(place.reports("patch_scores", name, "ngrams.parquet"), patch_ngrams(name))
    write_table(place.reports("patch_tokenizers", name, "merges.parquet"), merges(f"{name}-4096"))
    write_table(place.reports("patches", name, "lengths.csv"), patch_lengths(name))
    write_table(place.reports("patch_models", name, "loss.csv"), patch_losses(name))
    write_table(place.reports("patch_tokenizers", name, "lengths.csv"), token_lengths(f"{name}-4096"))
    write_json(place.reports("patch_scores", name, "examples.json"), {"corpus": name, "examples": [EXAMPLE]})


def write_zero_shot(place: Stage, name: str) -> None:
    """The files of a corpus whose models were asked zero-shot questions, and its patch models."""
    write_patches(place, name)
    write_table(place.reports("zero_shot", name, "zero_shot.parquet"), zero_shot(name))
