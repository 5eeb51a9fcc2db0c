"""Labelled corpora and classification as stages: the same texts in every language, a row for each model, an interrupted
stage, and bad input."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from interrupted import calls_of, files, killed
from sklearn.metrics import f1_score
from small_codes import LABELLED, stage, write_codes
from workspace import SMALL_DOWNSTREAM

from tasks.downstream import classify as classify_stage
from tasks.downstream.classify import classify, compared
from tasks.downstream.cuts import cuts_of, folders_of, open_cut
from tasks.downstream.label import label, read_parts
from tasks.downstream.parameters import CutChoice
from tasks.downstream.train_code_lm import train_models
from tokenlab.classification.examples import encode_labelled
from tokenlab.classification.linear import linear_control
from tokenlab.comparison.perturbations import KINDS, perturb
from tokenlab.core.errors import InputError
from tokenlab.metrics.classification import paired_difference
from tokenlab.tokenizers.bpe import BpeOptions, save_tokenizer, train_bpe


@pytest.fixture(scope="module")
def folder(workdir):
    """The working directory of the tests, with both stages run."""
    label(stage("topics"))
    write_codes(pl.read_parquet(f"{LABELLED}/train.parquet")["text"].to_list())
    classify(stage())
    return workdir


def test_the_parts_have_the_same_texts_in_every_language(folder):
    for part in ("train", "validation", "test"):
        english, chinese = (
            pl.read_parquet(f"data/sample/labelled/topics/{language}/{part}.parquet")
            for language in ("english", "chinese")
        )
        assert english["id", "label", "passage"].equals(chinese["id", "label", "passage"])
        facts = json.loads((folder / "reports/sample/labelled/topics.json").read_text())
        assert sum(facts["texts"]["chinese"][part].values()) == len(chinese)
    assert len(pl.read_parquet(f"{LABELLED}/train.parquet")) == 200
    passages = [set(pl.read_parquet(f"{LABELLED}/{part}.parquet")["passage"]) for part in ("train", "test")]
    assert not passages[0] & passages[1]


def test_scores_are_those_of_the_predictions(folder):
    reports = folder / "reports/sample/classify/en"
    predictions, scores = (pl.read_parquet(reports / f"{name}.parquet") for name in ("predictions", "scores"))
    gold = read_parts(folder / LABELLED)["test"].labels
    for predicted, f1 in zip(predictions["predicted"].to_list(), scores["f1"], strict=True):
        assert f1 == pytest.approx(f1_score(gold, predicted, average="weighted", zero_division=0))
    pairs = pl.read_parquet(reports / "compared.parquet")
    (row,) = pairs.filter(code="random", rival="byte", size="120", model="linear").iter_rows(named=True)
    runs = [
        np.array(predictions.filter(code=code, size="120", model="linear").sort("seed")["predicted"].to_list())
        for code in ("random", "byte")
    ]
    found = paired_difference(gold, *runs, len(set(gold)))
    assert (row["difference"], row["deviation"], row["runs"]) == (found.mean, found.deviation, 2)
    assert row["separable"] == (abs(found.mean) > found.deviation)


def test_perturbed_texts_are_classified_again(folder):
    """By the linear control, which has no chance, of each of them alone."""
    parts, classification = read_parts(folder / LABELLED), SMALL_DOWNSTREAM["classification"]
    step = -(-len(parts["test"].texts) // classification["perturbed"])
    chosen = parts["test"].take(range(0, len(parts["test"].texts), step))
    rows = pl.read_parquet("reports/sample/classify/en/perturbed.parquet")
    byte = rows.filter(code="byte", tokenizer="bpe", size="120", model="linear", seed=0)
    assert {"typos", "homoglyphs", "full-width", "spacing", "case"} <= set(byte["perturbation"]) < set(KINDS)
    choice = CutChoice(tokenizers=("bpe",), sizes=(120,), unknown="byte")
    folders = folders_of(stage(), "en")
    cut = next(cut for cut in cuts_of(folders, choice, [0]) if cut.code == "byte")
    tokenizer = open_cut(folders, cut, "byte").tokenizer
    train, validation = (encode_labelled(tokenizer, parts[name]) for name in ("train", "validation"))

    def f1(texts):
        predicted = linear_control(
            train, validation, encode_labelled(tokenizer, chosen._replace(texts=texts)), len(chosen.classes)
        )
        return f1_score(chosen.labels, predicted, average="weighted", zero_division=0)

    for row in byte.iter_rows(named=True):
        assert row["original"] == pytest.approx(f1(chosen.texts))
        assert row["f1"] == pytest.approx(f1([perturb(text, row["perturbation"]).text for text in chosen.texts]))
    assert (byte["f1"] < byte["original"]).any()


def test_codes_are_compared_with_random_codes_of_their_length():
    gold = np.array([0, 1] * 20)
    columns = ["code", "N", "K", "tokenizer", "size", "model", "seed", "predicted"]
    runs = [("random", 2, 8), ("random", 3, 4), ("latom", 2, 8), ("byte", None, None)]
    rows = [(*code, "bpe", "90", "linear", seed, gold.tolist()) for code in runs for seed in (0, 1)]
    rows[:2] = [(*row[:-1], (1 - gold).tolist()) for row in rows[:2]]  # Random codes of two digits are always wrong.
    found = compared(pl.DataFrame(rows, columns, orient="row"), gold, 2)
    pairs = {(row["code"], row["N"], row["rival"]): row["difference"] for row in found}
    wanted = {("random", 2, "byte"): -1, ("random", 3, "byte"): 0, ("latom", 2, "byte"): 0, ("latom", 2, "random"): 1}
    assert pairs == wanted


@pytest.mark.slow
def test_an_interrupted_stage_trains_what_is_left(folder, monkeypatch):
    """After three trainings it is killed; the next run trains the others alone, to the same bytes."""
    reports = folder / "reports/sample/classify/en"
    whole = files(reports)
    done = killed(lambda: classify(stage()), classify_stage, "_train", after=3)
    again = calls_of(monkeypatch, classify_stage, "_train")
    classify(stage())
    done, again = ([training.path.name for (training,) in calls] for calls in (done, again))
    assert len(again) == 24 - 3 and not set(again) & set(done)
    assert files(reports) == whole and not list(folder.glob(".work/**/*.parquet"))


def test_smaller_tokenizers_have_the_first_merges(folder):
    folders = folders_of(stage(), "en")
    choice = CutChoice(tokenizers=("bpe", "unigram"), sizes=("characters", 90, 200), unknown="error")
    texts = read_parts(folder / LABELLED)["train"].texts
    cuts = cuts_of(folders, choice, [1])
    assert {cut.variant.seed for cut in cuts if cut.code == "random"} == {1}
    counts = {
        cut.name: sum(len(tokens.ids) for tokens in open_cut(folders, cut, "error").tokenizer.encode_batch(texts))
        for cut in cuts
    }
    for tokenizer in ("bpe", "unigram"):
        assert counts[f"character-{tokenizer}-characters"] == sum(map(len, texts))
        assert counts[f"byte-{tokenizer}-characters"] > counts[f"byte-{tokenizer}-90"] > counts[f"byte-{tokenizer}-200"]


def test_tokenizers_of_text_are_cuts(folder, tmp_path):
    texts = read_parts(folder / LABELLED)["train"].texts
    save_tokenizer(train_bpe(texts, BpeOptions(vocabulary_size=150)), tmp_path / "words" / "bpe")
    folders, choice = folders_of(stage(), "en"), CutChoice(tokenizers=("none",), sizes=(), unknown="error")
    *_, cut = cuts_of(folders, choice, [0], tmp_path)
    assert cut.key() == {"code": "tokenizer", "N": None, "K": None, "tokenizer": "words/bpe", "size": ""}
    assert len(open_cut(folders, cut, "error", tmp_path).tokenizer.encode_batch(texts)) == len(texts)
    with pytest.raises(InputError, match="no tokenizer"):
        cuts_of(folders, choice, [0], tmp_path / "words" / "nothing")
    with pytest.raises(InputError, match=r"random of N = 2 .*seed 2"):
        cuts_of(folders, choice, [0, 1, 2])


@pytest.mark.parametrize(
    ("work", "section", "part"), [(classify, "classification", "test"), (train_models, "language_model", "validation")]
)
def test_a_character_that_the_code_lacks(folder, tmp_path, monkeypatch, work, section, part):
    """One line names the text and the character."""
    shutil.copytree(folder / LABELLED, tmp_path / LABELLED)
    monkeypatch.chdir(tmp_path)
    write_codes([text for part in read_parts(Path(LABELLED)).values() for text in part.texts])
    path = f"{LABELLED}/{part}.parquet"
    pl.read_parquet(path).with_columns(text=pl.col("text") + "猫").write_parquet(path)
    settings = SMALL_DOWNSTREAM[section]
    cuts = settings["cuts"] | {"unknown": "error"}
    with pytest.raises(InputError, match=rf"^data/\S+/{part}.parquet:1: .*\(U\+732B\); .*`byte`"):
        work(stage(**{section: settings | {"cuts": cuts}}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (pl.lit("no topic").alias("label"), "test.parquet:1: .*'no topic'"),
        (pl.col("label").first(), "test.parquet: .* class"),
        (pl.lit(None, pl.String).alias("text"), "test.parquet:1: .*'text'"),
    ],
)
def test_labels_that_do_not_fit_the_classes(folder, tmp_path, change, message):
    for part in ("train", "validation", "test"):
        table = pl.read_parquet(f"{LABELLED}/{part}.parquet")
        (table.with_columns(change) if part == "test" else table).write_parquet(tmp_path / f"{part}.parquet")
    with pytest.raises(InputError, match=message):
        read_parts(tmp_path)


def test_a_limit_that_leaves_a_class_without_texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    topics = SMALL_DOWNSTREAM["corpora"]["topics"]
    few = topics | {"split": topics["split"] | {"largest": {"test": 1}}}
    with pytest.raises(InputError, match=r"test, 1 texts .* class"):
        label(stage("topics", corpora={"topics": few}))
    assert not Path("data/sample/labelled/topics").exists()


def test_reviews_of_a_file_keep_their_record(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"stars": n % 2, "review_body": f"text {n}", "language": "de" if n % 3 else "fr"} for n in range(60)]
    (tmp_path / "all.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "SOURCE.json").write_text("{}")
    reviews = {
        "path": str(tmp_path),
        "format": "jsonl",
        "languages": {"german": "all.jsonl"},
        "only": {"german": {"language": "de"}},
        "split": {"validation": 0.2, "test": 0.2, "seed": 0},
    }
    label(stage("reviews", corpora={"reviews": reviews}))
    parts = read_parts(tmp_path / "data/sample/labelled/reviews/german")
    assert sorted(text for part in parts.values() for text in part.texts) == sorted(
        row["review_body"] for row in rows if row["language"] == "de"
    )
    assert (tmp_path / "data/sample/labelled/reviews/german/SOURCE.json").read_text() == "{}"
