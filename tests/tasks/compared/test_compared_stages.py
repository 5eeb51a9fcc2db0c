"""Ways of cutting as two stages: what is trained and scored, equal budgets, interruptions, and what is measured."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from workspace import SMALL_CODES, SMALL_COMPARED

from tasks.compared import train as stage_module
from tasks.compared.evaluate import evaluate, ngrams
from tasks.compared.parameters import Code
from tasks.compared.train import train
from tasks.patches.texts import Texts, part_documents
from tasks.runtime.stage import Stage
from tokenlab.comparison.candidates import read_candidate
from tokenlab.core.errors import ParameterError
from tokenlab.generated import generate
from tokenlab.text.store import write_corpus

MADE, REPORTS = Path("models/sample/compared/zh"), Path("reports/sample/compared/zh")
CORPUS = Path("data/sample/corpora/zh")
pytestmark = pytest.mark.slow
METHODS = [name for name in SMALL_COMPARED["methods"] if name != "elsewhere"]


def stage(**changed):
    return Stage("params.yaml", "sample", "zh", {"compared": SMALL_COMPARED | changed, "codes": SMALL_CODES})


@pytest.fixture(scope="module")
def folder(workdir):
    """The working directory of the tests, with both stages run; the first was killed in its sixth training."""
    run, scored, killed, places = stage_module.run_trial, [], [], []
    checkpoint_folder = stage_module.checkpoint_folder

    def same_folder(*arguments):
        """That of the first run: its hash covers imported code, and by the second run more of it is imported here."""
        places.append(checkpoint_folder(*arguments))
        return places[0]

    def once_killed(trial, place, **others):
        scored.append((place / f"{trial.name}-{trial.seed}.json").exists())
        if len(scored) == 6 and not killed:
            killed.append(trial)
            raise KeyboardInterrupt
        return run(trial, place, **others)

    with pytest.MonkeyPatch.context() as patched:
        write_corpus(generate("zh", sentences=400, seed=3), CORPUS)
        patched.setattr(stage_module, "run_trial", once_killed)
        patched.setattr(stage_module, "checkpoint_folder", same_folder)
        with pytest.raises(KeyboardInterrupt):
            train(stage())
        assert not MADE.exists() and not any(scored)
        scored.clear()
        train(stage())
        assert scored.index(False) == 5  # What was scored is not trained again.
        assert not [*Path(".work").rglob("*.json")]
        evaluate(stage())
    return workdir


@pytest.fixture
def scores(folder):
    return pl.read_parquet(folder / REPORTS / "scores.parquet")


def test_all_methods_have_their_seeds_at_equal_operations_and_equal_bytes(scores):
    flops, equal = scores.filter(budget="flops"), scores.filter(budget="bytes")
    keys = [(name, seed) for name in METHODS for seed in ((0, 1, 2) if name == "bpe" else (0, 1))]
    assert flops.select("method", "seed").rows() == keys
    assert equal.select("method", "seed").rows() == [(name, 0) for name in METHODS]
    assert flops["training_flops"].max() < 1.04 * flops["training_flops"].min()  # each within 2 % of the budget
    assert (flops["training_flops"] / 2e8 - 1).abs().max() < 0.02
    assert equal["training_bytes"].n_unique() == 1 and abs(equal["training_bytes"][0] / 3000 - 1) < 0.02
    assert scores["bits_per_byte"].is_between(1, 12).all()


def test_every_method_is_charged_for_the_same_bytes(folder, scores):
    texts = Texts.model_validate(SMALL_COMPARED["texts"])
    test = [document.text.encode() for document in part_documents(folder / CORPUS, texts, "test")]
    for budget in ("flops", "bytes"):
        for path in (folder / MADE / budget).glob("*.json"):
            assert json.loads(path.read_text())["documents"]["bytes"] == [*map(len, test)], path.name
    assert set(scores["test_bytes"]) == {sum(map(len, test))}


def test_candidates_give_texts_back_and_networks_of_the_first_seed_are_kept(folder, scores):
    assert scores["decode_errors"].sum() == 0
    assert {path.name for path in (folder / MADE / "networks").iterdir()} == {f"{name}-0" for name in METHODS}
    for name in METHODS:
        coder = read_candidate(folder / MADE / "candidates" / name)
        (passage,) = coder.code(["今天很好。".encode()])
        assert coder.decode(passage.ids.tolist()).decode() == "今天很好。"


def test_units_are_measured_with_gold_words(scores):
    rows = {row["method"]: row for row in scores.filter(budget="flops", seed=0).iter_rows(named=True)}
    assert rows["bytes"]["bytes_per_token"] == 1 and rows["bytes"]["gold_f1"] < rows["bpe"]["gold_f1"] <= 1
    assert rows["characters"]["byte_token_rate"] < 0.2 < rows["bytes"]["byte_token_rate"]
    assert rows["bits"]["gold_f1"] is None and rows["chunks"]["vocabulary_used"] is None
    assert rows["chunks"]["bytes_per_token"] > 1 and rows["bpe"]["fertility"] < rows["bytes"]["fertility"]


def test_exact_bits_are_fewer_than_those_of_one_encoding(scores):
    exact = scores.drop_nulls("exact_bits_per_byte")
    assert exact.select("method", "budget", "seed").rows() == [
        (name, "flops", 0) for name in ("bpe", "entropy", "unigram")
    ]
    assert (exact["exact_bits_per_byte"] < exact["naive_bits_per_byte"]).all()
    assert exact["exact_bytes"].is_between(18, 24).all()


def test_verdicts_and_ngrams(folder, scores):
    answers = json.loads((folder / REPORTS / "answers.json").read_text())
    flops = scores.filter(budget="flops")
    assert answers["bytes"] is None and scores.filter(budget="bytes")["behind"].null_count() == len(METHODS)
    assert answers["flops"]["use"] in METHODS and answers["flops"]["seeds"] == [2, 3]
    assert (flops["behind"] == 0).sum() in (2, 3) and flops["interval"].min() == 0
    baselines = pl.read_parquet(folder / REPORTS / "ngrams.parquet")
    assert baselines["order"].is_between(1, 3).all() and baselines["bits_per_byte"].is_between(1, 8).all()
    whole, *parts = baselines["training_bytes"]
    assert all(size < whole for size in parts)


def test_ngrams_of_every_third_passage():
    texts = [f"{number} {number**3}".encode() for number in range(60)]
    parts = {"training": texts, "validation": texts[:9], "test": texts[:9]}
    third = ngrams(parts, 3, 3)
    assert third == ngrams(parts | {"training": texts[::3]}, 1, 3)
    assert third["bits_per_byte"] > ngrams(parts, 1, 3)["bits_per_byte"]


def test_perturbations_cost_bits_and_boundaries(folder):
    rows = pl.read_parquet(folder / REPORTS / "robustness.parquet")
    kinds = rows["perturbation"].unique(maintain_order=True).to_list()
    assert "typos" in kinds and "diacritics" not in kinds  # nothing to change in Chinese
    assert rows.select("method", "perturbation").rows() == [(name, kind) for name in METHODS for kind in kinds]
    of_bits = rows.filter(method="bits")
    assert of_bits["boundaries_f1"].null_count() == len(kinds)
    kept = rows.filter(pl.col("method") != "bits")["boundaries_f1"]
    assert kept.is_between(0, 1).all() and kept.min() < 1
    spacing = rows.filter(perturbation="spacing")
    assert (spacing["bits_per_byte"] > spacing["original"]).all()
    assert np.allclose(rows.group_by("method").agg(pl.col("original").n_unique())["original"], 1)


@pytest.mark.parametrize(
    ("method", "wrong"),
    [
        ({"kind": "code", "code": "later"}, "code is 'later'"),
        ({"kind": "patches", "of": "bpe"}, "longest"),
        ({"kind": "patches", "of": "space", "target": 4.0}, "target is .* entropy"),
    ],
)
def test_a_method_that_cannot_be_is_one_line(method, wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match=wrong) as raised:
        train(stage(methods={"wrong": method}))
    assert "\n" not in str(raised.value) and "compared.methods" in str(raised.value)


def test_a_code_from_a_published_table_takes_the_folder_of_its_source():
    methods = {name: Code(kind="code", code=name) for name in ("myte", "random")}
    recipes = stage_module._recipes(methods, 512, Path("tables"))
    assert [recipe.tables for recipe in recipes] == [Path("tables/myte"), None]
