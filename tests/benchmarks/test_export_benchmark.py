"""The benchmark of the export: both formats cut the text as the segmenter does, or no time is printed."""

import pytest

from benchmarks import export as benchmark
from benchmarks.measure import Bench, Measurement


@pytest.fixture
def text(tmp_path, chinese_sentences):
    path = tmp_path / "text.txt"
    path.write_text("".join(line + "\n" for line in chinese_sentences), encoding="utf-8")
    return str(path)


@pytest.fixture
def exported(tmp_path, text):
    task = benchmark.TASKS["export"](text, text, str(tmp_path))
    return task.facts(task.run(task.whole))


def run(name, *arguments):
    task = benchmark.TASKS[name](*arguments)
    return task, task.run(task.whole)


def test_peers_cut_the_text_alike(tmp_path, text, exported):
    assert exported["tokenizer.json"] == exported["SentencePiece"] == 1.0
    task, ids = run("tokenizer", str(tmp_path), text, "encode_batch")
    assert task.facts(ids)["loading"] > 0
    assert ids == run("tokenizer", str(tmp_path), text, "encode_batch_fast")[1]
    assert ids == run("sentencepiece", str(tmp_path), text)[1]
    (cut,) = run("segmenter", text, text)[1]
    assert [len(line.split()) for line in cut.splitlines()] == list(map(len, ids))


def test_other_segments_stop_the_run(monkeypatch, tmp_path):
    other = Measurement([1.0], [1.0], 0.0, 0, {"entries": 500, "tokenizer.json": 0.5, "SentencePiece": 1.0})
    monkeypatch.setattr(Bench, "measure", lambda *arguments, **options: other)
    with pytest.raises(RuntimeError, match="no time is printed"):
        benchmark.table(Bench(tmp_path, {}, 1, None))
