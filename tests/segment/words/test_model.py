"""The model as a whole: seeds, files, new text and bad input."""

import gzip
import json
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import regex
from safetensors import safe_open
from safetensors.numpy import save, save_file

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.metrics.segmentation import score_segmentation
from tokenlab.segment.words import WordModel, WordOptions

FEW = WordOptions(sweeps=6, classes=5)


@pytest.fixture(scope="module")
def sentences(chinese_sentences):
    return chinese_sentences[:120]


@pytest.fixture(scope="module")
def model(sentences):
    return WordModel.fit(sentences, FEW)


def text_of(batches):
    return "".join(batch.text() for batch in batches)


def test_same_seed_same_bytes(sentences, model, tmp_path):
    model.save(tmp_path / "a")
    WordModel.fit(sentences, FEW).save(tmp_path / "b")
    other = WordModel.fit(sentences, WordOptions(sweeps=6, classes=5, seed=1))
    other.save(tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert text_of(model.segment(sentences)) != text_of(other.segment(sentences))


def test_saved_and_loaded(sentences, model, tmp_path):
    model.save(tmp_path / "words.safetensors")
    loaded = WordModel.load(tmp_path / "words.safetensors")
    assert loaded.options == model.options
    assert loaded.training is None
    new = ["中国人民在北京ＡＢＣ，很高兴。", *sentences]
    assert text_of(loaded.segment(new)) == text_of(model.segment(new))
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "words.safetensors").read_bytes()


def test_boundaries_are_learned_saved_and_used(sentences, tmp_path, monkeypatch):
    """From the ninth sweep on, contexts of boundaries are further evidence, unless there is little text."""
    assert not WordModel.fit(sentences, WordOptions(sweeps=12, classes=5))._knowledge.contexts.any()
    monkeypatch.setattr("tokenlab.segment.words.fitting._FEWEST_FOR_CONTEXTS", 100)
    model = WordModel.fit(sentences, WordOptions(sweeps=12, classes=5))
    weights = model._knowledge.contexts
    assert np.count_nonzero(weights) > 1000
    _, arrays = _saved(model, tmp_path / "words")
    assert (arrays["contexts"] == weights).all()
    assert text_of(WordModel.load(tmp_path / "words").segment(sentences)) == text_of(model.segment(sentences))
    before = text_of(model.segment(sentences))
    weights[:] = 0
    assert text_of(model.segment(sentences)) != before


def test_segments_keep_the_text(sentences, model):
    new = ["", "  ", "中", "龘靐齉 爩鱻", "Ελληνικά t ä m ä 中文😀，", "ภาษาไทยカタカナ中国", *sentences]
    (batch,) = model.segment(new)
    assert batch.sentences() == new
    lines = batch.text().split("\n")
    assert ["".join(line.split()) for line in lines[:-1]] == ["".join(sentence.split()) for sentence in new]
    assert model.training.sentences() == sentences
    assert list(model.segment([])) == []


def test_batches_change_nothing(sentences, model, monkeypatch):
    whole = text_of(model.segment(sentences))
    monkeypatch.setattr("tokenlab.segment.words.model._CHARACTERS_PER_BATCH", 500)
    batches = list(model.segment(iter(sentences)))
    assert len(batches) > 3
    assert text_of(batches) == whole


def test_options_matter(sentences):
    def count(**changed):
        options = WordOptions(**{"sweeps": 6, "classes": 5} | changed)
        return int(WordModel.fit(sentences, options).training.begins.sum())

    usual = count()
    assert count(length_bonus=-3.0) < usual < count(length_bonus=3.0)
    assert count(segment_cost=1.0) < count(segment_cost=0.0)
    pairs = WordModel.fit(sentences, WordOptions(sweeps=6, longest=2)).training.text()
    assert not regex.search(r"\p{Han}{3}", pairs)
    assert regex.search(r"\p{Han}{2}", pairs)


