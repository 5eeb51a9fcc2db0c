"""The benchmarks: that peers compute the same, that a wrong peer stops them, and that the tables come out. No times."""

import os
import subprocess
import sys

import numpy as np
import pytest
from workspace import ROOT

from benchmarks import atoms, peers
from benchmarks import ngram_statistics as statistics
from benchmarks import tables as command
from benchmarks.corpora import verses
from benchmarks.measure import Measurement, agree
from tokenlab.codes import character_corpus, random_codebook
from tokenlab.core.errors import InputError


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


def test_measurements_that_disagree_stop_the_run():
    def measured(**facts):
        return Measurement([1.0], [1.0], 0.0, 0, facts)

    agree(measured(count=10.0, text="a", more=1.0), measured(count=10.0 + 1e-9, text="a"))
    with pytest.raises(RuntimeError, match="count"):
        agree(measured(count=10.0), measured(count=10.0 + 1e-6))
    with pytest.raises(RuntimeError, match="text"):
        agree(measured(text="a"), measured(text="b"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the peak of a process has another source")
def test_the_peak_is_not_that_of_the_parent():
    ballast = bytearray(os.urandom(1 << 16) * (1 << 12))  # 256 MiB
    program = "from benchmarks.measure import peak_memory as p; print(p()); x = bytes(range(256)) * 2**18; print(p())"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert before < len(ballast) / 2
    assert after - before == pytest.approx(2**26, rel=0.05)


def test_atoms_are_those_of_the_text(tmp_path, monkeypatch):
    monkeypatch.delenv("TOKENLAB_MIRROR", raising=False)
    task = atoms.TASKS["write"](str(tmp_path / "atoms"), "400", "4000")
    task.facts(task.run(task.whole))
    code = random_codebook(character_corpus(verses("en", 4000)))
    lines = (tmp_path / "atoms.txt").read_text(encoding="utf-8").split("\n")
    assert [code.decode(line) for line in lines] == verses("en", 4000)
    with np.load(tmp_path / "atoms.npz") as arrays:
        assert "".join(chr(0xE000 + symbol) for symbol in arrays["symbols"]) == "".join(lines)
        assert np.diff(arrays["offsets"]).tolist() == [len(line) for line in lines]
        assert len(arrays["merges"]) == 400 - arrays["alphabet"]


@pytest.mark.parametrize("theirs", [{"pieces": 199, "tokens": 1000}, {"pieces": 200, "tokens": 1051}])
def test_unigram_models_that_differ_stop_the_run(theirs):
    ours, near, far = (
        Measurement([1.0], [1.0], 0.0, 0, facts)
        for facts in ({"pieces": 200, "tokens": 1000}, {"pieces": 200, "tokens": 1049}, theirs)
    )
    atoms._check_alike(ours, near)
    with pytest.raises(RuntimeError, match="no time"):
        atoms._check_alike(ours, far)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (["ngram_statistics", "segmentation"], 21),
        (["export", "bpe_training"], 16),
        (["bpe_english"], 5),
        (["cuts"], 25),
        (["atoms"], 14),
        (["hmm", "patches"], 15),
    ],
)
def test_tables_have_a_row_for_each_way(monkeypatch, names, rows):
    monkeypatch.delenv("TOKENLAB_MIRROR", raising=False)
    monkeypatch.delenv("TOKENLAB_TEXTS", raising=False)
    command = [sys.executable, "-m", "benchmarks", *names, "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
    rules = sum(set(line) <= set("|-: ") for line in lines)
    assert len(lines) - 2 * rules >= rows, done.stdout
    assert "out of memory" not in done.stdout


def test_write_keeps_the_text_around_the_table(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    monkeypatch.setattr(command, "_PAGE", page)
    page.write_text("a\n<!-- cuts: begin -->\nold\n<!-- cuts: end -->\nb\n", encoding="utf-8")
    command.write_section("cuts", ["| new |"])
    assert page.read_text(encoding="utf-8") == ("a\n<!-- cuts: begin -->\n\n| new |\n\n<!-- cuts: end -->\nb\n")
    with pytest.raises(InputError, match="ngram_statistics: begin"):
        command.write_section("ngram_statistics", ["| new |"])


@pytest.mark.parametrize("arguments", [["nothing"], ["--quick", "--write"]])
def test_wrong_arguments_end_with_status_2(monkeypatch, capsys, arguments):
    monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 2
    assert "nothing" in capsys.readouterr().err
