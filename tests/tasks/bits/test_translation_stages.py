"""The translation pilot as stages: both codes, fine-tuned models, the table, and the same bytes again."""

import polars as pl
import pytest
from interrupted import files
from workspace import SMALL_TRANSLATION

from tasks.bits.evaluate_translation import evaluate
from tasks.bits.train_translation import train_models
from tasks.runtime.stage import Stage
from tokenlab.core.errors import ParameterError
from tokenlab.generated import generate
from tokenlab.text.store import write_corpus


def stage(pilot=SMALL_TRANSLATION["pilot"]):
    return Stage("params.yaml", "sample", "en-zh", {"bits": SMALL_TRANSLATION | {"pilot": pilot}})


@pytest.fixture(scope="module")
def folder(workdir):
    """The working directory of the tests, with both stages run."""
    for language in ("en", "zh"):
        write_corpus(generate(language, sentences=150, seed=0), f"data/sample/corpora/{language}")
    train_models(stage())
    evaluate(stage())
    return workdir


def test_a_row_for_each_model(folder):
    scores = pl.read_parquet(folder / "reports/sample/translation/en-zh/scores.parquet")
    models = [("bytes", "scratch"), ("bits", "scratch"), ("bits", "mean"), ("bits", "copy")]
    assert scores["code", "init"].rows() == models
    assert not list(folder.glob(".work/**/*.safetensors"))
    plain, *others = scores.iter_rows(named=True)
    assert plain["sentences"] + plain["too_long"] + plain["in_training"] == 6 and plain["known_characters"] == 70
    assert 0 < plain["epochs"] < others[0]["epochs"] and 0.2 < plain["fallback_ratio"] < 0.9
    assert plain["relative_gain"] == 1 and plain["errors"] == plain["errors_utf8"]
    for row in others:
        assert row["relative_gain"] == plain["reference_tokens"] / row["reference_tokens"] > 1
        assert row["errors"] == sum(row[f"errors_{kind}"] for kind in ("prefix", "payload", "outside", "utf8"))


@pytest.mark.slow
def test_in_processes_of_their_own_they_give_the_same_bytes(folder):
    before = [files(folder / name) for name in ("models", "reports")]
    pilot = SMALL_TRANSLATION["pilot"] | {"workers": 2}
    train_models(stage(pilot))
    evaluate(stage(pilot))
    assert [files(folder / name) for name in ("models", "reports")] == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"longest": 100}, "shape.positions, 80"),
        ({"fine_tuning": SMALL_TRANSLATION["pilot"]["fine_tuning"] | {"seeds": [3]}}, "no model has seed 3"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ParameterError, match=message):
        train_models(stage(SMALL_TRANSLATION["pilot"] | change))
