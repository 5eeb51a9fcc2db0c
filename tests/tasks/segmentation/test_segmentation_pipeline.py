"""The stages of the segmentation family on small corpora: `zh` with a language model, and a user's text without gold
words. They run in this process, and draw nothing."""

import contextlib
import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import polars as pl
import pytest
from tiny_models import save_characters
from transformers import AutoTokenizer
from workspace import SMALL, SMALL_TRAINING

from tasks.corpora.prepare import prepare
from tasks.runtime.stage import Parameters, Stage
from tasks.segmentation import entropy as entropy_stage
from tasks.segmentation.entropy import score
from tasks.segmentation.entropy_model import train_model
from tasks.segmentation.evaluation.evaluate import evaluate
from tasks.segmentation.methods import METHODS, Configuration, read_methods
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
    "no-weight": {"by": "both", "statistics": "fixed", "grid": [0]},
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
def built(tmp_path_factory):
    """A folder in which all stages have run for `zh` and `mine`; it is the working directory of the tests."""
    folder = tmp_path_factory.mktemp("segmentation")
    with contextlib.chdir(folder):
        for language in ("zh", "ja"):
            write_corpus(generate(language, sentences=300, seed=0), f"data/raw/builtin/{language}")
        own = "\n".join(document.text for document in generate("zh", sentences=300, seed=9))
        (folder / "mine.txt").write_text(own, encoding="utf-8")
        for corpus in ("zh", "ja", "mine"):
            prepare(stage(corpus))
        for work in (count, train_model, score, segment, train, evaluate):
            work(stage())
        for work in (count, segment, train, evaluate):
            work(stage("mine"))
        yield folder


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


# ---- statistics and splits ----


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


def test_distributions_count_every_ngram(built):
    table = pl.read_parquet("data/sample/signals/zh/ngrams/subset-0.parquet")
    folder = built / "reports/sample/ngram_statistics/zh"
    assert pl.read_csv(folder / "pmi.csv")["pmi"].sum() == len(table.filter(pl.col("n") == 2))
    assert pl.read_csv(folder / "entropy.csv")["right"].sum() == len(table)
    assert json.loads((folder / "unit.json").read_text(encoding="utf-8")) == {"unit": "nats"}


# ---- predictive entropy ----


def test_every_sentence_is_scored_by_the_model(built, entropies):
    expected = load_scorer(SCORED["model"], "cpu").score([document.text for document in documents()])
    assert len(entropies) == len(expected) > 300
    for ours, theirs in zip(entropies, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
    assert not list(built.glob(".work/*/*"))


def test_killed_before_its_end_it_scores_nothing_twice(built, monkeypatch):
    folder = built / "data/sample/signals/zh/entropy"
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
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
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files


def test_a_corpus_with_test_sentences_that_the_model_may_know_is_refused(built):
    with pytest.raises(ParameterError) as raised:
        score(stage("ja"))
    message = one_line(raised.value)
    assert "entropy.scored.ja.model" in message and "only those of zh were held out" in message
    assert not (built / "data/sample/signals/ja/entropy").exists()


def test_a_model_from_elsewhere_scores_any_corpus(built, tmp_path):
    save_characters(tmp_path / "foreign")
    score(stage("ja", entropy={"scored": {"ja": SCORED | {"model": str(tmp_path / "foreign")}}}))
    ids = [document.id for document in documents("ja")]
    assert [id for id, _ in read_entropies("data/sample/signals/ja/entropy")] == ids


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "nowhere"}, "nowhere: no such folder"),
        ({"device": "auto"}, "entropy.scored.zh: device is 'auto'"),
        ({"threads": None}, "entropy.scored.zh: threads is None"),
        ({"threads": 0}, "entropy.scored.zh: threads is 0"),
        ({"dtype": "int8"}, "entropy.scored.zh.dtype"),
        ({"stride": 1}, "entropy.scored.zh.stride"),
    ],
)
def test_bad_parameters_of_scoring(built, change, message):
    with pytest.raises((ParameterError, InputError)) as raised:
        score(stage(entropy={"scored": {"zh": SCORED | change}}))
    assert message in one_line(raised.value)


