"""Tokenizers and language models over them as a stage: what is trained and scored, on which text, and interruptions."""

import contextlib
from pathlib import Path

import polars as pl
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from workspace import SMALL_TOKENIZERS

from tasks.patches.texts import Texts, part_documents
from tasks.runtime.stage import Stage
from tasks.tokenizers import train as stage_module
from tasks.tokenizers.train import compare
from tokenlab.generated import generate
from tokenlab.language.passages import cut_passages
from tokenlab.text.store import write_corpus

MADE, SCORES = "models/sample/trained_tokenizers/en", "reports/sample/trained_tokenizers/en/scores.parquet"
CORPUS = Path("data/sample/corpora/en")


def stage():
    return Stage("params.yaml", "sample", "en", {"tokenizers": SMALL_TOKENIZERS})


def documents(part):
    texts = Texts.model_validate(SMALL_TOKENIZERS["texts"])
    return [document.text for document in part_documents(CORPUS, texts, part)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The working directory of the tests, with the stage run."""
    folder = tmp_path_factory.mktemp("tokenizers")
    with contextlib.chdir(folder):
        write_corpus(generate("en", sentences=400, seed=3), CORPUS)
        compare(stage())
        yield folder


def test_byte_level_is_that_of_hugging_face_on_the_training_part(folder):
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer, theirs.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    theirs.train_from_iterator(documents("training"), trainer)
    ours = Tokenizer.from_file(f"{MADE}/byte-level-400/tokenizer.json")
    assert ours.get_vocab() == theirs.get_vocab()


def test_scores_are_of_the_test_part_at_equal_flops(folder):
    scores = pl.read_parquet(SCORES)
    keys = [(name, size, seed) for name in ("auto", "byte-level") for size in (300, 400) for seed in (0, 1)]
    assert scores.select("tokenizer", "vocabulary", "seed").rows() == keys
    texts = [one for document in documents("test") for one in cut_passages(document.encode(), 128)]
    for row in scores.rows(named=True):
        tokenizer = Tokenizer.from_file(f"{MADE}/{row['tokenizer']}-{row['vocabulary']}/tokenizer.json")
        assert row["tokens"] == sum(len(tokenizer.encode(text.decode()).ids) for text in texts)
        assert row["bytes"] == sum(map(len, texts))
        assert row["entries"] == tokenizer.get_vocab_size()
        assert 1 < row["bits_per_byte"] < 8
    flops = scores["training_flops"]
    assert flops.max() < 1.1 * flops.min()  # a batch is some per cent of this small budget
    of_seeds = scores.group_by("tokenizer", "vocabulary").agg(
        pl.col("bits_per_byte").n_unique(), pl.col("tokens").n_unique()
    )
    assert set(of_seeds["bits_per_byte"]) == {2} and set(of_seeds["tokens"]) == {1}


def test_killed_trainings_resume_to_the_same_bytes(folder, monkeypatch):
    whole, run, done = Path(SCORES).read_bytes(), stage_module.evaluate, []

    def until_killed(*arguments):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(1)
        return run(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(stage_module, "evaluate", until_killed)
        with pytest.raises(KeyboardInterrupt):
            compare(stage())
    assert len([*Path(".work").rglob("*.safetensors")]) == 4
    compare(stage())
    assert Path(SCORES).read_bytes() == whole
    assert not [*Path(".work").rglob("*.safetensors")]
