"""The benchmark of BPE training: drawn text is new and like its source, trainings agree, and limits stop a process."""

import pytest

from benchmarks import bpe_training as benchmark
from benchmarks.measure import Bench, Limits, Measurement, Stopped, agree
from benchmarks.resampled import resampled

NO_LIMITS = Limits(1 << 50, 1e6)


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


def test_text_of_one_line_is_drawn_as_it_is():
    assert list(resampled(["天地玄黄"], 10, seed=1)) == ["天地玄黄"] * 3


def facts(name, *arguments):
    task = benchmark.TASKS[name](*arguments)
    return task.facts(task.run(task.whole))


def test_trainings_on_lines_agree(text, chinese_sentences):
    alphabet = len(set("".join(chinese_sentences)))
    size = str(alphabet + 300)
    found = [facts("train", text, "line", size), facts("sweep", text, size)]
    assert found[0] == found[1]
    assert found[0]["merges"] == 300
    agree(*(Measurement([1.0], [1.0], 0.0, 0, one) for one in found))
    assert facts("train", text, "Whitespace", size) != found[0]


def test_the_cut_text_is_the_text(tmp_path, text, chinese_sentences):
    cut = str(tmp_path / "cut.txt")
    found = facts("cut", text, cut)
    lines = list(benchmark._lines(cut))
    assert ["".join(line.split()) for line in lines] == ["".join(line.split()) for line in chinese_sentences]
    assert found["characters"] == sum(len("".join(line.split())) for line in chinese_sentences)
    assert len(lines[0].split()) > 1


@pytest.mark.parametrize(
    ("limits", "reason"), [(Limits(1 << 20, 1e6), "out of memory at"), (Limits(1 << 50, 0.0), "more than 0 minutes")]
)
def test_a_process_is_stopped_at_its_limit(tmp_path, text, limits, reason):
    found = Bench(tmp_path, {}, 1, None).measure_within(limits, "bpe_training:train", text, "line", "1500")
    assert isinstance(found, Stopped)
    assert reason in found.reason
    assert f"| {found.reason} |" in benchmark._cells(benchmark.Row("lines", found))
    agree()  # nothing is left to compare


def test_a_process_within_its_limits_is_measured(tmp_path, text):
    bench = Bench(tmp_path, {}, 1, None)
    found = bench.measure_within(NO_LIMITS, "bpe_training:sweep", text, "1500")
    assert isinstance(found, Measurement)
    assert found.facts == facts("sweep", text, "1500")
    assert len(bench.cpu_shares) == 1


def test_a_process_that_fails_is_no_limit(tmp_path):
    with pytest.raises(Exception, match="returned non-zero exit status 1"):
        Bench(tmp_path, {}, 1, None).measure_within(NO_LIMITS, "bpe_training:train", "missing", "line", "1500")


def test_cells_of_a_cut_row_add_both_parts():
    cutting, training = Measurement([1.0], [0.9], 0.1, 5_000_000, {}), Measurement([2.0], [3.1], 0.1, 3_000_000, {})
    cells = benchmark._cells(benchmark.Row("segments", training, cutting))
    assert cells == "segments | 1.0 | 2.0 | 3.0 | 4.0 | 5"