def test_entropies_of_other_sentences_are_refused(built):
    write_corpus([d._replace(id=f"x{d.id}") for d in documents("ja")], "data/moved/corpora/ja")
    shutil.copytree("data/sample/signals/zh/entropy", "data/moved/signals/ja/entropy")
    with pytest.raises(InputError, match="other sentences than those of ja"):
        segment(stage("ja", preset="moved"))


# ---- methods ----


def test_the_papers_rule_places_boundaries_before_local_maxima(entropies, subset):
    found = boundaries(subset, "gpt2")
    assert len(found) == 2 * 45
    for (_, sentence), starts in found.items():
        values = entropies[sentence].tolist()
        assert len(set(values)) == len(values)  # no plateaus
        assert starts == [t for t in range(1, len(values) - 1) if values[t - 1] < values[t] > values[t + 1]]


def test_boundary_scores_of_no_weight_change_nothing(subset):
    assert boundaries(subset, "no-weight") == boundaries(subset, "fixed-1")


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
    assert set(found["subset"]) == {"viterbi", "gpt2-rise", "no-weight", "combined", "great-weight"}
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


def test_without_gold_words_methods_take_their_first_weight(built):
    assert tuned("mine") == {"subset": {"viterbi": 1.0}, "full": {"viterbi": 1.0}}


def test_without_entropies_methods_that_need_them_are_left_out(built):
    tables = read_methods(stage("mine"))
    assert {name: list(methods) for name, methods in tables.items()} == {
        "subset": ["literal", "viterbi", "fixed", "plain"],
        "full": ["viterbi"],
    }


class EveryNth(Parameters):
    """A toy kind of method: segments of n characters."""

    by: Literal["length"]
    n: int

    needs_entropy: ClassVar[bool] = False
    needs_statistics: ClassVar[bool] = False
    tuning: ClassVar[None] = None

    def configurations(self, name, methods, tuned):
        def place(texts, entropies, signals):
            return (list(range(self.n, len(text), self.n)) for text in texts)

        return [Configuration(name, name, self.by, place, parameters={"n": self.n})]


def test_a_new_kind_of_method_is_one_line(built, monkeypatch):
    """It appears in segments, tokenizers and scores, its keys as parameters of its rows."""
    monkeypatch.setitem(METHODS, "length", EveryNth)
    for name in ("corpora", "signals"):
        (built / "data/toy").mkdir(exist_ok=True)
        (built / "data/toy" / name).symlink_to(built / "data/sample" / name)
    methods = {"pairs": {"by": "length", "n": 2}, "viterbi": VITERBI}
    sections = SEGMENTATION | {"methods": methods, "full": {"methods": ["pairs"], "vocabulary_size": 1000}}
    for work in (segment, train, evaluate):
        work(stage(preset="toy", segmentation=sections))
    rows = pl.read_parquet("reports/toy/segmentation/zh/scores.parquet").filter(configuration="pairs")
    assert set(rows["signal"]) == {"length"} and set(rows["param.n"]) == {2} and rows["f1"].null_count() == 0
    assert rows["param.decoder"].null_count() == len(rows)


# ---- tokenizers ----


def test_tokenizers_load_and_round_trip(built):
    segments = pl.read_parquet("data/sample/segments/mine/subset.parquet")
    numbers = segments.filter(pl.col("seed") == 0, pl.col("split") == "train")["sentence"]
    texts = [document.text for document in documents("mine")]
    text = f"{texts[numbers[0]]} {texts[numbers[1]]}\n"
    for folder in ("subset/0/viterbi", "subset/0/bpe", "full/viterbi"):
        tokenizer = AutoTokenizer.from_pretrained(built / "models/sample/tokenizers/mine" / folder)
        assert folder.startswith("full") or tokenizer.decode(tokenizer(text)["input_ids"]) == text


# ---- scores ----


