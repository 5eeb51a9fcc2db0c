"""Labelled corpora and classification as stages: the same texts in every language, a row for each model, an interrupted
stage, and bad input."""

import contextlib
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score
from small_codes import LABELLED, stage, write_codes
from workspace import SMALL_DOWNSTREAM

from tasks.downstream import classify as classify_stage
from tasks.downstream.classify import classify, compared
from tasks.downstream.cuts import cuts_of, folders_of, open_cut
from tasks.downstream.label import label, read_parts
from tasks.downstream.parameters import CutChoice
from tokenlab.core.errors import InputError
from tokenlab.metrics.classification import paired_difference
from tokenlab.tokenizers.bpe import BpeOptions, save_tokenizer, train_bpe


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The working directory of the tests, with both stages run."""
    folder = tmp_path_factory.mktemp("downstream")
    with contextlib.chdir(folder):
        label(stage("topics"))
        write_codes(pl.read_parquet(f"{LABELLED}/train.parquet")["text"].to_list())
        classify(stage())
        yield folder


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


def test_a_row_for_each_cut_model_and_seed(folder):
    scores = pl.read_parquet(folder / "reports/sample/classify/en/scores.parquet")
    rows = scores.select("code", "tokenizer", "size", "model", "seed").rows()
    expected = [
        (code, tokenizer, size, model, seed)
        for code in ("character", "byte", "random")
        for tokenizer, size in (("none", ""), ("bpe", "120"))
        for seed in (0, 1)
        for model in ("transformer", "bilstm", "linear")
    ]
    assert sorted(rows) == sorted(expected)
    sized = scores.filter(code="random", size="120")
    assert sized["vocabulary"].unique().to_list() == [121]  # and [UNK]
    trained, control = scores.filter(pl.col("model") != "linear"), scores.filter(model="linear")
    assert trained["padding"].is_between(0, 0.3).all() and control["padding"].is_null().all()
    # The control has no chance but that of the code.
    assert (
        control.group_by("code", "tokenizer", "size").agg(pl.col("f1").n_unique()).filter(code="byte")["f1"].max() == 1
    )


def test_scores_are_those_of_the_predictions(folder):
    reports = folder / "reports/sample/classify/en"
    predictions, scores = (pl.read_parquet(reports / f"{name}.parquet") for name in ("predictions", "scores"))
    gold = read_parts(folder / LABELLED)["test"].labels
    for predicted, f1 in zip(predictions["predicted"].to_list(), scores["f1"], strict=True):
        assert f1 == pytest.approx(f1_score(gold, predicted, average="weighted", zero_division=0))
    row = pl.read_parquet(reports / "compared.parquet").row(
        by_predicate=(pl.col("code") == "random")
        & (pl.col("rival") == "byte")
        & (pl.col("size") == "120")
        & (pl.col("model") == "linear"),
        named=True,
    )
    runs = [
        np.array(predictions.filter(code=code, size="120", model="linear").sort("seed")["predicted"].to_list())
        for code in ("random", "byte")
    ]
    found = paired_difference(gold, *runs, len(set(gold)))
    assert (row["difference"], row["deviation"], row["runs"]) == (found.mean, found.deviation, 2)
    assert row["separable"] == (abs(found.mean) > found.deviation)


def test_nobody_is_compared_with_itself():
    gold = np.array([0, 1, 0, 1])
    key = {"code": "byte", "N": None, "K": None, "tokenizer": "bpe", "size": "5", "model": "linear"}
    assert compared(pl.DataFrame([{**key, "seed": 0, "predicted": [0, 1, 1, 1]}]), gold, 2) == []


def test_an_interrupted_stage_trains_what_is_left(folder, monkeypatch):
    """After three trainings it is killed; the next run trains the others alone, to the same bytes."""
    reports = folder / "reports/sample/classify/en"
    whole = {path.name: path.read_bytes() for path in reports.iterdir()}
    train, done = classify_stage._train, []

    def until_killed(training):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(training.path.name)
        return train(training)

    with monkeypatch.context() as patched:
        patched.setattr(classify_stage, "_train", until_killed)
        with pytest.raises(KeyboardInterrupt):
            classify(stage())
    again = []
    monkeypatch.setattr(classify_stage, "_train", lambda training: again.append(training.path.name) or train(training))
    classify(stage())
    assert len(again) == 24 - 3 and not set(again) & set(done)
    assert {path.name: path.read_bytes() for path in reports.iterdir()} == whole
    assert not list(folder.glob(".work/**/*.parquet"))


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
    with pytest.raises(InputError, match=r"no tokenizer.json below it; name another folder"):
        cuts_of(folders, choice, [0], tmp_path / "words" / "nothing")


def test_a_seed_without_a_code(folder):
    choice = CutChoice(tokenizers=("none",), sizes=(), unknown="error")
    with pytest.raises(InputError, match=r"no code random of N = 2 with the seed 2; raise its codebooks.lengths"):
        cuts_of(folders_of(stage(), "en"), choice, [0, 1, 2])


@pytest.mark.parametrize("unknown", ["error", "byte", "skip"])
def test_a_character_that_the_code_lacks(folder, tmp_path, monkeypatch, unknown):
    """In a test text; with `error` one line names the text, otherwise the models see its bytes, or nothing."""
    monkeypatch.chdir(tmp_path)
    label(stage("topics"))
    write_codes([text for part in read_parts(Path(LABELLED)).values() for text in part.texts])
    test = pl.read_parquet(f"{LABELLED}/test.parquet")
    test.with_columns(text=pl.col("text") + "猫").write_parquet(f"{LABELLED}/test.parquet")
    classification = SMALL_DOWNSTREAM["classification"]
    cuts = {"tokenizers": ["bpe"], "sizes": ["characters"], "unknown": unknown}
    changed = stage(classification=classification | {"cuts": cuts, "architectures": {}})
    if unknown == "error":
        with pytest.raises(
            InputError, match=r"^data/\S+/test.parquet:1: the code has no '猫' \(U\+732B\); .* `byte` or"
        ):
            classify(changed)
    else:
        classify(changed)
        assert pl.read_parquet("reports/sample/classify/en/scores.parquet")["f1"].is_between(0, 1).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (pl.lit("no topic").alias("label"), r"test.parquet:1: the label 'no topic' is none of"),
        (pl.col("label").first(), r"test.parquet: no text of the class"),
        (pl.lit(None, pl.String).alias("text"), r"test.parquet:1: no value for 'text'"),
    ],
)
def test_labels_that_do_not_fit_the_classes(folder, tmp_path, change, message):
    for part in ("train", "validation", "test"):
        table = pl.read_parquet(f"{LABELLED}/{part}.parquet")
        (table.with_columns(change) if part == "test" else table).write_parquet(tmp_path / f"{part}.parquet")
    with pytest.raises(InputError, match=message):
        read_parts(tmp_path)


def test_a_split_without_a_class(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few = SMALL_DOWNSTREAM["corpora"]["topics"] | {"sentences": 20}
    with pytest.raises(InputError, match=r"no text of the class"):
        label(stage("topics", corpora={"topics": few}))
    assert not (tmp_path / "data/sample/labelled/topics").exists()


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
