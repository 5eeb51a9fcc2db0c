"""Scored corpora: the same as scoring at once, resumed to the same bytes, tied to model, corpus and options."""

import json

import numpy as np
import pytest
from interrupted import files
from tiny_models import TEXT, save_characters

from tokenlab.core.errors import InputError
from tokenlab.entropy.options import ScoringOptions
from tokenlab.entropy.scored_corpus import score_corpus
from tokenlab.entropy.scored_lines import json_line, read_entropy_lines, write_parquet
from tokenlab.entropy.scorer import load_scorer
from tokenlab.entropy.stored import read_entropies
from tokenlab.text.documents import Document
from tokenlab.text.store import write_corpus

TEXTS = [TEXT[: 3 + 7 * i % 29] for i in range(24)] + [""]
OPTIONS = ScoringOptions(context=16, batch_tokens=2)


@pytest.fixture(scope="module")
def scorer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    save_characters(folder)
    return load_scorer(folder, "cpu")


@pytest.fixture
def corpus(tmp_path):
    write_corpus((Document(f"d{i}", text) for i, text in enumerate(TEXTS)), tmp_path / "text", shard_characters=120)
    assert len(list((tmp_path / "text").iterdir())) > 2
    return tmp_path / "text"


def test_each_document_has_its_entropies(scorer, corpus, tmp_path):
    counted = []
    done = score_corpus(scorer, corpus, tmp_path / "scores", OPTIONS, counted.append)
    assert done == (len(list(corpus.iterdir())), 0, len(TEXTS), sum(map(len, TEXTS)))
    assert sum(counted) == sum(map(len, TEXTS)) and len(counted) > done.shards
    ids, scores = zip(*read_entropies(tmp_path / "scores"), strict=True)
    assert list(ids) == [f"d{i}" for i in range(len(TEXTS))]
    for ours, theirs in zip(scores, scorer.score(TEXTS, OPTIONS), strict=True):
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, theirs, atol=1e-5, rtol=0)


def test_interrupted_anywhere_it_ends_the_same(scorer, corpus, tmp_path):
    score_corpus(scorer, corpus, tmp_path / "whole", OPTIONS)
    whole, folder = files(tmp_path / "whole"), tmp_path / "scores"
    interruptions = 0

    def interrupt(characters):
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt

    for calls in range(1, 100):
        left = calls
        try:
            done = score_corpus(scorer, corpus, folder, OPTIONS, interrupt)
        except KeyboardInterrupt:
            interruptions += 1
            there = files(folder)
            assert all(there[name] == whole[name] for name in there) and "manifest.json" in there
            continue
        break
    assert interruptions > 2 and done.shards_found > 0
    assert files(folder) == whole


def test_a_damaged_shard_is_made_again(scorer, corpus, tmp_path):
    folder = tmp_path / "scores"
    score_corpus(scorer, corpus, folder, OPTIONS)
    whole = files(folder)
    (folder / "part-00001.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="part-00001"):
        list(read_entropies(folder))
    assert score_corpus(scorer, corpus, folder, OPTIONS).shards_found == len(whole) - 2
    assert files(folder) == whole


def test_another_model_corpus_or_window_is_refused(scorer, corpus, tmp_path):
    folder = tmp_path / "scores"
    score_corpus(scorer, corpus, folder, OPTIONS)
    before = files(folder)
    with pytest.raises(InputError, match="another context, stride;"):
        score_corpus(scorer, corpus, folder, ScoringOptions(context=20))
    with pytest.raises(InputError, match="made with another unit;"):
        score_corpus(scorer, corpus, folder, ScoringOptions(context=16, unit="bytes"))
    save_characters(tmp_path / "other", seed=1)
    with pytest.raises(InputError, match="made with another model;"):
        score_corpus(load_scorer(tmp_path / "other", "cpu"), corpus, folder, OPTIONS)
    write_corpus([Document("d", "新")], corpus)
    with pytest.raises(InputError, match="made with another corpus;"):
        score_corpus(scorer, corpus, folder, OPTIONS)
    assert files(folder) == before
    (folder / "manifest.json").write_text("[]", encoding="utf-8")
    with pytest.raises(InputError, match="not the manifest"):
        score_corpus(scorer, corpus, folder, OPTIONS)


def test_no_corpus_and_no_entropies(scorer, corpus, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no corpus"):
        score_corpus(scorer, tmp_path / "empty", tmp_path / "scores", OPTIONS)
    (corpus / "part-00001.parquet").unlink()
    with pytest.raises(InputError, match="part-00001"):
        score_corpus(scorer, corpus, tmp_path / "scores", OPTIONS)
    with pytest.raises(InputError, match="no entropies"):
        list(read_entropies(tmp_path / "empty"))
    assert not (tmp_path / "scores").exists()


def test_lines_come_back_to_the_last_bit(tmp_path):
    generator = np.random.default_rng(0)
    lines = [(text, generator.exponential(size=len(text)).astype(np.float32)) for text in TEXTS * 60]
    for _, values in lines:
        values[generator.random(len(values)) < 0.2] = np.nan
    write_parquet(lines, tmp_path / "lines.parquet")
    with (tmp_path / "lines.json").open("w", encoding="utf-8") as file:
        file.writelines(json_line(*line) for line in lines)
    for name in ("lines.parquet", "lines.json"):
        for (text, values), (expected, entropy) in zip(read_entropy_lines(tmp_path / name), lines, strict=True):
            assert text == expected and np.array_equal(values, entropy, equal_nan=True)


@pytest.mark.parametrize("record", ["{", "[1]", '{"text": "a"}', '{"text": "a", "entropy": [1, 2]}', "null"])
def test_lines_that_are_none(tmp_path, record):
    path = tmp_path / "lines.json"
    path.write_text(json.dumps({"text": "a", "entropy": [None]}) + "\n" + record + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"lines\.json:2: "):
        list(read_entropy_lines(path))


def test_a_line_without_an_entropy_for_each_character_in_parquet(tmp_path):
    path = tmp_path / "lines.parquet"
    write_parquet([("ab", np.zeros(2, np.float32)), ("ab", np.zeros(1, np.float32))], path)
    with pytest.raises(InputError, match=r"lines\.parquet:2: "):
        list(read_entropy_lines(path))


def test_a_text_longer_than_the_longest_line(tmp_path):
    text = "x" * ((1 << 20) + 1)
    line = text, np.zeros(len(text), np.float32)
    write_parquet([line], tmp_path / "lines.parquet")
    (tmp_path / "lines.json").write_text(json_line(*line), encoding="utf-8")
    for name in ("lines.parquet", "lines.json"):
        with pytest.raises(InputError, match=r"more than 1 MiB"):
            list(read_entropy_lines(tmp_path / name, 1))
    assert [len(values) for _, values in read_entropy_lines(tmp_path / "lines.parquet", 2)] == [len(text)]
