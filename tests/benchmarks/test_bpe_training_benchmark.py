"""The benchmark of BPE training: drawn text is new and like its source, and limits stop a process."""

import pytest

from benchmarks import bpe_training as benchmark
from benchmarks.measure import Bench, Limits, Stopped
from benchmarks.resampled import resampled


@pytest.fixture
def text(tmp_path, chinese_sentences):
    path = tmp_path / "text.txt"
    path.write_text("".join(line + "\n" for line in chinese_sentences), encoding="utf-8")
    return str(path)


def trigrams(lines):
    return {line[i : i + 3] for line in lines for i in range(len(line) - 2)}


def test_drawn_text_is_new_and_has_no_new_trigram(chinese_sentences):
    drawn = list(resampled(chinese_sentences, 20_000, seed=1))
    known = trigrams(f"\n{sentence}\n" for sentence in chinese_sentences)
    assert trigrams(f"\n{line}" for line in drawn) <= known
    assert sum(not trigrams([f"{line}\n"]) <= known for line in drawn) <= 3  # the ends of chains
    assert len(set(drawn) - set(chinese_sentences)) > len(drawn) / 2
    characters = sum(len(line) - line.count(" ") for line in drawn)
    assert 20_000 <= characters < 20_000 + max(map(len, drawn))
    assert drawn == list(resampled(chinese_sentences, 20_000, seed=1))
    assert drawn != list(resampled(chinese_sentences, 20_000, seed=2))


@pytest.mark.parametrize(
    ("limits", "reason"), [(Limits(1 << 20, 1e6), "out of memory at"), (Limits(1 << 50, 0.0), "more than 0 minutes")]
)
def test_a_process_is_stopped_at_its_limit(tmp_path, text, limits, reason):
    found = Bench(tmp_path, {}, 1, None).measure_within(limits, "bpe_training:train", text, "line", "1500")
    assert isinstance(found, Stopped)
    assert reason in found.reason
    assert f"| {found.reason} |" in benchmark._cells(benchmark.Row("lines", found))


def test_a_process_that_fails_is_no_limit(tmp_path):
    with pytest.raises(Exception, match="exit status 1"):
        Bench(tmp_path, {}, 1, None).measure_within(Limits(1 << 50, 1e6), "bpe_training:train", "missing", "line", "9")
