"""The stages of the segmentation family on small corpora: `zh` with a language model, and a user's text without gold
words. They run in this process, and draw nothing."""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from interrupted import files
from tiny_models import save_characters
from workspace import SMALL, SMALL_TRAINING

from tasks.corpora.prepare import prepare
from tasks.runtime.stage import Stage
from tasks.segmentation import entropy as entropy_stage
from tasks.segmentation.entropy import score
from tasks.segmentation.entropy_model import train_model
from tasks.segmentation.evaluation.evaluate import evaluate
from tasks.segmentation.methods import read_methods
from tasks.segmentation.ngram_statistics import count
from tasks.segmentation.segment import segment
from tasks.segmentation.tokenizer import train
from tokenlab.core.errors import InputError, ParameterError, one_line
from tokenlab.entropy.scorer import Scorer, load_scorer
from tokenlab.entropy.stored import read_entropies
from tokenlab.generated import generate
from tokenlab.metrics.segmentation import score_segmentation
from tokenlab.text.documents import words
from tokenlab.text.store import read_corpus, write_corpus

VITERBI = SMALL["methods"]["viterbi"]
METHODS_HERE = {
    "literal": SMALL["methods"]["literal"],
    "combined": {"by": "both", "statistics": "viterbi", "grid": [0.25, 1]},  # before the method that it needs
    "viterbi": VITERBI,
    "fixed": {**VITERBI, "grid": []},
    "gpt2": {"by": "entropy", "rule": "maxima", "isolate": "none"},
    "gpt2-rise": {"by": "entropy", "rule": "rise", "isolate": "script", "threshold": 0.0, "grid": [-1, -0.25, 0.25]},
    "plain": {**VITERBI, "isolate": "none", "grid": []},
    "great-weight": {"by": "both", "statistics": "plain", "grid": [100000.0]},
}
MODEL = {
    "text": "zh",
    "held_out": "zh",
    "alphabet": {"level": "character", "min_count": 1},
    "shape": {"layers": 1, "width": 32, "heads": 2, "context": 32, "dropout": 0.0},
    "training": SMALL_TRAINING
    | {"steps": 60, "learning_rate": 0.01, "final_learning_rate": 0.001, "evaluate_every": 20},
}
SCORED = {"model": "models/sample/entropy_models/zh", "device": "cpu", "dtype": "float32", "threads": 1}
SEGMENTATION = SMALL | {
    "corpora": {"zh": {"entropy": True}, "mine": {}, "ja": {"entropy": True}},
    "methods": METHODS_HERE,
    "full": {"methods": ["viterbi", "gpt2-rise", "combined"], "vocabulary_size": 1000},
}
SECTIONS = {
    "corpora": {
        "zh": {"path": "data/raw/builtin/zh", "format": "parquet", "gold": "words"},
        "ja": {"path": "data/raw/builtin/ja", "format": "parquet", "gold": "words"},
        "mine": {"path": "mine.txt", "format": "text", "gold": None},
    },
    "segmentation": SEGMENTATION,
    "entropy": {"models": {"zh": MODEL}, "public": {}, "scored": {"zh": SCORED, "ja": SCORED}},
}


def stage(variant="zh", preset="sample", **sections):
    return Stage("params.yaml", preset, variant, SECTIONS | sections)


@pytest.fixture(scope="module")
def built(workdir):
    """A folder in which all stages have run for `zh` and `mine`; it is the working directory of the tests."""
    for language in ("zh", "ja"):
        write_corpus(generate(language, sentences=300, seed=0), f"data/raw/builtin/{language}")
    own = "\n".join(document.text for document in generate("zh", sentences=300, seed=9))
    (workdir / "mine.txt").write_text(own, encoding="utf-8")
    for corpus in ("zh", "ja", "mine"):
        prepare(stage(corpus))
    for work in (count, train_model, score, segment, train, evaluate):
        work(stage())
    for work in (count, segment, train, evaluate):
        work(stage("mine"))
    return workdir


