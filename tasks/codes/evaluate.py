"""Stage `evaluate_codes`: every code against plain characters, at every vocabulary size.

The tables follow from counts of tokens and bits: differences to plain characters, means over seeds, and one row for
each code and seed. The metrics are those of `tokenlab.metrics.registry`; every metric has a column by its name, and by
NAME_saved one with its difference to plain characters.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import polars as pl

from tasks.codes.parameters import CodebookParameters, HeldOut, VocabularySizes
from tasks.codes.variants import BEST, LATOM, REFINED, CorpusVariants, Variant, read_variants
from tasks.runtime.stage import Stage, run, write_json
from tasks.runtime.tables import write_table
from tasks.views import PARAMETER
from tokenlab.codes.options import LatomOptions
from tokenlab.metrics.registry import TOKENIZATION, of_tokenization

TRAINING, HELD_OUT = "training", "held-out"
"""The texts that codes are evaluated on: the one they were learned from, or the held-out part of it."""

_SAME = ["tokenizer", "text", "vocabulary"]
_CODE = ["code", "N", "K"]
_METRICS = [metric.name for metric in TOKENIZATION]
_COMPARED = {metric.name: metric.better for metric in TOKENIZATION if metric.better}
_SAVED = [f"{name}_saved" for name in _COMPARED]
_KEYS = ["corpus", "text", "tokenizer", *_CODE, "seed", "variant", "alphabet"]


class Text(NamedTuple):
    """A text that codes are evaluated on."""

    length: int
    """Characters."""
    distinct: int
    """|C| of the text that codes and tokenizers were learned from."""
    sizes: tuple[int, ...]
    """The vocabulary sizes of tables, beside |C|."""


def compared(swept: pl.DataFrame, texts: Mapping[str, Text]) -> pl.DataFrame:
    """Every metric of every row, and its difference to plain characters at the same vocabulary size.

    Differences are positive where the code is better than characters, and null at vocabulary sizes below |C|, at which
    characters have no tokenizer.

    Args:
        swept: columns tokenizer, text, code, N, K, seed, vocabulary, tokens and bits.
    """
    lengths = swept["text"].replace_strict({name: text.length for name, text in texts.items()}, return_dtype=pl.Int64)
    values = of_tokenization(swept["tokens"].to_numpy(), swept["bits"].to_numpy(), lengths.to_numpy())
    rows = swept.with_columns(pl.Series(name, column) for name, column in values.items())
    baseline = rows.filter(code="character").select(*_SAME, *_COMPARED)
    joined = rows.join(baseline, on=_SAME, how="left", suffix="_of_characters", maintain_order="left")
    differences = {name: pl.col(f"{name}_of_characters") - pl.col(name) for name in _COMPARED}
    return joined.with_columns(
        (difference if _COMPARED[name] == "lower" else -difference).alias(f"{name}_saved")
        for name, difference in differences.items()
    )


def averaged(rows: pl.DataFrame) -> pl.DataFrame:
    """Mean and standard deviation (NAME_sd) over the seeds; a row for each tokenizer, text, code, N, K and size."""
    values = [*_METRICS, *_SAVED]
    return rows.group_by(["tokenizer", "text", *_CODE, "vocabulary"], maintain_order=True).agg(
        *(pl.col(value).mean() for value in values),
        *(pl.col(value).std().alias(f"{value}_sd") for value in values),
        seeds=pl.len(),
    )


def scores(rows: pl.DataFrame, texts: Mapping[str, Text], corpus: str) -> pl.DataFrame:
    """One row for each text, tokenizer, code, N, K and seed.

    Column METRIC_SIZE is a metric at one vocabulary size, METRIC_C at |C|; `variant` is the stem of the code's files,
    `alphabet` the number of its atoms.
    """
    tables = []
    for name, text in texts.items():
        sizes = {"C": text.distinct} | {str(size): size for size in text.sizes}
        tables.append(
            rows.filter(text=name)
            .group_by(["text", "tokenizer", *_CODE, "seed"], maintain_order=True)
            .agg(
                *(
                    pl.col(value).filter(pl.col("vocabulary") == size).first().alias(f"{value}_{label}")
                    for label, size in sizes.items()
                    for value in ("tokens_saved", *_METRICS)
                ),
                alphabet=pl.col("vocabulary").min(),
            )
        )
    table = pl.concat(tables, how="diagonal")
    names = [
        Variant(code, N, K, seed, "train" if text == HELD_OUT else "all").name
        for text, code, N, K, seed in table.select("text", *_CODE, "seed").iter_rows()
    ]
    table = table.with_columns(corpus=pl.lit(corpus), variant=pl.Series(names, dtype=pl.String))
    return table.select(*_KEYS, pl.exclude(*_KEYS))


def metrics(table: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Means over the seeds of BPE's metrics on training text: {"latom-N2-K8": {"tokens_saved_300": ..}, ..}."""
    values = [name for name in table.columns if name not in _KEYS]
    rows = table.filter(tokenizer="bpe", text=TRAINING)
    found: dict[str, dict[str, Any]] = {}
    for row in rows.group_by(_CODE, maintain_order=True).agg(pl.col(values).mean()).iter_rows(named=True):
        name = row["code"] if row["N"] is None else f"{row['code']}-N{row['N']}-K{row['K']}"
        found[name] = {value: row[value] for value in values if row[value] is not None}
    return found


