"""`tokenlab measure` on small texts and tokenizers."""

import json

import pytest
from command import tokenlab_here as tokenlab
from tiny_tokenizers import EXPRESSIONS, byte_level, train

from tokenlab.metrics import of_tokenizer
from tokenlab.metrics.counting import count_tokens
from tokenlab.metrics.words import texts_with_words
from tokenlab.text.documents import Document
from tokenlab.tokenizers.measured import read_text_tokenizer

LINES = ["In the beginning God created the heaven and the earth.", "", "né, naïve", "神"]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    for merges in (0, 30):
        train(byte_level(EXPRESSIONS["gpt2"]), LINES, merges).save(str(tmp_path / f"{merges}.json"))
    return tmp_path


def test_json_has_every_measure_of_every_tokenizer(files):
    chosen = ["--tokenizer", files / "0.json", "--tokenizer", files / "30.json", "--reference", files / "0.json"]
    first, second = json.loads(tokenlab("measure", files / "text.txt", *chosen, "--format", "json"))
    documents = [Document(line, line) for line in LINES if line]
    counts = count_tokens(read_text_tokenizer(files / "30.json"), texts_with_words(documents))
    expected = of_tokenizer(counts) | {"normalised_length": counts.tokens / first["tokens"]}
    assert {name: second[name] for name in expected} == expected
    assert (second["tokenizer"], second["texts"], second["words"]) == (str(files / "30.json"), 3, 13)
    assert (
        first["normalised_length"] == 1 and first["bytes_per_token"] == 1 and second["fertility"] < first["fertility"]
    )


def test_the_table(files):
    lines = tokenlab("measure", files / "text.txt", "--tokenizer", files / "0.json", "--tokenizer", files / "30.json")
    shown = {line[:28].strip(): line[28:].split() for line in lines.splitlines()[2:]}
    assert shown[""] == ["[1]", "[2]"] and shown["texts"] == ["3", "3"]
    assert shown["bytes per token"][0] == "1.0000" and shown["unknown rate"] == ["0.00", "%", "0.00", "%"]
    assert "normalised length" not in shown and "parity" not in shown


def test_scripts_without_spaces_have_no_words(files):
    (files / "zh.txt").write_text("起初神创造天地。\n", encoding="utf-8")
    train(byte_level(EXPRESSIONS["gpt2"]), ["起初神创造天地。"], 0).save(str(files / "zh.json"))
    (row,) = json.loads(tokenlab("measure", files / "zh.txt", "--tokenizer", files / "zh.json", "--format", "json"))
    assert row["words"] is None and row["fertility"] is None and row["byte_token_rate"] == 1


def test_standard_input_and_errors(files):
    arguments = ["measure", "-", "--tokenizer", files / "0.json", "--format", "json"]
    assert json.loads(tokenlab(*arguments, stdin="the heaven\n"))[0]["words"] == 2
    assert "nothing can be measured" in tokenlab(*arguments, stdin="\n", status=2)
    assert "no such file" in tokenlab("measure", files / "text.txt", "--tokenizer", files / "none.json", status=2)
    assert "--tokenizer" in tokenlab("measure", files / "text.txt", status=2)