def test_scores_have_a_row_for_each_use(built, scores):
    names = {"literal-0", "literal-4", "literal-entropy", "fixed-1", "plain-1"}
    names |= METHODS_HERE.keys() - {"literal", "fixed", "plain"}
    subset = scores.filter(training="subset")
    assert set(subset["configuration"]) == names | {"bpe", "bpe-punctuation"}
    assert len(subset) == 2 * (2 * len(names) + 2)  # seeds x (alone and through BPE, and the baselines)
    assert len(scores) - len(subset) == 2 * (2 * 3 + 2)
    assert subset["f1"].is_between(0, 1).all() and subset["sentences"].unique().to_list() == [45]
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


def test_scores_name_signals_and_values(scores):
    signals = dict(scores.filter(pl.col("signal").is_not_null()).select("method", "signal").unique().iter_rows())
    assert signals["viterbi"] == "statistics" and signals["gpt2"] == "entropy" and signals["combined"] == "both"
    assert set(scores.filter(pl.col("method").is_null())["configuration"]) == {"bpe", "bpe-punctuation"}
    rise, both = (scores.filter(configuration=name).row(0, named=True) for name in ("gpt2-rise", "combined"))
    assert rise["threshold"] in (-1, -0.25, 0.25) and rise["lambda"] is None and rise["nu"] is None
    assert both["nu"] in (0.25, 1) and both["threshold"] is None
    assert both["lambda"] == scores.filter(configuration="viterbi").row(0, named=True)["lambda"]


def test_scores_hold_the_parameters_that_apply_to_a_row(scores):
    def parameters(**key):
        row = scores.filter(training="full", seed=0, **key).row(0, named=True)
        names = [name for name in row if name.startswith("param.") and row[name] is not None]
        return {name.removeprefix("param."): row[name] for name in names if not name.startswith("param.split.")}

    default = {"decoder": "viterbi", "isolate": "script", "single_character": "literal", "tie": "short"}
    default |= {"entropy_only": False, "vbe_weight": 0.0, "split_kana": False}
    assert parameters(configuration="viterbi", bpe="none") == default | {"grid": "0.5, 1"}
    assert parameters(configuration="combined", bpe="raw") == default | {
        "grid": "0.25, 1",
        "statistics": "viterbi",
        "bpe.vocabulary_size": 1000,
    }
    assert parameters(configuration="gpt2-rise", bpe="none") == {
        "rule": "rise",
        "isolate": "script",
        "grid": "-1, -0.25, 0.25",
    }
    assert parameters(configuration="bpe", bpe="raw") == {"bpe.vocabulary_size": 1000}
    assert scores["param.split.sentences"].unique().to_list() == [150]


def test_metrics_are_means_over_the_seeds(built, scores):
    metrics = json.loads((built / "reports/sample/segmentation/zh/metrics.json").read_text(encoding="utf-8"))
    rows = scores.filter(training="subset", configuration="literal-4")
    expected = {name: rows.filter(bpe=bpe)["f1"].mean() for name, bpe in (("f1", "none"), ("f1_bpe", "raw"))}
    assert metrics["subset"]["literal-4"] == pytest.approx(expected, abs=1e-6)


def test_sentences_for_the_figures(built, entropies):
    found = json.loads((built / "reports/sample/segmentation/zh/sentences.json").read_text(encoding="utf-8"))
    example, scored = found["example"], found["entropies"]
    assert {"gold", "bpe", "literal-4", "gpt2", "combined"} <= example.keys()
    assert len({"".join(pieces) for pieces in example.values()}) == 1
    texts = [document.text for document in documents()]
    assert 1 <= len(scored) <= 3
    for sentence in scored:
        values = entropies[texts.index(sentence["text"])]
        np.testing.assert_array_equal(np.array(sentence["entropy"], np.float32), values)
        assert "".join(sentence["gold"]) == sentence["text"]
        assert all(values[t - 1] < values[t] > values[t + 1] for t in sentence["boundaries"])
    own = json.loads((built / "reports/sample/segmentation/mine/sentences.json").read_text(encoding="utf-8"))
    assert own["entropies"] == [] and "gold" not in own["example"]


def test_results_name_no_folder_of_this_machine(built):
    for path in built.glob("reports/sample/**/*"):
        if path.is_file():
            assert str(built).encode() not in path.read_bytes(), path
