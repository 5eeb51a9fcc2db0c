"""Pictures of patch models: every one is drawn, also from little data, and shows what the tables have."""

from pathlib import Path

import patch_report_inputs as inputs
import polars as pl
import pytest

from tasks.report.figures.patch_figures import (
    draw_lengths,
    draw_longest,
    draw_tokens,
    draw_training,
    draw_vocabulary,
    largest_tokenizers,
    main_losses,
)

ONE_SEED = inputs.patch_scores(seeds=1)


def drawn(path: Path) -> bytes:
    assert path.with_suffix(".png").stat().st_size > 5000
    return path.with_suffix(".svg").read_bytes()


def test_the_same_data_gives_the_same_bytes(tmp_path):
    for folder in (tmp_path / "first", tmp_path / "second"):
        draw_longest(ONE_SEED, folder / "longest")
    assert drawn(tmp_path / "first/longest") == drawn(tmp_path / "second/longest")


def test_curves_are_those_of_the_main_comparison():
    losses = pl.concat([inputs.patch_losses(), inputs.patch_losses().with_columns(variant=pl.lit("bpe-s4"))])
    shown = main_losses(losses, inputs.patch_scores())
    assert set(shown["variant"]) == set(inputs.MAIN) and len(shown) == len(inputs.patch_losses())


def test_of_each_key_the_largest_tokenizer_is_drawn():
    small = inputs.token_lengths("en-300").with_columns(tokens=pl.lit(1, pl.Int64))
    tables = [small, inputs.token_lengths("en-900"), small.with_columns(tokenizer=pl.lit("gpt2"))]
    lengths = pl.concat(t.with_columns(key=pl.lit(k)) for t, k in zip(tables, ("en", "en", "gpt2"), strict=True))
    assert set(largest_tokenizers(lengths)["tokenizer"]) == {"en-900", "gpt2"}
    assert len(largest_tokenizers(lengths)) == len(tables[1]) + len(tables[2])


@pytest.mark.parametrize("source", ["slimpajama", None])
def test_the_papers_lengths_are_drawn_where_it_has_the_corpus(source, tmp_path):
    patchers = inputs.patchers().filter(pl.col("patcher").is_in(["space", "gpt2"]))
    draw_lengths(patchers, inputs.patch_lengths(), {"en": source}, tmp_path / "lengths")
    draw_lengths(patchers, inputs.patch_lengths(), {"en": "builtin"}, tmp_path / "generated")
    assert (drawn(tmp_path / "lengths") == drawn(tmp_path / "generated")) is (source is None)


def test_pictures_are_drawn_from_one_seed_one_point_and_an_unknown_variant(tmp_path):
    toy = inputs.patch_losses(seeds=1).group_by("variant", maintain_order=True).head(1)
    draw_training(toy.with_columns(variant=pl.col("variant").replace("fixed", "toy")), tmp_path / "training")
    draw_vocabulary(ONE_SEED, tmp_path / "vocabulary")
    draw_tokens(inputs.token_lengths().filter(longest=0), tmp_path / "tokens")
    for name in ("training", "vocabulary", "tokens"):
        drawn(tmp_path / name)
