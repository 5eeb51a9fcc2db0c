"""Small results of the bits family, to draw and to lay out without running a pipeline."""

from typing import Any

import polars as pl
from report_inputs import corpus_facts

from tasks.runtime.stage import Stage, write_json
from tasks.runtime.tables import write_table

_CODES = [("bytes", None, None, None)] + [
    ("bits", mode, prefixes, emission)
    for mode in ("lossless", "paper")
    for prefixes in (3, 4)
    for emission in ("run", "change")
]
"""Code, mode, prefixes and emission."""


def lengths(corpus: str = "ja", tokenizer: str = "plain") -> pl.DataFrame:
    """What `bits_length` writes of a corpus. Three prefixes save 1 % of the tokens that four save, or 2 % on change.

    Four prefixes save 20 % with no known character, and 10 % with ten or in the tokenizer.
    """
    rows = []
    for base, known, share in (("characters", 0, 0.2), ("characters", 10, 0.1), (tokenizer, None, 0.1)):
        for code, mode, prefixes, emission in _CODES:
            saved = 0.0 if code == "bytes" else share * (1 if prefixes == 4 else 0.01) * (1 + (emission == "change"))
            paper = mode == "paper"
            row: dict[str, Any] = {"code": code, "mode": mode, "prefixes": prefixes, "emission": emission}
            row |= {"base": base, "known": known, "tokens": round(1000 * (1 - saved)), "bytes_tokens": 1000}
            row |= {"saved": saved, "resets": None if mode != "lossless" else 2, "ambiguous": 3 if paper else None}
            row |= {"fallback_characters": 0.5, "byte_tokens": 0.7, "vocabulary": 300, "types": 100}
            row |= {"dead": 130 if code == "bits" else 0}
            rows.append(row)
    for code, vocabulary, tokens in (("script", 300, 800), ("characters", 60, 400)):
        rows.append({"base": "none", "code": code, "tokens": tokens, "vocabulary": vocabulary, "types": 50})
    table = pl.DataFrame(rows, infer_schema_length=None).with_columns(corpus=pl.lit(corpus), name=pl.lit(corpus))
    figures = {f"renyi_{of}_{alpha}": 0.5 for of in ("nominal", "observed") for alpha in ("2.5", "3")}
    return table.with_columns(characters=400, bytes=1200, texts=10, entropy=6.5, **figures)


def search(corpus: str = "ja") -> pl.DataFrame:
    """Four splits, three of them on the front; the paper's is not."""
    rows = [
        {"split": "8-8-8", "policy": "run", "added": 16, "saved": 0.05, "front": True},
        {"split": "6-9-9", "policy": "run", "added": 260, "saved": 0.2, "front": False},
        {"split": "6-9-9", "policy": "change", "added": 260, "saved": 0.25, "front": True},
        {"split": "12-12", "policy": "run", "added": 4096, "saved": 0.5, "front": True},
    ]
    table = pl.DataFrame(rows).with_columns(corpus=pl.lit(corpus), name=pl.lit(corpus), prefixes=pl.lit("38h-3Bh"))
    paper = (pl.col("split") == "6-9-9") & (pl.col("policy") == "run")
    return table.with_columns(tokens=900, renyi=0.8 - 0.05 * pl.col("added").log(2), entropy=6.5, paper=paper)


def translation_scores(pair: str = "en-ja") -> pl.DataFrame:
    """Two seeds of byte fallback, of the bit-level code, and of one that was fine-tuned; 100 sentences each."""
    rows = []
    for code, init, errors in (("bytes", "scratch", 40), ("bits", "scratch", 4), ("bits", "mean", 0)):
        for seed in (0, 1):
            row: dict[str, Any] = {"code": code, "init": init, "seed": seed, "errors": errors + 2 * seed}
            row |= dict.fromkeys(("errors_prefix", "errors_payload", "errors_outside"), 0)
            row |= {"errors_utf8": errors + 2 * seed, "errors_ended": errors, "broken_ended": errors // 4}
            row |= {"epochs": 0.8 if code == "bytes" else 0.84}
            row |= {"broken": errors // 2, "chrf": 10.0 + 2 * seed, "bleu": 3.0 + seed, "step": 20}
            row |= {"reference_tokens": 1000 if code == "bytes" else 800, "output_tokens": 500}
            rows.append(row | {"relative_gain": 1000 / row["reference_tokens"], "vocabulary": 300, "parameters": 5000})
    shared = {"name": pl.lit(pair), "pair": pl.lit(pair), "sentences": 100, "empty": 1, "unfinished": 2}
    shared |= {"in_training": 7, "too_long": 3, "known_characters": 100, "fallback_ratio": 0.375}
    shared |= {"reference_characters": 400, "output_characters": 200, "held_out_nats_per_character": 2.5}
    shared |= {"ngram_nats_per_character": 2.0}
    return pl.DataFrame(rows).with_columns(**shared)


def translation_losses() -> pl.DataFrame:
    """The curves of these models."""
    models = translation_scores().select("code", "init", "seed")
    steps = pl.DataFrame({"step": [0, 10, 20], "training": [3.0, 2.5, 2.0], "held_out": [3.0, 2.6, 2.4]})
    return models.join(steps, how="cross").with_columns(held_out_per_character="held_out")


EXAMPLE = {"id": "1", "source": "light", "reference": "光", "bytes": "火", "bits": "光"}
"""A translated sentence."""


def write_bits(place: Stage, corpus: str) -> None:
    """The files of a corpus whose lengths were measured, below the working directory."""
    write_json(place.reports("corpora", f"{corpus}.json"), corpus_facts(corpus))
    write_table(place.reports("bits", corpus, "lengths.parquet"), lengths(corpus))
    write_table(place.reports("bits", corpus, "search.parquet"), search(corpus))


def write_translation(place: Stage, pair: str) -> None:
    """The files of a pair of languages of the translation pilot."""
    for corpus in pair.split("-"):
        write_json(place.reports("corpora", f"{corpus}.json"), corpus_facts(corpus))
    write_table(place.reports("translation", pair, "scores.parquet"), translation_scores(pair))
    write_json(place.reports("translation", pair, "examples.json"), {"examples": [EXAMPLE]})
    write_table(place.reports("translation_models", pair, "loss.csv"), translation_losses())
