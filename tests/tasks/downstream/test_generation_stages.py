"""Language models over codes and their texts as stages: errors by kind, none with the constraint, and interruptions."""

from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl
import pytest
from interrupted import calls_of, files, killed
from small_codes import LABELLED, stage, write_codes

from tasks.downstream import generate as generate_stage
from tasks.downstream import train_code_lm as training_stage
from tasks.downstream.generate import generate
from tasks.downstream.label import label
from tasks.downstream.train_code_lm import train_models
from tokenlab.codes.interface import ViolationKind
from tokenlab.language.ngrams import fewest_nats

MODELS, REPORTS = "models/sample/code_language_models/en", "reports/sample/generate/en"
KINDS = list(get_args(ViolationKind))


@pytest.fixture(scope="module")
def folder(workdir):
    """The working directory of the tests, with both stages run."""
    label(stage("topics"))
    write_codes(pl.read_parquet(f"{LABELLED}/train.parquet")["text"].to_list())
    train_models(stage())
    generate(stage())
    return workdir


def test_errors_are_those_of_check_and_the_constraint_leaves_none(folder):
    scores = pl.read_parquet(f"{REPORTS}/scores.parquet")
    models = [("byte", 0), ("byte", 1), ("character", 0), ("character", 1), ("random", 0), ("random", 1)]
    assert sorted(scores.select("code", "seed").unique().rows()) == models
    assert set(scores["count"]) == {40}
    bound, free = scores.filter(way="constrained"), scores.filter(way="free")
    assert bound["error_share"].max() == 0 and not bound.select(KINDS).to_numpy().any()
    assert (free["error_share"] * 40).round().to_list() == free.select(KINDS).sum_horizontal().to_list()
    assert free.filter(code="character")["error_share"].max() == 0 < free.filter(code="random")["error_share"].min()
    # The constraint takes probability from impossible tokens alone.
    assert (bound["bits_of_scored"] <= free["bits_of_scored"]).all() and bound["texts_scored"].min() > 0
    assert bound.filter(code="random")["bits_of_scored"].max() < free.filter(code="random")["bits_of_scored"].min()


def test_bits_per_character_are_those_of_the_best_evaluation(folder):
    losses = pl.read_csv("reports/sample/code_language_models/en/loss.csv")
    best = losses.group_by("code", "seed").agg(pl.col("held_out").min())
    scores = pl.read_parquet(f"{REPORTS}/scores.parquet").filter(way="free")
    joined = scores.join(best, on=["code", "seed"])
    assert joined["bits_per_character"].to_list() == joined["held_out"].to_list() and len(joined) == 6


def test_ngrams_have_the_text_of_the_models(folder):
    longest = stage().parameters("downstream.language_model.longest", int)
    train, validation = (
        [text[:longest] for text in pl.read_parquet(f"{LABELLED}/{part}.parquet")["text"]]
        for part in ("train", "validation")
    )
    bits = fewest_nats(train, validation) / np.log(2) / sum(map(len, validation))
    assert pl.read_parquet(f"{REPORTS}/scores.parquet")["ngram_bits_per_character"].unique().to_list() == [bits]


def test_a_killed_training_resumes_to_the_same_bytes(folder):
    """Killed in the third training; those that are done are read from their checkpoints."""
    reports = Path("reports/sample/code_language_models")
    whole = files(Path(MODELS)), files(reports)
    killed(lambda: train_models(stage()), training_stage, "train_code_model", after=2)
    assert len(list(Path(".work").rglob("*-model*.safetensors"))) == 2
    train_models(stage())
    assert (files(Path(MODELS)), files(reports)) == whole


def test_killed_generation_resumes_to_the_same_bytes(folder, monkeypatch):
    whole = files(Path(REPORTS))
    killed(lambda: generate(stage()), generate_stage, "generate_tokens", after=5)
    again = calls_of(monkeypatch, generate_stage, "generate_tokens")
    generate(stage())
    assert len(again) == 12 - 4  # Two ways of six models; the third was begun.
    assert files(Path(REPORTS)) == whole
