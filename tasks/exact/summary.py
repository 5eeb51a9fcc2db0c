"""How far the estimators of the Markov experiments are from the truth."""

import polars as pl

_BIASED = 0.2
"""The theory predicts a bias where the naive estimator of the exact model is wrong by more than this."""


def summarised(scores: pl.DataFrame) -> pl.DataFrame:
    """A row for each estimator of each model: absolute errors of the probabilities, means and maxima over contexts.

    `biased`: the same over the contexts where the theory predicts that naive is wrong by more than 0.2, null where
    there is none.
    """
    key = ["experiment", "vocabulary", "seed", "model", "estimator"]
    place = ["experiment", "vocabulary", "seed", "context", "next"]
    errors = scores.with_columns(error=(pl.col("probability") - pl.col("truth")).abs())
    predicted = errors.filter(model="exact", estimator="naive").select(*place, biased=pl.col("error") > _BIASED)
    return (
        errors.join(predicted, on=place, how="left", maintain_order="left")
        .group_by(key, maintain_order=True)
        .agg(
            pl.col("error").mean().alias("mean_error"),
            pl.col("error").max().alias("max_error"),
            pl.col("error").filter(pl.col("biased")).mean().alias("mean_error_biased"),
            pl.col("deviation").mean().alias("mean_deviation"),
            pl.col("biased").sum().alias("biased"),
            pl.col("undefined", "calls", "passes").mean(),
            pl.len().alias("probabilities"),
        )
    )
