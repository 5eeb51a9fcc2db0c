"""`tokenlab train` and `tokenlab count` as a user runs them."""

import json
import re
import signal
import subprocess
import sys

import pytest
from command import ended_here
from command import tokenlab_here as tokenlab
from tokenizers import Tokenizer

from tokenlab.generated import generate
from tokenlab.segment.words.model import WordModel
from tokenlab.segment.words.options import WordOptions
from tokenlab.tokenizers.cuts import make_cut
from tokenlab.tokenizers.options import TrainOptions
from tokenlab.tokenizers.piece_counts import count_pieces
from tokenlab.tokenizers.trained import train_tokenizers

THAI = ["ครับผมไปโรงเรียนทุกวัน", "วันนี้อากาศดีมาก ครับ 2567", "โรงเรียนดีมาก"]
LINES = [document.text for document in generate("en", sentences=200, seed=2)] + THAI
TEXT = "\n".join(LINES) + "\n"
ALONE = """
import json, sys
sys.modules["tokenlab"] = None  # importing it raises ModuleNotFoundError
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
lines = json.load(sys.stdin)
ids = [tokenizer.encode(line) for line in lines]
assert [tokenizer.decode(of_line) for of_line in ids] == lines
padded = tokenizer(lines, padding=True, truncation=True, max_length=9)["input_ids"]
assert {len(row) for row in padded} == {9} and tokenizer.pad_token_id in padded[-1]
assert tokenizer.eos_token == "<e>"
assert tokenizer.encode("<|im_start|>") == [tokenizer.convert_tokens_to_ids("<|im_start|>")]
tokenizer.add_tokens(["newtoken"])
tokenizer.save_pretrained(sys.argv[2])
again = AutoTokenizer.from_pretrained(sys.argv[2])
assert len(again) == len(tokenizer) and again.decode(again.encode("a newtoken")) == "a newtoken"
assert [again.encode(line) for line in lines] == ids
json.dump(ids, sys.stdout)
"""


def by_library(cut, **options):
    (counts,) = count_pieces(LINES, [make_cut(cut, LINES)])
    return [tokenizer.to_str(pretty=True) for tokenizer in train_tokenizers(counts, TrainOptions(**options))]


@pytest.mark.parametrize(("cut", "name"), [([], "auto"), (["--cut", "words"], "words")])
def test_equals_the_library_from_text_and_from_counts(tmp_path, text, cut, name):
    sizes = ["--vocabulary", 400, 500]
    expected = by_library(name, vocabulary=(400, 500))
    shown = tokenlab("train", text, "-o", tmp_path / "a", *sizes, *cut, "--json")
    rows = [json.loads(line) for line in shown.splitlines()]
    parts = [tmp_path / "1.txt", tmp_path / "2.txt"]
    for part, lines in zip(parts, (LINES[:50], LINES[50:]), strict=True):
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert tokenlab("count", *parts, "-o", tmp_path / "c.parquet", *cut) == ""
    counted = json.loads(
        tokenlab("train", "-o", tmp_path / "b", "--from-counts", tmp_path / "c.parquet", *sizes[:2], "--json")
    )
    for size, row, json_text in zip((400, 500), rows, expected, strict=True):
        assert (tmp_path / f"a/{size}/tokenizer.json").read_text(encoding="utf-8") == json_text
        assert row["vocabulary"] == size and row["unreached_tokens"] == 0
        assert row["lines"] == row["byte_level_lines"] == len(LINES)
        assert name == "auto" or row["lines_cut_differently"] < len(LINES)
        size_in_bytes = sum(len(line.encode()) for line in LINES)
        assert row["bytes_per_token"] == pytest.approx(size_in_bytes / row["tokens"])
    assert (tmp_path / "b/tokenizer.json").read_text(encoding="utf-8") == expected[0]
    assert counted == {"vocabulary": 400, "unreached_tokens": 0}
    readme = (tmp_path / "b/README.md").read_text(encoding="utf-8")
    assert "byte_level" not in readme and "tokens per word" not in readme and "## Measures" in readme