def test_length_bonus_by_script_and_for_unseen_text(sentences, model):
    pairs = Counter(
        pair for sentence in sentences for run in regex.findall(r"[\p{Han}○]+", sentence) for pair in pairwise(run)
    )
    once = sum(n == 1 for n in pairs.values()) / sum(pairs.values())
    assert model.options.length_bonus == 0.0
    assert model.options.unseen_bonus == pytest.approx(-min(5 * once, 2))
    thai = ["การเปลี่ยนผ่านอำนาจอย่างสันตินั้นก็ไม่ใช่เรื่องใหม่", "ไม่ใช่เรื่องใหม่ก็ได้"] * 3
    found = WordModel.fit([*thai, "中国人", "国人"], FEW).options
    assert found.length_bonus == -2.0
    assert -2.5 < found.unseen_bonus < -2.0
    given = WordOptions(sweeps=6, classes=5, length_bonus=0.5, unseen_bonus=-0.5)
    other = WordModel.fit(sentences, given)
    assert other.options == given
    none, much = (
        WordModel.fit(sentences, WordOptions(sweeps=6, classes=5, unseen_bonus=bonus)) for bonus in (0.0, -6.0)
    )
    assert text_of([none.training]) == text_of([much.training])
    words = [sum(int(batch.begins.sum()) for batch in each.segment(sentences)) for each in (none, much)]
    assert words[0] > words[1]


@pytest.mark.parametrize("sentences", [[], [""], ["hello, world 123 ä"], [" ", "。"]])
def test_text_without_runs(sentences):
    with pytest.raises(InputError, match="script written without spaces"):
        WordModel.fit(sentences)


def test_lone_surrogate(model):
    with pytest.raises(InputError, match="surrogate"):
        WordModel.fit(["中\ud800国"])
    with pytest.raises(InputError, match="surrogate"):
        list(model.segment(["中\ud800国"]))


@pytest.mark.parametrize(
    ("name", "value"),
    [("seed", -1), ("sweeps", 1), ("classes", -1), ("classes", 10**6), ("length_bonus", float("nan")),
     ("length_bonus", 99.0), ("unseen_bonus", -99.0), ("segment_cost", 1.5), ("longest", 1), ("longest", 11)],
)  # fmt: skip
def test_options_out_of_range(name, value):
    with pytest.raises(ParameterError, match=f"^{name} is "):
        WordOptions(**{name: value})


def _saved(model, path):
    """The header and the arrays of a saved model."""
    model.save(path)
    with safe_open(path, "numpy") as file:
        return json.loads(file.metadata()["tokenlab.words"]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda whole: whole[:-100], "not a word model"),
        (lambda whole: b"nothing like it", "not a word model"),
        (lambda whole: save({"a": np.zeros(3)}), "not a word model"),
        (lambda whole: whole[:-100] + bytes([whole[-100] ^ 64]) + whole[-99:], "checksum"),
    ],
)
def test_damaged_files(model, tmp_path, damage, message):
    path = tmp_path / "words"
    model.save(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=message):
        WordModel.load(path)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("prefix", -1, 10**9), ("suffix", -1, 0), ("u", 0, -1), ("w", 0, 2**30), ("kinds", 3, 1000), ("new_kinds", 0, -5),
     ("words", (0, 0), np.nan), ("totals", 0, -1.0), ("affinity", (0, 0), np.inf), ("contexts", 0, np.nan)],
)  # fmt: skip
def test_files_that_point_outside(model, tmp_path, monkeypatch, name, place, value):
    """A wrong index never reaches a kernel, even where the checksum is right."""
    header, arrays = _saved(model, tmp_path / "words")
    arrays[name] = arrays[name].copy()
    arrays[name][place] = value
    monkeypatch.setattr("tokenlab.segment.words.model._checksum", lambda arrays: header["sha256"])
    save_file(arrays, tmp_path / "words", {"tokenlab.words": json.dumps(header)})
    with pytest.raises(InputError, match=f"not a word model.*{name}"):
        WordModel.load(tmp_path / "words")


@pytest.mark.slow
def test_words_of_the_news(mirror):
    """Word F1 on 60 thousand characters of real text, well above the start (71)."""
    with gzip.open(mirror / "pku/pd199801_train.utf8.gz", "rt", encoding="utf-8") as lines:
        gold = [line.split() for line in lines if line.strip()][4000:4700]
    model = WordModel.fit(["".join(words) for words in gold], WordOptions(sweeps=40))
    predicted = [line.split(" ") for line in model.training.text().splitlines()]
    assert score_segmentation(gold, predicted).words.f1 > 0.75
