"""The benchmarks: that peers compute the same, that a wrong peer stops them, and that the tables come out. No times."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import atoms, peers
from benchmarks import ngram_statistics as statistics
from benchmarks import tables as command
from benchmarks.corpora import verses, write_texts
from benchmarks.measure import Bench, Measurement, agree
from benchmarks.segmentation import plain_text
from tokenlab.codes import character_corpus, random_codebook
from tokenlab.core.errors import InputError
from tokenlab.ngrams import ngram_statistics
from tokenlab.segment import Segmenter, SegmentOptions, utilities

PROJECT = Path(__file__).resolve().parents[2]


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments], cwd=PROJECT, capture_output=True, text=True, encoding="utf-8"
    )


def table_rows(output):
    """The cells of every row of the tables, heads and rules not among them."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in output.splitlines() if line[:1] == "|"]
    heads = {number - 1 for number, row in enumerate(rows) if set("".join(row)) <= set("-: ")}
    return [row for number, row in enumerate(rows) if number not in heads and number - 1 not in heads]


@pytest.mark.parametrize("peer", statistics.PEERS)
def test_peers_compute_the_same(peer, chinese_sentences):
    sentences = [*chinese_sentences[:100], "一个 两 个", "啊", ""]
    rows, difference = statistics.largest_difference(sentences, peer)
    assert rows > 5000
    assert difference < 1e-9


@pytest.mark.parametrize("column", range(4))
def test_a_wrong_value_is_seen(monkeypatch, column):
    def wrong(sentences):
        rows = peers.counter_statistics(sentences)
        rows["天地"] = tuple(value + 1e-6 * (i == column) for i, value in enumerate(rows["天地"]))
        return rows

    monkeypatch.setitem(statistics.PEERS, "Counter", wrong)
    assert statistics.largest_difference(["天地玄黄", "天地人"], "Counter")[1] == pytest.approx(1e-6)


def test_a_missing_row_is_seen(monkeypatch):
    monkeypatch.setitem(statistics.PEERS, "Counter", lambda sentences: peers.counter_statistics(sentences[:1]))
    assert statistics.largest_difference(["天地玄黄", "天地人"], "Counter")[1] == float("inf")


@pytest.mark.parametrize("isolate", ["script", "none"])
@pytest.mark.parametrize("decoder", ["viterbi", "greedy"])
def test_plain_decoder_gives_the_same_text(decoder, isolate, chinese_sentences):
    sentences = [*chinese_sentences, "天地 玄黄abc１２％。", ""]
    options = SegmentOptions(decoder=decoder, isolate=isolate)
    counted = ngram_statistics(sentences)
    table = dict(zip(statistics.tokenlab_ngrams(counted), utilities(counted, options).tolist(), strict=True))
    (batch,) = Segmenter(counted, options).segment(sentences)
    assert plain_text(sentences, table, 6, decoder, isolate) == batch.text()


def test_measurements_that_disagree_stop_the_run():
    def measured(**facts):
        return Measurement([1.0], [1.0], 0.0, 0, facts)

    agree(measured(count=10.0, text="a", more=1.0), measured(count=10.0 + 1e-9, text="a"))
    with pytest.raises(RuntimeError, match="count"):
        agree(measured(count=10.0), measured(count=10.0 + 1e-6))
    with pytest.raises(RuntimeError, match="text"):
        agree(measured(text="a"), measured(text="b"))


def test_rate_is_of_the_median():
    assert Measurement([4.0, 1.0, 2.0], [1.0], 0.0, 0, {}).rate(8) == "4 (2 to 8)"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the peak of a process has another source")
def test_the_peak_is_not_that_of_the_parent():
    ballast = bytearray(os.urandom(1 << 16) * (1 << 12))  # 256 MiB
    program = "from benchmarks.measure import peak_memory as p; print(p()); x = bytes(range(256)) * 2**18; print(p())"
    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert before < len(ballast) / 2
    assert after - before == pytest.approx(2**26, rel=0.05)


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [([1.0, 0.96], "96% of their time: hardly interrupted"), ([1.0, 0.5], "50% of their time: the machine was busy")],
)
def test_a_busy_machine_is_said(shares, verdict):
    assert verdict in command._quietness(Bench(Path(), {}, 1, None, shares))