def test_counts_are_merged(tmp_path, text):
    for name in ("a.parquet", "b.tsv"):
        tokenlab("count", text, "-o", tmp_path / name, "--cut", "gpt2")
    tokenlab("count", text, text, "-o", tmp_path / "twice.parquet", "--cut", "gpt2")
    tokenlab("count", tmp_path / "a.parquet", text, "-o", tmp_path / "sum.parquet", "--cut", "gpt2")
    tokenlab("count", tmp_path / "b.tsv", tmp_path / "a.parquet", "-o", tmp_path / "named.parquet", "--cut", "gpt2")
    shared = ["--cut", "gpt2", "--memory", "1G", "--workers", "2"]
    tokenlab("count", text, text, "-o", tmp_path / "shared.parquet", *shared)
    assert "name it by --from-counts" in ended_here("train", tmp_path / "a.parquet", "-o", tmp_path / "t").said
    for name in ("sum", "named", "shared"):
        assert (tmp_path / f"{name}.parquet").read_bytes() == (tmp_path / "twice.parquet").read_bytes()
    for name, cut in (("a.parquet", []), ("b.tsv", ["--cut", "gpt2"])):
        arguments = ["--from-counts", tmp_path / name, "-o", tmp_path / "out", "--vocabulary", 400, *cut]
        tokenlab("train", *arguments)
        (expected,) = by_library("gpt2", vocabulary=(400,))
        assert (tmp_path / "out/tokenizer.json").read_text(encoding="utf-8") == expected


def test_a_text_may_be_named_tsv(tmp_path):
    (tmp_path / "x.tsv").write_text("good text\t5\nbad text\t1\n", encoding="utf-8")
    tokenlab("count", tmp_path / "x.tsv", "--format", "text", "--cut", "whitespace", "-o", tmp_path / "c.tsv")
    assert (tmp_path / "c.tsv").read_text(encoding="utf-8") == "\t\t2\n text\t2\n1\t1\n5\t1\nbad\t1\ngood\t1\n"


@pytest.mark.parametrize("command", [["train"], ["count", "good.txt"], ["compare"]])
def test_a_name_that_is_not_utf8(tmp_path, command):
    said = tokenlab(*command, "caf\udce9.txt", "-o", tmp_path / "out.tsv", status=2)
    assert "'caf\\udce9.txt' is not UTF-8" in said and not list(tmp_path.iterdir())


def test_special_tokens_of_byte_names_are_whole_with_fallback(tmp_path, text):
    tokenlab(
        "train", text, "-o", tmp_path / "t", "--bytes", "fallback", "--vocabulary", 500, "--special-tokens", "§end§"
    )
    tokenizer = Tokenizer.from_file(str(tmp_path / "t/tokenizer.json"))
    ids = tokenizer.encode("a§end§").ids
    assert len(ids) == 2 and tokenizer.decode(ids, skip_special_tokens=False) == "a§end§"


