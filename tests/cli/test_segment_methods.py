"""`tokenlab segment` by each method, as a user runs it."""

import json

import pytest
from command import tokenlab_here as tokenlab

from tokenlab.ngrams import ngram_statistics
from tokenlab.segment import Segmenter, SegmentOptions
from tokenlab.segment.words import WordModel, WordOptions

WORDS = ["--method", "words", "--sweeps", 4, "--classes", 9, "--seed", 3]


@pytest.fixture
def text(tmp_path, chinese_sentences):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(chinese_sentences) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ([], SegmentOptions()),
        (["--method", "variation", "--lambda", 2], SegmentOptions(weight=2.0)),
        (["--method", "statistics"], SegmentOptions(vbe_weight=0.0)),
        (["--method", "statistics", "--variation", 0.25], SegmentOptions(vbe_weight=0.25)),
        (["--method", "statistics", "--variation", 0.5], SegmentOptions(vbe_weight=0.5)),
    ],
)
def test_defaults_of_methods_by_statistics(text, chinese_sentences, method, options):
    (expected,) = Segmenter(ngram_statistics(chinese_sentences), options).segment(chinese_sentences)
    assert tokenlab("segment", text, *method) == expected.text()


def test_a_word_model_is_fitted_kept_and_used_again(tmp_path, text, chinese_sentences):
    model = WordModel.fit(chinese_sentences, WordOptions(sweeps=4, classes=9, seed=3))
    kept = tmp_path / "model"
    assert tokenlab("segment", text, *WORDS, "--save-model", kept) == model.training.text()
    tokenlab("segment", text, *WORDS, "--save-model", tmp_path / "again")
    assert kept.read_bytes() == (tmp_path / "again").read_bytes()
    (expected,) = model.segment(chinese_sentences[:20])
    stdin = "\n".join(chinese_sentences[:20]) + "\n"
    assert tokenlab("segment", "-", "--model", kept, stdin=stdin) == expected.text()
    lines = tokenlab("segment", "-", "--model", kept, "--format", "json", stdin=stdin).splitlines()
    assert [json.loads(line)["text"] for line in lines] == chinese_sentences[:20]


def test_delimiter_leaves_the_spaces_of_the_text():
    line = "共同 创造美好\u3000的abc，世纪"
    plain = tokenlab("segment", "-", stdin=line + "\n")
    marked = tokenlab("segment", "-", "--delimiter", "|", stdin=line + "\n")
    assert marked.replace("|", "") == line + "\n"
    assert marked.replace("|", " ").split() == plain.split()
    assert "||" not in marked and "| " not in marked and " |" not in marked


@pytest.mark.parametrize("method", ["--method variation", "--method statistics", "--method words", "--entropies"])
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


def test_bad_input_is_one_line(tmp_path, text):
    (tmp_path / "damaged").write_bytes(b"x" * 100)
    (tmp_path / "latin").write_text("no run of Han here\n", encoding="utf-8")
    (tmp_path / "empty").write_text("")
    for arguments, message in [
        ([tmp_path / "latin", "--method", "words"], "latin: the text has no character of a script written without"),
        ([tmp_path / "empty", "--method", "words"], "empty: the text has no character"),
        ([text, "--model", tmp_path / "damaged"], "damaged"),
        ([text, "--method", "words", "--sweeps", 1], "--sweeps is 1"),
        ([text, "--method", "words", "--classes", -1], "--classes is -1"),
        ([text, "--method", "words", "--lambda", 1], "--lambda has no meaning with --method words"),
        ([text, "--classes", 9], "--classes has no meaning with --method variation"),
        ([text, "--save-model", tmp_path / "m"], "--save-model has no meaning with --method variation"),
        ([text, "--model", tmp_path / "damaged", "--seed", 1], "--seed has no meaning with a fitted word model"),
        ([text, "--model", tmp_path / "damaged", "--method", "words"], "--method has no meaning with --model"),
        ([text, "--method", "words", "--isolate", "script"], "--isolate has no meaning with --method words"),
        ([text, *WORDS, "--save-model", tmp_path / "nowhere" / "m"], "--save-model is"),
        ([text, "--delimiter", "ab"], "--delimiter is 'ab'"),
        ([text, "--delimiter", " "], "--delimiter is ' '"),
        ([text, "--delimiter", "。"], "the text contains '。'"),
        ([text, "--delimiter", "|", "--json"], "not allowed with"),
    ]:
        assert message in tokenlab("segment", *arguments, status=2), arguments
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged", "empty", "latin", "text.txt"]