def test_texts_have_their_sizes_without_the_mirror(tmp_path, monkeypatch):
    monkeypatch.delenv("TOKENLAB_MIRROR", raising=False)
    write_texts(tmp_path, 2000, 500)
    facts = json.loads((tmp_path / "texts.json").read_text(encoding="utf-8"))
    text = {name: (tmp_path / f"{name}.txt").read_text(encoding="utf-8") for name in facts}
    for name, size in {"once": 2000, "part": 500, "held_out": 2000, "three": 6000, "ten": 20000}.items():
        assert size - 100 < len("".join(text[name].split())) == facts[name]["characters"] < size + 100
    assert text["three"].startswith(text["once"] + text["held_out"])


@pytest.fixture
def encoded(tmp_path, monkeypatch):
    """Built-in sentences as atoms, with the merges up to 400 entries: the path of `atoms:write`."""
    monkeypatch.delenv("TOKENLAB_MIRROR", raising=False)
    path = tmp_path / "atoms"
    task_facts("write", path, 400, 4000)
    return path


def task_facts(name, *arguments):
    """The facts of a task of `benchmarks.atoms` on its whole."""
    task = atoms.TASKS[name](*map(str, arguments))
    return task.facts(task.run(task.whole))


def as_measured(facts):
    return Measurement([1.0], [1.0], 0.0, 0, facts)


def test_atoms_are_those_of_the_text(encoded):
    code = random_codebook(character_corpus(verses("en", 4000)))
    lines = encoded.with_suffix(".txt").read_text(encoding="utf-8").split("\n")
    assert [code.decode(line) for line in lines] == verses("en", 4000)
    with np.load(encoded.with_suffix(".npz")) as arrays:
        assert "".join(chr(0xE000 + symbol) for symbol in arrays["symbols"]) == "".join(lines)
        assert np.diff(arrays["offsets"]).tolist() == [len(line) for line in lines]
        assert len(arrays["merges"]) == 400 - arrays["alphabet"]


@pytest.mark.slow
def test_peers_over_atoms_give_the_same(encoded):
    merges = [task_facts("bpe", encoded, 400, sizes) for sizes in (1, 10)]
    assert merges == 2 * [task_facts("BpeTrainer", encoded, 400)]
    tokens = task_facts("tokenize", encoded)
    assert tokens == task_facts("encode_batch", encoded) == task_facts("encode_batch_fast", encoded)
    ours, theirs = (task_facts(*task) for task in (("unigram", encoded, 200, 1), ("UnigramTrainer", encoded, 200)))
    assert ours["pieces"] == theirs["pieces"] == 200
    atoms._check_alike(as_measured(ours), as_measured(theirs))


def test_other_merges_over_atoms_are_seen(encoded):
    with pytest.raises(RuntimeError, match="merges"):
        agree(*(as_measured(task_facts("bpe", encoded, size, 1)) for size in (400, 399)))
    ours = as_measured(task_facts("tokenize", encoded))
    with np.load(encoded.with_suffix(".npz")) as arrays:
        other = {**arrays, "merges": np.flip(arrays["merges"][:2], axis=0)}
    np.savez(encoded.with_suffix(".npz"), **other)
    with pytest.raises(RuntimeError, match="tokens"):
        agree(ours, as_measured(task_facts("encode_batch", encoded)))


@pytest.mark.parametrize("theirs", [{"pieces": 199, "tokens": 1000}, {"pieces": 200, "tokens": 1051}])
def test_unigram_models_that_differ_stop_the_run(theirs):
    ours = as_measured({"pieces": 200, "tokens": 1000})
    atoms._check_alike(ours, as_measured({"pieces": 200, "tokens": 1049}))
    with pytest.raises(RuntimeError, match="no time is printed"):
        atoms._check_alike(ours, as_measured(theirs))


def test_verses_end_where_they_should(monkeypatch):
    monkeypatch.delenv("TOKENLAB_MIRROR", raising=False)
    some, more = verses("en", 1000), verses("en", 2000)
    assert len("".join(some[:-1])) < 1000 <= len("".join(some))
    assert some == more[: len(some)]


@pytest.mark.slow
def test_reading_prints_a_row_for_each_format():
    done = run("reading", "--quick")
    assert done.returncode == 0, done.stderr
    assert [row[0] for row in table_rows(done.stdout)] == ["sighan", "text", "jsonl", "ces", "parquet"]


