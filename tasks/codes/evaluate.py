"""Stage `evaluate_codes`: every code against plain characters, at every vocabulary size."""

from dataclasses import asdict

import polars as pl

from tasks.codes.parameters import CodebookParameters, HeldOut, VocabularySizes
from tasks.codes.scores import HELD_OUT, TRAINING, Text, averaged, compared, metrics, scores
from tasks.codes.variants import BEST, LATOM, REFINED, CorpusVariants, read_variants
from tasks.runtime.stage import Stage, run, write_json
from tokenlab.codes.options import LatomOptions
from tokenlab.core.files import atomic_file

_PARAMETER = "param."


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
    with atomic_file(folder / "scores.parquet") as path:
        with_parameters(table, latom, codebooks.restarts, held_out, sizes).write_parquet(path)
    write_json(folder / "metrics.json", metrics(table))
    with atomic_file(folder / "curves.csv") as path:
        averaged(rows).write_csv(path)


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
        (~on_held_out, {"largest": sizes.largest, "step": sizes.step}),
    ]
    return table.with_columns(
        pl.when(rows).then(pl.lit(value)).alias(f"{_PARAMETER}{name}")
        for rows, values in applying
        for name, value in values.items()
    )


if __name__ == "__main__":
    run(evaluate)
