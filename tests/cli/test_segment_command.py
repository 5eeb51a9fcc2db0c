"""`tokenlab segment` by each method, as a user runs it."""

import json
import subprocess
import sys

import pytest
from command import ended_here
from command import tokenlab_here as tokenlab
from plain_segmentation import plain_segments, utility_table

from tokenlab.ngrams import StatisticsOptions, ngram_statistics
from tokenlab.segment import SegmentOptions
from tokenlab.segment.words import WordModel, WordOptions
from tokenlab.text.sample import sample_lines

TEXT = "共同创造美好的新世纪，共同 努力\n\n美好的世纪abc　12％\n"
WORDS = ["--method", "words", "--sweeps", 4, "--classes", 9, "--seed", 3]

# Arguments, and what they are in SegmentOptions and in StatisticsOptions.
OPTIONS = [
    ("", {}, {}),
    ("--lambda 4 --decoder greedy --isolate none", {"weight": 4.0, "decoder": "greedy", "isolate": "none"}, {}),
    ("--entropy-only --single-character self", {"entropy_only": True, "single_character": "self"}, {}),
    ("--single-character 9 --tie long", {"single_character": 9.0, "tie": "long"}, {}),
    ("--isolate punctuation --lambda 0", {"isolate": "punctuation", "weight": 0.0}, {}),
    ("--n-max 3 --min-frequency 2 --edge symbol", {}, {"n_max": 3, "min_frequency": 2, "edge": "symbol"}),
    ("--count-tokens unigram --single-character self", {"single_character": "self"}, {"count_tokens": "unigram"}),
    ("--method statistics", {"vbe_weight": 0.0}, {}),
    ("--method statistics --variation 0.5 --lambda 1.25", {"vbe_weight": 0.5, "weight": 1.25}, {}),
    ("--log-base 2 --single-character 9", {"single_character": 9.0}, {"log_base": "2"}),
]


@pytest.fixture
def text(tmp_path, chinese_sentences):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(chinese_sentences) + "\n", encoding="utf-8")
    return path


def test_segment_equals_plain_implementation(tmp_path, chinese_sentences):
    sentences = chinese_sentences[:60]
    path = tmp_path / "text.txt"
    path.write_text("\n".join(sentences) + "\n", encoding="utf-8")
    for arguments, how, counted in OPTIONS:
        statistics, options = ngram_statistics(sentences, StatisticsOptions(**counted)), SegmentOptions(**how)
        table = utility_table(statistics, options)
        expected = [" ".join(plain_segments(s, options, table, statistics.options.n_max)) for s in sentences]
        assert tokenlab("segment", path, *arguments.split()).splitlines() == expected, arguments


def test_segment_keeps_lines_and_offsets_keep_whitespace():
    lines = tokenlab("segment", "-", stdin=TEXT).split("\n")
    assert [line.replace(" ", "") for line in lines] == ["共同创造美好的新世纪，共同努力", "", "美好的世纪abc12％", ""]
    records = map(json.loads, tokenlab("segment", "-", "--format", "json", stdin=TEXT).splitlines())
    for record, sentence, line in zip(records, TEXT.split("\n"), lines, strict=False):
        assert record["text"] == sentence
        assert [sentence[a:b] for a, b in record["offsets"]] == line.split()


def test_windows_lines_and_bom_change_nothing():
    assert tokenlab("segment", "-", stdin="\ufeff" + TEXT.replace("\n", "\r\n")) == tokenlab("segment", "-", stdin=TEXT)


def test_a_word_model_is_fitted_kept_and_used_again(tmp_path, text, chinese_sentences):
    model = WordModel.fit(chinese_sentences, WordOptions(sweeps=4, classes=9, seed=3))
    kept = tmp_path / "model"
    assert tokenlab("segment", text, *WORDS, "--save-model", kept) == model.training.text()
    (expected,) = model.segment(chinese_sentences[:20])
    stdin = "\n".join(chinese_sentences[:20]) + "\n"
    assert tokenlab("segment", "-", "--model", kept, stdin=stdin) == expected.text()
    lines = tokenlab("segment", "-", "--model", kept, "--format", "json", stdin=stdin).splitlines()
    assert [json.loads(line)["text"] for line in lines] == chinese_sentences[:20]