@pytest.fixture(scope="module")
def entropies(built):
    return [values for _, values in read_entropies("data/sample/signals/zh/entropy")]


@pytest.fixture(scope="module")
def subset(built):
    return pl.read_parquet("data/sample/segments/zh/subset.parquet")


@pytest.fixture(scope="module")
def scores(built):
    return pl.read_parquet("reports/sample/segmentation/zh/scores.parquet")


def documents(corpus="zh"):
    return list(read_corpus(f"data/sample/corpora/{corpus}"))


def boundaries(subset, configuration):
    """{(seed, sentence): boundaries} of the test sentences."""
    rows = subset.filter(pl.col("configuration") == configuration, pl.col("split") == "test")
    return {row[:2]: row[2] for row in rows.select("seed", "sentence", "boundaries").iter_rows()}


def tuned(corpus):
    return json.loads(Path(f"reports/sample/tuning/{corpus}/tuned.json").read_text(encoding="utf-8"))


def test_statistics_see_no_test_sentence(built, subset):
    """Every n-gram of a training table occurs in the training sentences, which the segments name."""
    of_seed = subset.filter(pl.col("seed") == 0)
    splits = {split: set(of_seed.filter(pl.col("split") == split)["sentence"]) for split in ("train", "test")}
    assert len(splits["train"]) == 105 and len(splits["test"]) == 45 and not splits["train"] & splits["test"]
    texts = [document.text for document in documents()]
    training = "\n".join(texts[number] for number in splits["train"])
    counted = pl.read_parquet("data/sample/signals/zh/ngrams/subset-0.parquet")
    assert counted.filter(pl.col("n") == 1)["count"].sum() == len(training.replace("\n", ""))
    assert all(ngram in training for ngram in counted["ngram"])
    full = pl.read_parquet("data/sample/segments/zh/full.parquet").filter(pl.col("split") == "train")
    held_out = {texts[number] for number in splits["test"]}
    assert not held_out & {texts[number] for number in full["sentence"]}


