"""The patch models as stages: tokenizers, patches, training, evaluation, tasks."""

import json
import shutil
from collections import Counter
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from workspace import SMALL_PATCHES

from tasks.patches.evaluate_patch_lm import evaluate_models
from tasks.patches.parameters import read_patch_settings
from tasks.patches.patch_tokenizer import learn
from tasks.patches.patches import _gold_passages, make_patches
from tasks.patches.texts import part_documents, read_texts
from tasks.patches.train_patch_lm import train_models
from tasks.runtime.stage import Stage
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.generated import generate
from tokenlab.generated.questions import write_questions
from tokenlab.language.passages import open_passages
from tokenlab.language.stored import read_language_model
from tokenlab.metrics.flops import paper_flops
from tokenlab.networks.options import StackShape
from tokenlab.patches.registry import read_patcher
from tokenlab.text.documents import Document
from tokenlab.text.store import write_corpus

VARIANTS = ["bpe-tokens", "bytes", "bpe", "space", "entropy", "learned", "bpe-v280"]


def stage(variant="en", **changes):
    return Stage("params.yaml", "sample", variant, {"patches": SMALL_PATCHES | changes})


@pytest.fixture(scope="module")
def folder(workdir):
    """The working directory of the tests, with all stages run but the tasks."""
    for language in ("en", "zh"):
        write_corpus(generate(language, sentences=220, seed=0), f"data/sample/corpora/{language}")
    learn(stage())
    shutil.copytree("models/sample/patch_tokenizers/en/280/tokenizer", "plain")
    learn(stage("plain"))
    make_patches(stage())
    train_models(stage())
    evaluate_models(stage())
    return workdir


def table(folder, *parts):
    return pl.read_parquet(folder.joinpath("reports/sample", *parts))


def test_passages_hold_every_byte_once_and_the_patches_of_the_patchers(folder):
    whole = b"".join(
        text
        for part in ("training", "validation", "test")
        for block in open_passages(folder / "data/sample/patches/en" / part).blocks()
        for text in block.data
    )
    assert 6000 <= len(whole) < 11000
    for name in ("bpe", "bpe-280", "space", "entropy", "character", "fixed"):
        patcher = read_patcher(folder / "models/sample/patchers/en" / name / "patcher")
        for block in open_passages(folder / "data/sample/patches/en/test", name).blocks():
            assert max(map(len, block.data)) <= 96
            again = patcher.starts(block.data)
            assert all(map(np.array_equal, block.starts[name], again)), name


def test_patchers_are_measured(folder):
    rows = table(folder, "patches/en/patchers.parquet")
    facts = {row["patcher"]: row for row in rows.iter_rows(named=True)}
    # The published tokenizer here is a copy of the smaller one.
    same = [name for name in rows.columns if name not in ("patcher", "tokenizer", "modelled")]
    assert [facts["plain"][name] for name in same] == [facts["bpe-280"][name] for name in same]
    assert facts["character"]["gold_recall"] == 1 and facts["fixed"]["largest_patch"] == 4
    assert facts["entropy-published"]["threshold"] == pytest.approx(1.335442066192627)
    assert facts["entropy"]["calibrated"] == pytest.approx(4.0, abs=1.0)
    lengths = pl.read_csv(folder / "reports/sample/patches/en/lengths.csv").filter(unit="bytes")
    sums = lengths.group_by("patcher").agg((pl.col("length") * pl.col("patches")).sum())
    assert set(sums["length"]) == {facts["space"]["bytes"]}
    gold = read_texts(folder / "data/sample/patches/en/gold.parquet")
    words = sum(len(text.words) for text in gold)
    patches = sum(
        map(len, read_patcher(folder / "models/sample/patchers/en/fixed/patcher").starts([t.data for t in gold]))
    )
    assert facts["fixed"]["fertility"] == pytest.approx(patches / words)


def test_every_model_spends_the_same_compute(folder):
    metrics = json.loads((folder / "reports/sample/patch_models/en/metrics.json").read_text())["models"]
    assert [*metrics] == sorted(f"{name}-seed0{end}" for name in VARIANTS for end in ("", "-small"))
    for name, facts in metrics.items():
        of_a_batch = facts["training_flops"] / facts["steps"]
        budget = 5e7 if name.endswith("-small") else 1e8
        # Half an update more or less, and batches that are more or less full.
        assert abs(facts["training_flops"] - budget) < of_a_batch + 1e7, name
    loss = pl.read_csv(folder / "reports/sample/patch_models/en/loss.csv").filter(~pl.col("small"))
    last = loss.group_by("variant", maintain_order=True).last()
    assert last["flops"].to_list() == [metrics[f"{name}-seed0"]["training_flops"] for name in VARIANTS]
    assert not list(folder.glob(".work/**/*.safetensors"))
    model = read_language_model(folder / "models/sample/patch_models/en/bpe-v280-seed0")
    assert model.context == 96 and model.coder.hierarchical.longest == 3


def test_validation_text_chooses_the_learning_rate_of_all_trainings(folder):
    metrics = json.loads((folder / "reports/sample/patch_models/en/metrics.json").read_text())["models"]
    loss = pl.read_csv(folder / "reports/sample/patch_models/en/loss.csv")
    scores = {row["variant"]: row for row in table(folder, "patch_scores/en/scores.parquet").iter_rows(named=True)}
    last = loss.filter("small").group_by("variant", "learning_rate", maintain_order=True).last()
    for name in VARIANTS:
        tried = last.filter(variant=name).sort("held_out")
        assert sorted(tried["learning_rate"]) == [1e-4, 1e-2]
        whole, small = (metrics[f"{name}-seed0{end}"] for end in ("", "-small"))
        assert whole["learning_rate"] == small["learning_rate"] == tried["learning_rate"][0]
        assert small["validation_bits_per_byte"] == tried["held_out"][0] < tried["held_out"][1]
        assert set(loss.filter(~pl.col("small"), variant=name)["learning_rate"]) == {whole["learning_rate"]}
        # The small model that is evaluated is the chosen one.
        assert scores[name]["small_bits_per_byte"] == pytest.approx(small["validation_bits_per_byte"], rel=0.1)
        assert scores[name]["small_bits_per_byte"] != scores[name]["bits_per_byte"]


