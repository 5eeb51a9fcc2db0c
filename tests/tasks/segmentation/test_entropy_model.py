"""Stage `entropy_model`: its outputs, held-out sentences, resuming after a kill, and bad input."""

import contextlib
import csv
import hashlib
import json
import shutil
import signal
import subprocess
import sys

import killing
import pytest
from workspace import SMALL, SMALL_TRAINING, make_workspace, run, set_parameters

from tasks.runtime.stage import Stage
from tasks.segmentation.entropy_model import train_model
from tokenlab.core.errors import InputError, TokenlabError, one_line
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
OUTPUTS = [
    "models/sample/entropy_models/{}/model.safetensors",
    "models/sample/entropy_models/{}/config.json",
    "models/sample/entropy_models/{}/tokenizer.json",
    "models/sample/entropy_models/{}/tokenizer_config.json",
    "models/sample/entropy_models/{}/training.json",
    "reports/sample/entropy_models/{}/loss.csv",
    "reports/sample/entropy_models/{}/metrics.json",
]


def hashes(folder, name):
    return {path: hashlib.sha256((folder / path.format(name)).read_bytes()).hexdigest() for path in OUTPUTS}


def checkpoints(folder):
    """The files of interrupted trainings."""
    return [path for path in folder.glob(".work/**/*") if path.is_file()]


def finished_checkpoints(folder):
    """When each was written; a temporary file may be gone before one looks at it."""
    return [path.stat().st_mtime_ns for path in checkpoints(folder) if not path.name.endswith(".tmp")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A workspace with two corpora and two trained models."""
    folder = make_workspace(tmp_path_factory.mktemp("models") / "project", segmentation=SMALL)
    set_parameters(folder, "params.yaml", {"entropy": {"models": {"tiny": MODEL, "long": LONG}}})
    zh, ja = (list(generate(language, sentences=400, seed=0)) for language in ("zh", "ja"))
    for name, documents in (("zh", zh), ("ja", ja), ("zh-ja", zh + ja)):
        write_corpus(documents, folder / "data/sample/corpora" / name)
    done = run(folder, "-m", "tasks.segmentation.entropy_model", "params.yaml", "tiny")
    assert done.returncode == 0 and not done.stderr, done.stderr
    train_here(folder, "bytes", BYTES)
    return folder


def train_here(folder, name, model, segmentation=SMALL):
    """The stage in this process."""
    sections = {"preset": "sample", "segmentation": segmentation, "entropy": {"models": {name: model}}}
    with contextlib.chdir(folder):
        train_model(Stage("params.yaml", "sample", name, sections))


@pytest.mark.parametrize("name", ["tiny", "bytes"])
def test_curve_and_metrics_agree(folder, name):
    reports = folder / "reports/sample/entropy_models" / name
    with (reports / "loss.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == ["15", "30", "40"]
    metrics = json.loads((reports / "metrics.json").read_text(encoding="utf-8"))
    assert float(rows[-1]["held_out"]) == metrics["held_out_nats_per_character"] < float(rows[0]["held_out"])
    assert float(rows[-1]["training"]) == metrics["training_nats_per_character"] < float(rows[0]["training"])
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


def test_equal_inputs_give_equal_bytes_and_checkpoints_of_other_inputs_are_ignored(folder):
    before = hashes(folder, "tiny")
    other = folder / ".work/entropy_model.tiny/0123456789abcdef/checkpoint.safetensors"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"of other parameters")
    train_here(folder, "tiny", MODEL)
    assert hashes(folder, "tiny") == before
    assert checkpoints(folder) == [other]
    shutil.rmtree(other.parent)


def start(folder):
    command = [sys.executable, "-m", "tasks.segmentation.entropy_model", "params.yaml", "long"]
    return subprocess.Popen(command, cwd=folder, env=killing.environment(folder) | {"PYTHONPATH": str(folder)})


def test_killed_at_any_moment_it_ends_with_the_same_bytes(folder):
    """SIGKILL twice, the second time later; the last run resumes from the last checkpoint."""
    train_here(folder, "long", LONG)
    undisturbed = hashes(folder, "long")
    for path in OUTPUTS:
        (folder / path.format("long")).unlink()
    for checkpoints_to_wait_for in (1, 3):
        process = start(folder)
        for _ in range(checkpoints_to_wait_for):
            written = finished_checkpoints(folder)
            killing.wait_until(lambda before=written: finished_checkpoints(folder) != before)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not (folder / OUTPUTS[0].format("long")).exists()
    assert start(folder).wait() == 0
    assert hashes(folder, "long") == undisturbed
    assert not checkpoints(folder)


def changed(section, **values):
    return MODEL | {section: MODEL[section] | values}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MODEL | {"text": "nowhere"}, "data/sample/corpora/nowhere: no corpus"),
        (changed("shape", depth=2), "entropy.models.bad.shape.depth"),
        (changed("alphabet", min_count=10**9), "lower min_count"),
        (changed("shape", context=1), "entropy.models.bad: context is 1; it must be at least 2"),
        (changed("training", learning_rate=1e38, warmup=0), "the loss is not a number at step 15"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(folder, model, message):
    with pytest.raises(TokenlabError) as raised:
        train_here(folder, "bad", model)
    assert message in one_line(raised.value)
    assert not [*folder.glob("*/sample/entropy_models/bad/*"), *folder.glob("*/sample/**/.*.tmp")]


def test_no_validation_sentences(folder):
    without = SMALL | {"split": SMALL["split"] | {"validation": 0}}
    with pytest.raises(InputError, match="no text to evaluate on"):
        train_here(folder, "bad", MODEL, without)


def test_ends_with_status_2(folder):
    done = run(folder, "-m", "tasks.segmentation.entropy_model", "params.yaml", "other")
    assert done.returncode == 2
    assert done.stderr == "entropy_model other: params.yaml: entropy.models.other is missing; add it\n"
