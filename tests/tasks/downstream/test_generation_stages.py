"""Language models over codes and their texts as stages: errors by kind, none with the constraint, and interruptions."""

import contextlib
import json
from pathlib import Path
from typing import get_args

import polars as pl
import pytest
import torch
from small_codes import LABELLED, stage, write_codes

from tasks.downstream import generate as generate_stage
from tasks.downstream import train_code_lm as training_stage
from tasks.downstream.generate import generate
from tasks.downstream.label import label
from tasks.downstream.train_code_lm import train_models
from tokenlab.codes.constrained import constrain
from tokenlab.codes.generation import ConstrainedLogits
from tokenlab.codes.interface import ViolationKind
from tokenlab.codes.registry import read_code
from tokenlab.networks.gpt import GptShape, build_gpt

MODELS, REPORTS = "models/sample/code_language_models/en", "reports/sample/generate/en"
KINDS = list(get_args(ViolationKind))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The working directory of the tests, with both stages run."""
    folder = tmp_path_factory.mktemp("generation")
    with contextlib.chdir(folder):
        label(stage("topics"))
        write_codes(pl.read_parquet(f"{LABELLED}/train.parquet")["text"].to_list())
        train_models(stage())
        generate(stage())
        yield folder


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


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


def test_examples_decode(folder):
    for name, examples in json.loads(Path(REPORTS, "examples.json").read_text()).items():
        code = read_code(Path(MODELS, name, "code.json"))
        assert len(examples["constrained"]) == 2
        assert all(code.check("".join(tokens)) is None for tokens in examples["constrained"])


def test_a_killed_training_resumes_to_the_same_bytes(folder, monkeypatch):
    """Killed in the third training; those that are done are read from their checkpoints."""
    whole = files(Path(MODELS)), files(Path("reports/sample/code_language_models"))
    train, done = training_stage.train_code_model, []

    def until_killed(*arguments):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(arguments[-1])
        return train(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(training_stage, "train_code_model", until_killed)
        with pytest.raises(KeyboardInterrupt):
            train_models(stage())
    assert len(list(Path(".work").rglob("*-model*.safetensors"))) == 2
    train_models(stage())
    assert (files(Path(MODELS)), files(Path("reports/sample/code_language_models"))) == whole


def test_killed_generation_resumes_to_the_same_bytes(folder, monkeypatch):
    whole = files(Path(REPORTS))
    run, done = generate_stage.generate_tokens, []

    def until_killed(*arguments, **options):
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(1)
        return run(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(generate_stage, "generate_tokens", until_killed)
        with pytest.raises(KeyboardInterrupt):
            generate(stage())
    done.clear()
    monkeypatch.setattr(generate_stage, "generate_tokens", lambda *a, **o: done.append(1) or run(*a, **o))
    generate(stage())
    assert len(done) == 12 - 4  # Two ways of six models; the third was begun.
    assert files(Path(REPORTS)) == whole


def test_a_saved_tokenizer_constrains_a_model_of_transformers(folder):
    """The example of docs/latom.md: the random code of the stage with a causal model of another library."""
    saved = next(Path(MODELS).glob("random-*"))
    code, automaton = read_code(saved / "code.json"), constrain(read_code(saved / "code.json"), saved)
    model = build_gpt(GptShape(1, 16, 2, 16), len(automaton.vocabulary.tokens), seed=0)
    allowed = automaton.vocabulary.ids[automaton.allowed(automaton.start())]
    prompts = torch.from_numpy(allowed[:20, None])
    bound = model.generate(
        prompts,
        attention_mask=torch.ones_like(prompts),  # Token 0 may be a prompt, and is no padding there.
        max_new_tokens=8,
        do_sample=True,
        pad_token_id=0,
        logits_processor=[ConstrainedLogits(automaton, tokens=8)],
    )
    spelled = automaton.vocabulary.tokens
    texts = ["".join(spelled[id].decode() for id in row) for row in bound.tolist()]
    assert all(code.check(text) is None for text in texts)