def test_every_sentence_is_scored_by_the_model(built, entropies):
    expected = load_scorer(SCORED["model"], "cpu").score([document.text for document in documents()])
    assert len(entropies) == len(expected) > 300
    for ours, theirs in zip(entropies, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
    assert not list(built.glob(".work/*/*"))


def test_killed_before_its_end_it_scores_nothing_twice(built, monkeypatch):
    folder = built / "data/sample/signals/zh/entropy"
    scored = files(folder)
    with monkeypatch.context() as patched:
        patched.setattr(entropy_stage, "atomic_folder", lambda path: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            score(stage())
    (checkpoints,) = built.glob(".work/entropy.zh/*")
    (checkpoints / ".part-00000.parquet.x.tmp").write_bytes(b"a temporary file of the killed run")
    shutil.rmtree(folder)
    with monkeypatch.context() as patched:
        patched.setattr(Scorer, "score", lambda *arguments: pytest.fail("scored again"))
        score(stage())
    assert files(folder) == scored


def test_a_corpus_with_test_sentences_that_the_model_may_know_is_refused(built):
    with pytest.raises(ParameterError) as raised:
        score(stage("ja"))
    message = one_line(raised.value)
    assert "entropy.scored.ja.model" in message and "zh were held out" in message
    assert not (built / "data/sample/signals/ja/entropy").exists()


def test_a_model_from_elsewhere_scores_any_corpus(built, tmp_path):
    save_characters(tmp_path / "foreign")
    score(stage("ja", entropy={"scored": {"ja": SCORED | {"model": str(tmp_path / "foreign")}}}))
    ids = [document.id for document in documents("ja")]
    assert [id for id, _ in read_entropies("data/sample/signals/ja/entropy")] == ids


def test_entropies_of_other_sentences_are_refused(built):
    write_corpus([d._replace(id=f"x{d.id}") for d in documents("ja")], "data/moved/corpora/ja")
    shutil.copytree("data/sample/signals/zh/entropy", "data/moved/signals/ja/entropy")
    with pytest.raises(InputError, match=r"other sentences .*ja"):
        segment(stage("ja", preset="moved"))


def test_boundary_scores_of_great_weight_place_boundaries_where_entropy_is_above_its_mean(entropies, subset):
    training = subset.filter(pl.col("configuration") == "gpt2", pl.col("split") == "train")
    for seed in SMALL["seeds"]:
        numbers = training.filter(pl.col("seed") == seed)["sentence"].to_list()
        theta = np.concatenate([entropies[number] for number in numbers]).mean()
        for (of_seed, sentence), starts in boundaries(subset, "great-weight").items():
            if of_seed == seed:
                assert {t for t, value in enumerate(entropies[sentence]) if t and value > theta} <= set(starts)


def test_tuned_values_are_the_best_on_validation_sentences(built):
    found = tuned("zh")
    assert set(found["subset"]) == {"viterbi", "gpt2-rise", "combined", "great-weight"}
    assert set(found["full"]) == {"viterbi", "gpt2-rise", "combined"}
    weights = pl.read_csv("reports/sample/tuning/zh/lambda.csv").rename({"lambda": "value"})
    others = pl.read_csv("reports/sample/tuning/zh/entropy.csv")
    assert set(others["parameter"]) == {"threshold", "nu"}
    for training, of_training in found.items():
        for method, value in of_training.items():
            trials = (weights if method == "viterbi" else others).filter(training=training, method=method)
            means = trials.group_by("value").agg(pl.col("f1").mean())
            assert value == means.filter(pl.col("f1") >= means["f1"].max() - 1e-12)["value"].min()
    assert len(others.filter(method="gpt2-rise", training="subset")) == 3  # the same for every seed, so tried once


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (VITERBI | {"weight": 1}, "under weights"),
        (VITERBI | {"entropy_only": True}, "grid .*one row"),
        ({"by": "entropy", "rule": "maxima", "isolate": "none", "grid": [1.0]}, "rule `maxima`"),
    ],
)
def test_methods_that_cannot_be(method, message):
    with pytest.raises(ParameterError, match=message):
        read_methods(stage(segmentation=SEGMENTATION | {"methods": {"bad": method}}))


def test_without_gold_words_and_entropies(built):
    """Nothing is tuned or scored, and methods that need entropies are left out."""
    assert tuned("mine") == {"subset": {"viterbi": 1.0}, "full": {"viterbi": 1.0}}
    assert list(read_methods(stage("mine"))["subset"]) == ["literal", "viterbi", "fixed", "plain"]
    own = pl.read_parquet("reports/sample/segmentation/mine/scores.parquet")
    assert own["f1"].null_count() == len(own) and own["characters_per_segment"].min() >= 1


def test_scores_are_those_of_the_segments(scores, subset):
    (row,) = scores.filter(training="subset", configuration="literal-4", seed=1, bpe="none").to_dicts()
    corpus = documents()
    pairs = [(corpus[n], starts) for (seed, n), starts in boundaries(subset, "literal-4").items() if seed == 1]
    gold = [words(document.text, document.boundaries) for document, _ in pairs]
    predicted = [[d.text[a:b] for a, b in pairwise((0, *starts, len(d.text)))] for d, starts in pairs]
    assert row["f1"] == score_segmentation(gold, predicted).words.f1
    assert row["segments"] == sum(map(len, predicted))
    metrics = json.loads(Path("reports/sample/segmentation/zh/metrics.json").read_text(encoding="utf-8"))
    of_seeds = scores.filter(training="subset", configuration="literal-4", bpe="none")["f1"]
    assert metrics["subset"]["literal-4"]["f1"] == pytest.approx(of_seeds.mean(), abs=1e-6)
