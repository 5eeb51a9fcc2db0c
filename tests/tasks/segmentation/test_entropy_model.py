"""Stage `entropy_model`: its outputs, held-out sentences, resuming after a kill, and bad input."""

import contextlib
import json
import shutil
import signal
import subprocess
import sys

import killing
import polars as pl
import pytest
from interrupted import files
from workspace import SMALL, SMALL_TRAINING, make_workspace, set_parameters

from tasks.runtime.stage import Stage
from tasks.segmentation.entropy_model import train_model
from tokenlab.core.errors import TokenlabError, one_line
from tokenlab.generated import generate
from tokenlab.text.splits import draw_splits
from tokenlab.text.store import read_corpus, write_corpus

pytestmark = pytest.mark.slow

MODEL = {
    "text": "zh-ja",
    "held_out": "zh",
    "alphabet": {"level": "character", "min_count": 2},
    "shape": {"layers": 1, "width": 32, "heads": 2, "context": 48, "dropout": 0.1},
    "training": SMALL_TRAINING
    | {"steps": 40, "learning_rate": 0.005, "final_learning_rate": 0.0005, "evaluate_every": 15},
}
LONG = MODEL | {"training": MODEL["training"] | {"steps": 600, "evaluate_every": 50}}
BYTES = MODEL | {"alphabet": {"level": "byte", "min_count": 1}, "text": "zh"}
OUTPUTS = {"model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "training.json"}
OUTPUTS |= {"loss.csv", "metrics.json"}


def checkpoints(folder):
    """The files of interrupted trainings."""
    return [path for path in folder.glob(".work/**/*") if path.is_file()]


def finished_checkpoints(folder):
    """When each was written; a temporary file, hidden by its name, may be gone before one looks at it."""
    return [path.stat().st_mtime_ns for path in checkpoints(folder) if not path.name.startswith(".")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A workspace with two corpora and two trained models."""
    folder = make_workspace(tmp_path_factory.mktemp("models") / "project", segmentation=SMALL)
    set_parameters(folder, "params.yaml", {"entropy": {"models": {"long": LONG}}})
    zh, ja = (list(generate(language, sentences=400, seed=0)) for language in ("zh", "ja"))
    for name, documents in (("zh", zh), ("ja", ja), ("zh-ja", zh + ja)):
        write_corpus(documents, folder / "data/sample/corpora" / name)
    train_here(folder, "tiny", MODEL)
    train_here(folder, "bytes", BYTES)
    return folder


def train_here(folder, name, model, segmentation=SMALL):
    """The stage in this process."""
    sections = {"preset": "sample", "segmentation": segmentation, "entropy": {"models": {name: model}}}
    with contextlib.chdir(folder):
        train_model(Stage("params.yaml", "sample", name, sections))


@pytest.mark.parametrize("name", ["tiny", "bytes"])
def test_training_lowers_the_loss(folder, name):
    losses = pl.read_csv(folder / f"reports/sample/entropy_models/{name}/loss.csv")
    assert losses["step"].to_list() == [15, 30, 40]
    assert losses["held_out"][-1] < losses["held_out"][0] and losses["training"][-1] < losses["training"][0]
    assert not checkpoints(folder)


def test_no_test_sentence_is_trained_on(folder):
    """The number of training tokens is the one of all sentences that are not held out, counted here."""
    corpora = folder / "data/sample/corpora"
    texts = {name: [document.text for document in read_corpus(corpora / name)] for name in ("zh", "ja")}
    splits = draw_splits(len(texts["zh"]), SMALL["seeds"], **SMALL["split"])
    drawn = [*splits.validation, *(number for split in splits.of_seed.values() for number in split.test)]
    held_out = {texts["zh"][number] for number in drawn}
    kept = [text for text in texts["zh"] if text not in held_out]
    assert len(texts["zh"]) - len(kept) >= len(set(drawn)) > 100
    for name, trained in (("tiny", [*kept, *texts["ja"]]), ("bytes", [text.encode() for text in kept])):
        tokens = sum(len(text) + -(-len(text) // 47) for text in trained)  # a start token for each 47 characters
        metrics = json.loads((folder / f"reports/sample/entropy_models/{name}/metrics.json").read_text())
        assert metrics["training_tokens"] == tokens


def start(folder):
    command = [sys.executable, "-m", "tasks.segmentation.entropy_model", "params.yaml", "long"]
    environment = killing.environment(folder) | {"PYTHONPATH": str(folder)}
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE)


def test_killed_at_any_moment_it_ends_with_the_same_bytes(folder):
    """SIGKILL twice, the second time later; the last run resumes from the last checkpoint."""
    train_here(folder, "long", LONG)
    model, report = (folder / name / "sample/entropy_models/long" for name in ("models", "reports"))
    undisturbed = files(model) | files(report)
    assert undisturbed.keys() == OUTPUTS
    for place in (model, report):
        shutil.rmtree(place)
    for checkpoints_to_wait_for in (1, 3):
        process = start(folder)
        for _ in range(checkpoints_to_wait_for):
            written = finished_checkpoints(folder)
            killing.wait_until(lambda before=written: finished_checkpoints(folder) != before)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not model.exists()
    last = start(folder)
    assert last.communicate() == (None, b"") and last.returncode == 0
    assert files(model) | files(report) == undisturbed
    assert not checkpoints(folder)


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        ("shape", {"depth": 2}, "entropy.models.bad.shape.depth"),
        ("alphabet", {"min_count": 10**9}, "lower min_count"),
        ("training", {"learning_rate": 1e38, "warmup": 0}, "not a number at step 15"),
        ("split", {"validation": 0}, "no text to evaluate on"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(folder, section, values, message):
    model = MODEL | {section: MODEL[section] | values} if section in MODEL else MODEL
    segmentation = SMALL | ({"split": SMALL["split"] | values} if section == "split" else {})
    with pytest.raises(TokenlabError) as raised:
        train_here(folder, "bad", model, segmentation)
    assert message in one_line(raised.value)
    assert not [*folder.glob("*/sample/entropy_models/bad/*"), *folder.glob("*/sample/**/.*.tmp")]