def test_ngram_models_of_the_same_text(folder):
    of_bytes, of_tokens = table(folder, "patch_scores/en/ngrams.parquet").iter_rows(named=True)
    assert (of_bytes["over"], of_tokens["over"], of_tokens["order"]) == ("bytes", "tokens", 1)
    assert 1 < of_bytes["order"] <= 4 and of_bytes["bits_per_byte"] < of_tokens["bits_per_byte"] < 8
    assert of_bytes["test_bytes"] == table(folder, "patch_scores/en/scores.parquet")["test_bytes"][0]
    patcher = read_patcher(folder / "models/sample/patchers/en/bpe/patcher")
    tokens = {
        part: [
            text[start:end]
            for block in open_passages(folder / "data/sample/patches/en" / part, "bpe").blocks()
            for text, starts in zip(block.data, block.starts["bpe"], strict=True)
            for start, end in pairwise([*starts.tolist(), len(text)])
        ]
        for part in ("training", "test")
    }
    counts = Counter(tokens["training"])
    once, twice = (sum(count == few for count in counts.values()) for few in (1, 2))
    discount = once / (once + 2 * twice)
    rest = discount * len(counts) / len(patcher.tokens)
    shares = [(max(counts[token] - discount, 0) + rest) / counts.total() for token in tokens["test"]]
    assert of_tokens["bits_per_byte"] == pytest.approx(-np.log2(shares).sum() / of_tokens["test_bytes"])


def test_only_documents_with_gold_words_are_gold(tmp_path):
    documents = [Document(str(number), "ab cd ef" * 30, (3,) if number % 2 else None, None) for number in range(200)]
    write_corpus(documents, tmp_path / "mixed")
    settings = read_patch_settings(stage())
    settings = settings._replace(texts=settings.texts.model_copy(update={"join": None}))
    found = {text.id.partition(":")[0] for text in _gold_passages(tmp_path / "mixed", settings)}
    test = [document.id for document in part_documents(tmp_path / "mixed", settings.texts, "test")]
    assert found == {name for name in test if int(name) % 2} and len(found) < len(test)


def test_bits_and_operations_of_models(folder):
    scores = table(folder, "patch_scores/en/scores.parquet")
    assert scores["variant"].to_list() == VARIANTS and scores["test_bytes"].n_unique() == 1
    rows = {row["variant"]: row for row in scores.iter_rows(named=True)}
    for name, row in rows.items():
        bits = row["nats_per_symbol"] / np.log(2) * (row["symbols_per_patch"] or 1) / (row["bytes_per_patch"] or 1)
        assert row["bits_per_byte"] == pytest.approx(bits), name
        assert row["flops_built"] > 0 and (row["flops_paper"] is None) == (name == "learned")
    measured = table(folder, "patches/en/patchers.parquet").filter(patcher="bpe", longest=5).row(0, named=True)
    for column in ("bytes_per_patch", "symbols_per_patch", "gold_f1", "fertility", "symbols"):
        assert rows["bpe"][column] == measured[column]
    assert rows["bpe"]["flops_padded"] > rows["bpe"]["flops_built"]
    for name in ("bpe", "bpe-v280"):  # The latent Transformer reads as many patches as there are.
        row = rows[name]
        length = row["context"] * row["symbols_per_patch"] / row["bytes_per_patch"]
        latent, local = (StackShape(**SMALL_PATCHES["sizes"]["tiny"][stack]) for stack in ("latent", "local"))
        expected = paper_flops(latent, local, row["symbols"], length, row["symbols_per_patch"]).total
        assert row["flops_paper"] * 1e9 == pytest.approx(expected)


@pytest.mark.slow
def test_tasks_for_the_chosen_models(folder):
    from tasks.patches import zero_shot

    write_questions(folder / "bench", questions=3, seed=0)
    zero_shot.evaluate_models(stage())
    scores = table(folder, "zero_shot/en/zero_shot.parquet")
    assert set(scores["variant"]) == {"bpe-tokens", "space"} and set(scores["task"]) == {"hellaswag", "lambada"}
    assert set(scores["items"]) == {2}
    accuracies = scores.filter(pl.col("metric") != "perplexity")["value"]
    assert accuracies.is_between(0, 1).all()
    with pytest.raises(InputError, match="plain: no file of a task"):
        zero_shot.evaluate_models(stage(zero_shot={"en": SMALL_PATCHES["zero_shot"]["en"] | {"files": "plain"}}))


@pytest.mark.parametrize(
    ("work", "changes", "message"),
    [
        (learn, {"tokenizers": {"en": {"source": "data/sample/corpora/en", "vocabularies": [50000]}}}, "lower"),
        (make_patches, {"corpora": {"en": SMALL_PATCHES["corpora"]["en"] | {"vocabulary": 290}}}, "have 280, 300"),
        (train_models, {"variants": {"x": {"model": "patches", "patcher": "entropy-published"}}}, "no patcher"),
        (train_models, {"models": {"en": SMALL_PATCHES["models"]["en"] | {"budget": {}}}}, "either flops or steps"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(folder, work, changes, message):
    with pytest.raises((ParameterError, InputError), match=message) as caught:
        work(stage(**changes))
    assert "\n" not in str(caught.value)
