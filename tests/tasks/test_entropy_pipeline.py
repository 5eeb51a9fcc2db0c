"""Predictive entropy through the pipeline, small: a model is trained, scores the corpus, cuts it alone and as evidence
beside the statistics, and appears in tables, pictures and the report. The stages run in this process."""

import contextlib
import json
import shutil

import numpy as np
import polars as pl
import pytest
from tiny_models import save_characters
from workspace import ROOT, SMALL, SMALL_CODES, SMALL_TRAINING

from tasks import entropy as entropy_stage
from tasks.entropy import score
from tasks.entropy_model import train_model
from tasks.evaluate_segmentation import evaluate
from tasks.prepare import prepare
from tasks.readings import scopes
from tasks.report import report
from tasks.segment import segment
from tasks.stage import Stage
from tasks.statistics import count
from tasks.tables import segmentation_tables
from tasks.tokenizer import train
from tokenlab.entropy.corpus import read_entropies
from tokenlab.entropy.scorer import Scorer, load_scorer
from tokenlab.errors import InputError, ParameterError, one_line
from tokenlab.text.builtin import generate
from tokenlab.text.store import read_corpus, write_corpus

DEFAULT = SMALL["readings"]["default"]
READINGS = {
    "combined": {"statistics": "default", "evidence": [0.25, 1]},
    "default": DEFAULT,
    "fixed": {**DEFAULT, "candidates": []},
    "gpt2": {"boundaries": "maxima", "isolate": "none"},
    "gpt2-rise": {"boundaries": "rise", "isolate": "script", "threshold": 0.0, "candidates": [-1, -0.25, 0.25]},
    "plain": {**DEFAULT, "isolate": "none", "candidates": []},
    "without": {"statistics": "fixed", "evidence": [0]},
    "evident": {"statistics": "plain", "evidence": [100000.0]},
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
SECTIONS = {
    "preset": "sample",
    "corpora": {
        "zh": {"path": "data/raw/builtin/zh", "format": "parquet", "gold": "words"},
        "ja": {"path": "data/raw/builtin/ja", "format": "parquet", "gold": "words"},
    },
    "segmentation": SMALL
    | {
        "corpora": {"zh": {"entropy": "data/sample/entropy/zh"}},
        "readings": READINGS,
        "rest": {"readings": ["default", "gpt2-rise", "combined"], "vocabulary_size": 1000},
    },
    "entropy": {"models": {"zh": MODEL}, "public": {}, "scored": {"zh": SCORED, "ja": SCORED}},
    "codes": SMALL_CODES | {"corpora": {}},
}


def stage(variant="zh", **sections):
    return Stage("params.yaml", "sample", variant, SECTIONS | sections)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder in which all stages have run for the corpus `zh`; it is the working directory of the tests."""
    folder = tmp_path_factory.mktemp("entropy")
    with contextlib.chdir(folder):
        for language in ("zh", "ja"):
            write_corpus(generate(language, sentences=300, seed=0), f"data/raw/builtin/{language}")
            prepare(stage(language))
        for work in (count, train_model, score, segment, train, evaluate, report):
            work(stage())
        yield folder


@pytest.fixture(scope="module")
def entropies(built):
    return [values for _, values in read_entropies("data/sample/entropy/zh")]


@pytest.fixture(scope="module")
def drawn(built):
    return pl.read_parquet("data/sample/segments/zh/draw.parquet")


def texts():
    return [document.text for document in read_corpus("data/sample/corpora/zh")]


def cuts(drawn, method):
    """{(seed, sentence): boundaries} of the test parts."""
    rows = drawn.filter(pl.col("method") == method, pl.col("part") == "test")
    return {row[:2]: row[2] for row in rows.select("seed", "sentence", "boundaries").iter_rows()}


def test_every_sentence_is_scored_by_the_model(built, entropies):
    expected = load_scorer(SCORED["model"], "cpu").score(texts())
    assert len(entropies) == len(expected) > 300
    for ours, theirs in zip(entropies, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
    assert not list(built.glob(".work/*/*"))


def test_killed_before_its_end_it_scores_nothing_twice(built, monkeypatch):
    files = {path.name: path.read_bytes() for path in (built / "data/sample/entropy/zh").iterdir()}
    with monkeypatch.context() as patched:
        patched.setattr(entropy_stage, "atomic_folder", lambda path: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            score(stage())
    (work,) = built.glob(".work/entropy.zh/*")
    (work / ".part-00000.parquet.x.tmp").write_bytes(b"what a killed run was writing")
    shutil.rmtree("data/sample/entropy/zh")
    with monkeypatch.context() as patched:
        patched.setattr(Scorer, "score", lambda *arguments: pytest.fail("scored again"))
        score(stage())
    assert {path.name: path.read_bytes() for path in (built / "data/sample/entropy/zh").iterdir()} == files


def test_a_corpus_whose_test_sentences_the_model_may_know_is_refused(built):
    with pytest.raises(ParameterError) as raised:
        score(stage("ja"))
    assert "entropy.scored.ja.model" in one_line(raised.value) and "those of zh alone" in one_line(raised.value)
    assert not (built / "data/sample/entropy/ja").exists()


def test_a_model_from_elsewhere_scores_any_corpus(built, tmp_path):
    save_characters(tmp_path / "foreign")
    score(stage("ja", entropy={"scored": {"ja": SCORED | {"model": str(tmp_path / "foreign")}}}))
    ids = [document.id for document in read_corpus("data/sample/corpora/ja")]
    assert [id for id, _ in read_entropies("data/sample/entropy/ja")] == ids


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "nowhere"}, "nowhere: no such folder"),
        ({"device": "auto"}, "entropy.scored.zh.device"),
        ({"threads": 0}, "entropy.scored.zh.threads"),
        ({"dtype": "auto"}, "entropy.scored.zh.dtype"),
    ],
)
def test_bad_input_is_one_line(built, change, message):
    with pytest.raises((ParameterError, InputError)) as raised:
        score(stage(entropy={"scored": {"zh": SCORED | change}}))
    assert message in one_line(raised.value)


def test_the_papers_rule_cuts_before_local_maxima(built, entropies, drawn):
    found = cuts(drawn, "gpt2")
    assert len(found) == 2 * 45
    for (_, sentence), boundaries in found.items():
        values = entropies[sentence].tolist()
        assert len(set(values)) == len(values)  # no plateaus
        assert boundaries == [t for t in range(1, len(values) - 1) if values[t - 1] < values[t] > values[t + 1]]


def test_evidence_of_no_weight_changes_nothing(drawn):
    assert cuts(drawn, "without") == cuts(drawn, "fixed-1")


def test_evidence_of_great_weight_cuts_where_entropy_is_above_its_mean(built, entropies, drawn):
    training = drawn.filter(pl.col("method") == "gpt2", pl.col("part") == "train")
    for seed in SMALL["seeds"]:
        numbers = training.filter(pl.col("seed") == seed)["sentence"].to_list()
        theta = np.concatenate([entropies[number] for number in numbers]).mean()
        for (of_seed, sentence), boundaries in cuts(drawn, "evident").items():
            if of_seed == seed:
                assert {t for t, value in enumerate(entropies[sentence]) if t and value > theta} <= set(boundaries)


def test_choices_are_the_best_on_validation(built):
    curves = pl.read_csv("reports/sample/lambda/zh/choices.csv")
    chosen = json.loads((built / "reports/sample/lambda/zh/chosen.json").read_text(encoding="utf-8"))
    assert set(chosen["draw"]) == {"default", "gpt2-rise", "without", "combined", "evident"}
    assert set(chosen["rest"]) == {"default", "gpt2-rise", "combined"}
    for scope, of_scope in chosen.items():
        for reading, value in of_scope.items():
            points = curves.filter(pl.col("scope") == scope, pl.col("reading") == reading)
            if reading != "default":
                means = points.group_by("value").agg(pl.col("f1").mean())
                assert value == means.filter(pl.col("f1") >= means["f1"].max() - 1e-12)["value"].min()
    assert chosen["draw"]["gpt2-rise"] == chosen["rest"]["gpt2-rise"]
    assert len(curves.filter(pl.col("reading") == "gpt2-rise", pl.col("scope") == "draw")) == 3  # not one a seed


def test_scores_say_which_signals_a_row_rests_on(built):
    scores = pl.read_parquet("reports/sample/segmentation/zh/scores.parquet")
    signals = dict(scores.filter(pl.col("signal").is_not_null()).select("reading", "signal").unique().iter_rows())
    assert signals["default"] == "statistics" and signals["gpt2"] == "entropy" and signals["combined"] == "both"
    assert set(scores.filter(pl.col("reading").is_null())["method"]) == {"bpe", "bpe-punctuation"}
    rise, both = (scores.filter(pl.col("method") == name).row(0, named=True) for name in ("gpt2-rise", "combined"))
    assert rise["threshold"] in (-1, -0.25, 0.25) and rise["lambda"] is None and rise["nu"] is None
    assert both["nu"] in (0.25, 1) and both["threshold"] is None
    assert both["lambda"] == scores.filter(pl.col("method") == "default").row(0, named=True)["lambda"]


def test_the_paper_stands_beside_its_rule(built):
    scores = pl.read_parquet("reports/sample/segmentation/zh/scores.parquet")
    drawn, _ = segmentation_tables(scores, {"corpus": "zh", "source": "pku", "gold_words": 1, "notes": []})
    beside = {row[0]: row[2] for row in drawn.rows}
    assert beside["gpt2"] == "52.07 / 64.69 / 57.70"
    assert {cell for name, cell in beside.items() if name.startswith(("gpt2-", "combined"))} == {""}
    assert any(name.startswith("gpt2-rise, θ = ") for name in beside)
    assert any(name.startswith("combined, ν = ") for name in beside)


def test_pictures_and_report(built, entropies):
    table = pl.read_csv("reports/sample/segmentation/zh/entropy.csv")
    assert table["sentence"].n_unique() in (1, 2, 3)
    for (_,), rows in table.group_by("sentence"):
        rows = rows.sort("position")
        number = texts().index("".join(rows["character"]))
        np.testing.assert_allclose(rows["entropy"].to_numpy(), entropies[number], atol=1e-6)
    for name in ("lambda/zh/choices", "segmentation/zh/entropy", "entropy_models/zh/loss"):
        assert (built / f"reports/sample/{name}.png").read_bytes().startswith(b"\x89PNG")
        drawing = (built / f"reports/sample/{name}.svg").read_text(encoding="utf-8")
        page = (built / "reports/sample/index.html").read_text(encoding="utf-8")
        assert drawing[drawing.index("<svg") :] in page
    assert str(built).encode() not in (built / "reports/sample/index.html").read_bytes()


def test_without_a_model_there_are_the_statistical_readings_alone(built):
    (built / "data/raw").mkdir(exist_ok=True, parents=True)
    shutil.copy(ROOT / "data/raw/no-entropy", built / "data/raw/no-entropy")
    without = SECTIONS["segmentation"] | {"corpora": {"zh": {"entropy": "data/raw/no-entropy"}}}
    found = scopes(stage(segmentation=without))
    assert {name: list(readings) for name, readings in found.items()} == {
        "draw": ["default", "fixed", "plain"],
        "rest": ["default"],
    }


@pytest.mark.parametrize(
    ("of_combined", "readings"),
    [
        ({"statistics": "nowhere"}, {}),
        ({"statistics": "gpt2"}, {}),
        ({"statistics": "greedy"}, {"greedy": SMALL["readings"]["literal"]}),
        ({"statistics": "many"}, {"many": {**DEFAULT, "candidates": [], "weights": [1, 2]}}),
    ],
)
def test_what_cannot_be_combined(built, of_combined, readings):
    chosen = {"gpt2": READINGS["gpt2"], **readings, "combined": {"evidence": [1], **of_combined}}
    sections = SECTIONS["segmentation"] | {"readings": chosen, "rest": {"readings": [], "vocabulary_size": 1000}}
    with pytest.raises(ParameterError, match=r"combined\.statistics"):
        scopes(stage(segmentation=sections))


def test_what_is_combined_is_in_the_same_scope(built):
    rest = {"rest": {"readings": ["combined"], "vocabulary_size": 1000}}
    with pytest.raises(ParameterError, match="one row, in the scope rest"):
        scopes(stage(segmentation=SECTIONS["segmentation"] | rest))


def test_entropies_of_other_sentences_are_refused(built):
    other = SECTIONS["segmentation"] | {"corpora": {"ja": {"entropy": "data/sample/entropy/zh"}}}
    count(stage("ja"))
    write_corpus([d._replace(id=f"x{d.id}") for d in read_corpus("data/raw/builtin/ja")], "data/sample/corpora/ja")
    with pytest.raises(InputError, match="other sentences than those of ja"):
        segment(stage("ja", segmentation=other))
