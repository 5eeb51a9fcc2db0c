"""The translation pilot as stages: both codes, fine-tuned models, the table, and the same bytes again."""

import contextlib
import json

import polars as pl
import pytest
from workspace import SMALL_TRANSLATION

from tasks.bits.evaluate_translation import evaluate
from tasks.bits.train_translation import train_models
from tasks.runtime.stage import Stage
from tokenlab.core.errors import ParameterError
from tokenlab.generated import generate
from tokenlab.text.store import write_corpus
from tokenlab.translation.model import load_model


def stage(pilot=SMALL_TRANSLATION["pilot"]):
    return Stage("params.yaml", "sample", "en-zh", {"bits": SMALL_TRANSLATION | {"pilot": pilot}})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The working directory of the tests, with both stages run."""
    folder = tmp_path_factory.mktemp("translation")
    with contextlib.chdir(folder):
        for language in ("en", "zh"):
            write_corpus(generate(language, sentences=150, seed=0), f"data/sample/corpora/{language}")
        train_models(stage())
        evaluate(stage())
        yield folder


def test_every_model_has_a_folder_and_a_curve(folder):
    models = folder / "models/sample/translation/en-zh"
    names = {"bytes-scratch-seed0", "bits-scratch-seed0", "bits-mean-seed0", "bits-copy-seed0"}
    assert {path.name for path in models.iterdir()} == names | {"tokenizer.json"}
    assert load_model(models / "bits-copy-seed0").config.vocab_size == 450 + 261
    reports = folder / "reports/sample/translation_models/en-zh"
    loss = pl.read_csv(reports / "loss.csv")
    assert loss["step"].to_list() == [2, 4, 2, 4, 2, 2] and loss["held_out"].is_finite().all()
    metrics = json.loads((reports / "metrics.json").read_text())
    assert set(metrics["models"]) == names and 90 <= metrics["data"]["training"] <= 100
    assert 0.2 < metrics["base"]["fallback_ratio"]["target"] < 0.9
    assert metrics["base"]["characters"] == SMALL_TRANSLATION["pilot"]["vocabulary"]["characters"]
    plain, bits = (metrics["models"][f"{code}-scratch-seed0"]["epochs"] for code in ("bytes", "bits"))
    assert 0 < plain < bits < 4
    assert not list(folder.glob(".work/**/*.safetensors"))


def test_a_row_for_each_model(folder):
    scores = pl.read_parquet(folder / "reports/sample/translation/en-zh/scores.parquet")
    assert scores["pair", "code", "init", "seed"].rows() == [
        ("en-zh", "bytes", "scratch", 0),
        ("en-zh", "bits", "scratch", 0),
        ("en-zh", "bits", "mean", 0),
        ("en-zh", "bits", "copy", 0),
    ]
    plain, *others = scores.iter_rows(named=True)
    assert plain["sentences"] + plain["too_long"] + plain["in_training"] == 6 and plain["known_characters"] == 70
    assert 0 < plain["epochs"] < others[0]["epochs"] and 0.2 < plain["fallback_ratio"] < 0.9
    assert plain["relative_gain"] == 1 and plain["errors"] == plain["errors_utf8"]
    for row in others:
        assert row["relative_gain"] == plain["reference_tokens"] / row["reference_tokens"] > 1
        assert row["errors"] == sum(row[f"errors_{kind}"] for kind in ("prefix", "payload", "outside", "utf8"))
    metrics = json.loads((folder / "reports/sample/translation/en-zh/metrics.json").read_text())
    assert metrics["bits"]["mean"]["0"]["chrf"] == scores.filter(init="mean")["chrf"].item()
    examples = json.loads((folder / "reports/sample/translation/en-zh/examples.json").read_text())["examples"]
    assert len(examples) == 2 and set(examples[0]) == {"id", "source", "reference", "bytes", "bits"}


@pytest.mark.slow
def test_in_processes_of_their_own_they_give_the_same_bytes(folder):
    paths = [path for path in folder.glob("[mr]*/sample/**/*") if path.is_file()]
    before = {path: path.read_bytes() for path in paths}
    pilot = SMALL_TRANSLATION["pilot"] | {"workers": 2}
    train_models(stage(pilot))
    evaluate(stage(pilot))
    assert {path: path.read_bytes() for path in paths} == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"longest": 100}, "at most shape.positions, 80"),
        ({"fine_tuning": SMALL_TRANSLATION["pilot"]["fine_tuning"] | {"seeds": [3]}}, "no model has seed 3"),
        ({"fine_tuning": SMALL_TRANSLATION["pilot"]["fine_tuning"] | {"warmup": 9}}, "warmup is 9"),
        ({"seeds": []}, "bits.pilot.seeds"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ParameterError, match=message):
        train_models(stage(SMALL_TRANSLATION["pilot"] | change))