def test_the_card_of_counts_says_that_words_were_learned(tmp_path, text):
    for cut, learned in (("words", "as in the counts"), ("gpt2", "none")):
        tokenlab("count", text, "--cut", cut, "-o", tmp_path / "c.parquet")
        tokenlab("train", "--from-counts", tmp_path / "c.parquet", "-o", tmp_path / cut, "--vocabulary", 400)
        assert f"| learned words | {learned} |" in (tmp_path / cut / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [["--bytes", "fallback", "--cut", "none"], ["--cut", "llama3"], ["--model", "unigram", "--bytes", "fallback"]],
)
def test_it_works_without_tokenlab(tmp_path, text, how):
    special = ["--special-tokens", "pad=<|pad|>", "eos=<e>", "<|im_start|>"]
    tokenlab("train", text, "-o", tmp_path / "out", "--vocabulary", 600, *special, *how)
    lines = [*LINES, "漢字 😀\tx\n\n  3.14159", "<|pad|>a", "x"]
    done = subprocess.run(
        [sys.executable, "-c", ALONE, tmp_path / "out", tmp_path / "again"],
        input=json.dumps(lines), capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tokenizer = Tokenizer.from_file(str(tmp_path / "out/tokenizer.json"))
    assert json.loads(done.stdout) == [tokenizer.encode(line).ids for line in lines]


@pytest.mark.slow
def test_words_of_a_file(tmp_path, text):
    WordModel.fit(THAI * 10, WordOptions(sweeps=4)).save(tmp_path / "thai.words")
    tokenlab("train", text, "-o", tmp_path / "out", "--vocabulary", 400, "--cut", tmp_path / "thai.words")
    (expected,) = by_library(str(tmp_path / "thai.words"), vocabulary=(400,))
    assert (tmp_path / "out/tokenizer.json").read_text(encoding="utf-8") == expected
    assert str(tmp_path) not in (tmp_path / "out/README.md").read_text(encoding="utf-8")


def test_an_expression_may_be_longer_than_a_file_name(tmp_path):
    (tmp_path / "short.txt").write_text("to be or not to be\n", encoding="utf-8")
    cut = "|".join(f" ?word{number}" for number in range(100)) + r"| ?\w+"
    tokenlab("count", tmp_path / "short.txt", "-o", tmp_path / "counts.tsv", "--cut", cut)
    assert " be\t2\n" in (tmp_path / "counts.tsv").read_text(encoding="utf-8")


def test_fewer_entries_than_asked_are_said(tmp_path):
    (tmp_path / "short.txt").write_text("to be or not to be\n", encoding="utf-8")
    ended = ended_here("train", tmp_path / "short.txt", "-o", tmp_path / "out", "--vocabulary", 400)
    entries = json.loads((tmp_path / "out/tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    assert f"{len(entries)} entries" in ended.said and "400" in ended.said


def test_the_card_names_text_licence_and_measures(tmp_path, text):
    record = {"source": "x", "title": "A text", "licence": "CC0", "research_only": False, "files": {}}
    (tmp_path / "SOURCE.json").write_text(json.dumps(record), encoding="utf-8")
    shown = tokenlab("train", text, "-o", tmp_path / "out", "--vocabulary", 400, "--check", text)
    measures = [re.split(r"  +", line) for line in shown.splitlines()[1:]]
    card = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    assert "\n- text.txt: A text" in card and "CC0" in card and "On text.txt." in card
    assert measures[1][0] == "lines" and measures[1][1] == measures[1][2]
    for measure in measures:
        assert f"| {' | '.join(measure)} |" in card
    assert str(tmp_path) not in card
    config = json.loads((tmp_path / "out/tokenizer_config.json").read_text(encoding="utf-8"))
    assert (config["pad_token"], config["eos_token"]) == ("<|pad|>", "<|endoftext|>")


def test_only_what_it_wrote_is_replaced(tmp_path, text, monkeypatch):
    """Sizes and files of an earlier run, also behind a link; no folder that is named by a number, no own README."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to("disk")
    tokenlab("train", text, "-o", tmp_path / "out", "--vocabulary", 400, 410)
    said = ended_here("train", text, "-o", tmp_path / "out", "--vocabulary", 400).said
    assert f"replaced the tokenizer in {tmp_path / 'out'}: 400, 410" in said
    assert (tmp_path / "out").is_symlink() and (tmp_path / "disk/tokenizer.json").is_file()
    assert not (tmp_path / "disk/400").exists()
    (tmp_path / "years/2024").mkdir(parents=True)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/README.md").touch()
    (tmp_path / "downloaded").mkdir()
    for name in ("README.md", "tokenizer.json"):
        (tmp_path / "downloaded" / name).write_text("{}", encoding="utf-8")
    for folder, held in (("years", "2024"), ("notes", "README.md"), ("downloaded", "README.md")):
        ended = ended_here("train", text, "-o", tmp_path / folder, "--vocabulary", 400)
        assert ended.status == 2 and f"already holds {held}" in ended.said
    (tmp_path / "loop").symlink_to("loop")
    assert "leads nowhere" in ended_here("train", text, "-o", tmp_path / "loop", "--vocabulary", 400).said
    monkeypatch.chdir(tmp_path / "disk")
    assert "the folder you are in" in ended_here("train", text, "-o", ".", "--vocabulary", 400).said


KILLED = """
import os, signal, sys
from pathlib import Path
from tokenlab.cli import main
Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize(("command", "place"), [("train --vocabulary 400 500", "out"), ("count", "out.tsv")])
def test_a_run_that_is_killed_while_it_writes_leaves_no_part(tmp_path, text, command, place):
    """It is killed where the temporary file gets its name."""
    arguments = [*command.split(), "--cut", "gpt2", "-o", tmp_path / place, text]
    done = subprocess.run([sys.executable, "-c", KILLED, *map(str, arguments)], capture_output=True)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")
    assert not (tmp_path / place).exists() and list(tmp_path.glob(f".{place}.*.tmp"))
    tokenlab(*arguments)
    assert (tmp_path / place).exists()