@pytest.mark.nightly
def test_statistics_and_segmentation_print_their_rows():
    done = run("ngram_statistics", "segmentation", "--quick")
    assert done.returncode == 0, done.stderr
    cores = str(os.cpu_count())
    beside_peers = [("tokenlab", "1"), ("polars", "1"), ("polars", cores), *((n, "1") for n in ("tokenlab", "Counter"))]
    sizes = [("once",), ("three",), ("ten",)]
    options = [
        (d, i, t) for d in ("viterbi", "greedy") for i in ("script", "none") for t in ("part", "once", "held_out")
    ]
    expected = [*beside_peers, ("soynlp", "1"), *sizes, *options]
    assert [tuple(row[: len(key)]) for row, key in zip(table_rows(done.stdout), expected, strict=True)] == expected
    assert "`tokenlab segment FILE`" in done.stdout


@pytest.mark.nightly
def test_export_and_bpe_training_print_their_rows():
    done = run("export", "bpe_training", "--quick")
    assert done.returncode == 0, done.stderr
    rows = [row for row in table_rows(done.stdout) if row[0][:5] != "jieba"]
    exported = ["`Segmenter`", "tokenizer.json, `encode_batch`", "tokenizer.json, `encode_batch_fast`"]
    assert [row[0] for row in rows[:3]] == exported
    assert rows[3][0].startswith("SentencePiece")
    words = ["lines", "clauses (`Whitespace`)", "segments", "lines, `bpe_sweep`"]
    expected = [(text, way) for text in ("`once`", "drawn", "drawn") for way in words]
    assert [(row[0], row[2]) for row in rows[4:]] == expected
    assert not any("more than" in cell or "out of memory" in cell for row in rows for cell in row)


@pytest.mark.nightly
def test_cuts_print_their_rows(monkeypatch):
    monkeypatch.delenv("TOKENLAB_MIRROR", raising=False)
    monkeypatch.delenv("TOKENLAB_TEXTS", raising=False)
    done = run("cuts", "--quick")
    assert done.returncode == 0, done.stderr
    ways = [
        "gpt2 level",
        "none fallback",
        "none level",
        "llama3 level",
        "whitespace level",
        "auto level",
        "auto fallback",
    ]
    words = ["words level", "statistics level"]
    expected = {"English": ways, "Chinese": ways + words, "Japanese": ways + words}
    rows = [(row[0], f"{row[2]} {row[3]}") for row in table_rows(done.stdout)]
    assert rows == [(text, way) for text, of_text in expected.items() for way in of_text]


@pytest.mark.nightly
def test_atoms_prints_its_rows():
    done = run("atoms", "--quick")
    assert done.returncode == 0, done.stderr
    cores = str(os.cpu_count())
    assert [tuple(row[:3]) for row in table_rows(done.stdout)[:-2]] == [
        ("BPE", "`bpe_sweep`, 1 size", "1"),
        ("BPE", "`bpe_sweep`, 60 sizes", "1"),
        ("BPE", "`BpeTrainer`", "1"),
        ("BPE", "`BpeTrainer`", cores),
        ("encoding", "`tokenize`", "1"),
        ("encoding", "`encode_batch`", "1"),
        ("encoding", "`encode_batch_fast`", "1"),
        ("encoding", "`encode_batch_fast`", cores),
        ("unigram", "`unigram_sweep`, 1 size", "1"),
        ("unigram", "`unigram_sweep`, 60 sizes", "1"),
        ("unigram", "`UnigramTrainer`", "1"),
        ("unigram", "`UnigramTrainer`", cores),
    ]
    assert [row[0] for row in table_rows(done.stdout)[-2:]] == ["one annealing", "`refine_codebook`"]


def test_write_keeps_the_text_around_the_table(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    monkeypatch.setattr(command, "_PAGE", page)
    page.write_text("a\n<!-- reading: begin -->\nold\n<!-- reading: end -->\nb\n", encoding="utf-8")
    command._write("reading", ["| new |"])
    assert page.read_text(encoding="utf-8") == ("a\n<!-- reading: begin -->\n\n| new |\n\n<!-- reading: end -->\nb\n")
    with pytest.raises(InputError, match="ngram_statistics: begin"):
        command._write("ngram_statistics", ["| new |"])


@pytest.mark.parametrize("arguments", [["nothing"], ["--quick", "--write"]])
def test_wrong_arguments_end_with_status_2(monkeypatch, capsys, arguments):
    monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 2
    assert "nothing" in capsys.readouterr().err