def test_a_word_model_of_a_sample_segments_all_of_the_text(tmp_path, text, chinese_sentences):
    sample = sample_lines(chinese_sentences, 2000)
    model = WordModel.fit(sample, WordOptions(sweeps=4, classes=9, seed=3))
    model.save(tmp_path / "expected")
    expected = "".join(batch.text() for batch in model.segment(chinese_sentences))
    assert tokenlab("segment", text, *WORDS, "--sample", "2K", "--save-model", tmp_path / "kept") == expected
    assert (tmp_path / "kept").read_bytes() == (tmp_path / "expected").read_bytes()
    assert "--sample is 'many'" in tokenlab("segment", text, *WORDS, "--sample", "many", status=2)


@pytest.mark.parametrize(
    "place",
    ["--workers 2", *(pytest.param(place, marks=pytest.mark.slow) for place in ("--workers 4", "--cluster local"))],
)
def test_segments_do_not_depend_on_where_they_are_found(tmp_path, chinese_sentences, place):
    sentences = chinese_sentences * (900_000 // sum(map(len, chinese_sentences)))  # several batches
    (tmp_path / "text").write_text("\n".join(sentences), encoding="utf-8")
    model = WordModel.fit(chinese_sentences, WordOptions(sweeps=2, classes=0))
    model.save(tmp_path / "model")
    expected = "".join(batch.text() for batch in model.segment(sentences))
    assert tokenlab("segment", tmp_path / "text", "--model", tmp_path / "model", *place.split()) == expected
    by_statistics = ("segment", tmp_path / "text", "--n-max", 3)
    assert tokenlab(*by_statistics, *place.split()) == tokenlab(*by_statistics)


def test_delimiter_leaves_the_spaces_of_the_text():
    line = "共同 创造美好\u3000的abc，世纪"
    plain = tokenlab("segment", "-", stdin=line + "\n")
    marked = tokenlab("segment", "-", "--delimiter", "|", stdin=line + "\n")
    assert marked.replace("|", "") == line + "\n"
    assert marked.replace("|", " ").split() == plain.split()
    assert "||" not in marked and "| " not in marked and " |" not in marked


@pytest.mark.parametrize("method", ["--method variation", "--method words", "--entropies"])
@pytest.mark.parametrize(("line", "segments"), [("one word, 2.5", "one word , 2.5"), ("中", "中"), (" ", "")])
def test_little_text_by_each_method(tmp_path, method, line, segments):
    """Text without Han, of one character, and without any."""
    arguments = method.split()
    if method == "--entropies":
        values = {"text": line, "entropy": [0.5] * len(line)}
        (tmp_path / "entropies").write_text(json.dumps(values) + "\n", encoding="utf-8")
        arguments.append(tmp_path / "entropies")
    message = ""
    if method == "--method words" and segments != "中":
        message = "standard input: the text has no character of a script written without spaces"
    elif method != "--entropies" and not segments:
        message = "standard input: the text holds no character besides whitespace"
    if message:
        assert message in tokenlab("segment", "-", *arguments, stdin=line + "\n", status=2)
    else:
        assert tokenlab("segment", "-", *arguments, stdin=line + "\n") == segments + "\n"


@pytest.mark.parametrize("text", ["In the beginning God created.\n", "في البدء خلق الله\n", "😀😃 🎉\n", "123 456\n"])
def test_no_script_without_spaces(text):
    ended = ended_here("segment", "-", stdin=text)
    assert ended.status == 0 and "standard input: no character of a script that is written without" in ended.said
    assert ended.said.count("\n") == 1
    assert ended_here("segment", "-", "--isolate", "punctuation", stdin=text).said == ""
    measured = ended_here("bits", "measure", "-", stdin=text)
    assert measured.status == 0 and "bit-level codes change nothing here" in measured.said


@pytest.mark.parametrize("text", ["នៅដើមដំបូង ព្រះបានបង្កើត\n", "abc 共同\n"], ids=["Khmer", "mixed"])
def test_one_such_character_is_enough(text):
    assert ended_here("segment", "-", stdin=text).said == ""
    assert ended_here("bits", "measure", "-", stdin=text).said == ""


def test_bad_input_is_one_line_and_status_2(tmp_path, text):
    (tmp_path / "damaged").write_bytes(b"x" * 100)
    (tmp_path / "latin").write_text("no run of Han here\n", encoding="utf-8")
    (tmp_path / "empty").write_text("")
    (tmp_path / "invalid").write_bytes("好好\n好".encode() + b"\xff\n")
    (tmp_path / "short").write_text("好\n", encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    damaged, short = tmp_path / "damaged", tmp_path / "short"
    for arguments, message in [
        ([tmp_path / "invalid"], "invalid:2: not UTF-8"),
        ([tmp_path / "invalid", "--statistics-from", short], "invalid:2: not UTF-8"),
        (["-"], "standard input"),
        ([tmp_path], "folder"),
        ([short, "--lambda", "1e308"], "--lambda is 1e+308"),
        ([short, "--lambda", "1", "--entropy-only"], "entropy-only"),
        ([short, "--single-character", "paper"], "--single-character"),
        ([short, "--single-character", "fallback"], "greedy"),
        ([short, "--n-max", "0"], "--n-max is 0"),
        ([tmp_path / "latin", "--method", "words"], "latin: the text has no character of a script written without"),
        ([tmp_path / "empty", "--method", "words"], "empty: the text has no character"),
        ([text, "--model", damaged], "damaged"),
        ([text, "--method", "words", "--sweeps", 1], "--sweeps is 1"),
        ([text, "--method", "words", "--lambda", 1], "--lambda has no meaning with --method words"),
        ([text, "--classes", 9], "--classes has no meaning with --method variation"),
        ([text, "--save-model", tmp_path / "m"], "--save-model has no meaning with --method variation"),
        ([text, "--model", damaged, "--seed", 1], "--seed has no meaning with a fitted word model"),
        ([text, "--model", damaged, "--method", "words"], "--method has no meaning with --model"),
        ([text, *WORDS, "--save-model", tmp_path / "nowhere" / "m"], "--save-model is"),
        ([text, "--delimiter", "ab"], "--delimiter is 'ab'"),
        ([text, "--delimiter", "。"], "the text contains '。'"),
        ([text, "--delimiter", "|", "--json"], "not allowed with"),
        ([text, "--delimiter", "|", "--format", "json"], "--delimiter has no meaning with --json"),
    ]:
        assert message in tokenlab("segment", *arguments, status=2), arguments
    assert sorted(tmp_path.iterdir()) == before


# The kernel's count of the process itself: what `wait4` counts begins with the memory of the process that starts it.
PEAK = """
import sys
from tokenlab.cli import main
status = main(sys.argv[1:])
with open("/proc/self/status") as lines:
    print(*(line.split()[1] for line in lines if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.slow
@pytest.mark.parametrize("output", [[], ["--delimiter", "|"]], ids=["text", "delimiter"])
def test_twenty_times_the_text_takes_as_much_memory(tmp_path, chinese_sentences, output):
    """Once the statistics are given."""
    text = "\n".join(chinese_sentences) + "\n"
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    tokenlab("statistics", tmp_path / "text.txt", "-o", tmp_path / "s.parquet")
    peaks = []
    for size in (500_000, 10_000_000):
        (tmp_path / "long.txt").write_text(text * (size // len(text.encode()) + 1), encoding="utf-8")
        command = ["segment", tmp_path / "long.txt", "--statistics-from", tmp_path / "s.parquet", *output]
        done = subprocess.run([sys.executable, "-c", PEAK, *map(str, command)], capture_output=True, check=True)
        peaks.append(int(done.stderr.split()[-1]) / 1024)
    assert peaks[1] - peaks[0] < 25, peaks