def evaluate(stage: Stage) -> None:
    """Write the scores, their means as metrics, and the curves over vocabulary sizes."""
    codebooks = stage.parameters(f"codes.corpora.{stage.variant}.codebooks", CodebookParameters)
    latom = stage.parameters("codes.latom", LatomOptions)
    held_out = stage.parameters("codes.held_out", HeldOut)
    sizes = stage.parameters("codes.vocabulary_sizes", VocabularySizes)
    texts = evaluated_texts(read_variants(stage.models("codes", stage.variant)), sizes)
    rows = compared(pl.read_parquet(stage.data("code_sweeps", f"{stage.variant}.parquet")), texts)
    table = scores(rows, texts, stage.variant)
    folder = stage.reports("codes", stage.variant)
    write_table(folder / "scores.parquet", with_parameters(table, latom, codebooks.restarts, held_out, sizes))
    write_json(folder / "metrics.json", metrics(table))
    write_table(folder / "curves.csv", averaged(rows))


def evaluated_texts(made: CorpusVariants, sizes: VocabularySizes) -> dict[str, Text]:
    """The training text of a corpus, and its held-out text where it has one."""
    texts = {TRAINING: Text(made.length, made.characters, sizes.reported)}
    if made.held_out_length is not None and made.training_characters is not None:
        texts[HELD_OUT] = Text(made.held_out_length, made.training_characters, sizes.held_out)
    return texts


def with_parameters(
    table: pl.DataFrame, latom: LatomOptions, restarts: int, held_out: HeldOut, sizes: VocabularySizes
) -> pl.DataFrame:
    """The scores with the parameters of each row as columns `param.NAME`, null where a parameter does not apply."""
    of_latom = pl.col("code").str.strip_suffix(REFINED).is_in([LATOM, BEST])
    of_best = pl.col("code").str.strip_suffix(REFINED) == BEST
    on_held_out = pl.col("text") == HELD_OUT
    applying = [
        (of_latom, asdict(latom)),
        (of_best, {"restarts": restarts}),
        (on_held_out, {"held_out.share": held_out.share, "held_out.seed": held_out.seed}),
        (~on_held_out, {"largest": sizes.largest}),
    ]
    step = pl.col("tokenizer").replace_strict({name: sizes.step_of(name) for name in ("bpe", "unigram")})
    return table.with_columns(
        pl.when(rows).then(pl.lit(value)).alias(f"{PARAMETER}{name}")
        for rows, values in applying
        for name, value in values.items()
    ).with_columns(pl.when(~on_held_out).then(step.cast(pl.Int32)).alias(f"{PARAMETER}step"))


if __name__ == "__main__":
    run(evaluate)
