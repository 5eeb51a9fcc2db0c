"""`tokenlab exact`, as a user runs it."""

import json
import os
import shutil
import subprocess
from functools import partial

import numpy as np
import pytest
from command import PROGRAM, ended_here
from tiny_models import byte_level, edit_json, save_model
from tokenizers import AddedToken, normalizers
from transformers import PreTrainedTokenizerFast

from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.completion import complete
from tokenlab.exact.loading import load
from tokenlab.exact.options import CompletionOptions, ExactOptions, SamplingOptions
from tokenlab.exact.sampling import sample
from tokenlab.exact.scoring import score_texts, total
from tokenlab.exact.token_walk import sample_by_tokens

TEXT = "共同创造\n\nhello world, hello\n"
LINES = TEXT.split("\n")[:-1]
END = "<|endoftext|>"


def save(folder, **config):
    """A byte-level model that begins and ends texts with one token, as GPT-2."""
    tokenizer = byte_level(300)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=END, eos_token=END).save_pretrained(folder)
    save_model(folder, tokenizer.get_vocab_size() + 1, **config)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    save(path)
    return path


@pytest.fixture(scope="module")
def model(folder):
    return library(folder)


def library(folder, **options):
    model, real = load(folder)
    return CharacterModel(model, real.automaton, ExactOptions(**options))


@pytest.fixture
def exact(tokenlab):
    return partial(tokenlab, "exact")


@pytest.mark.parametrize("chosen", [{}, {"estimator": "bpc"}, {"encodings": "all", "truncate": False}], ids=str)
def test_next_prints_the_library_s_numbers(exact, folder, chosen):
    options = ["--no-truncate" if name == "truncate" else f"--{name}={value}" for name, value in chosen.items()]
    expected = library(folder, **chosen).next_character("hello w", 5)
    shown = json.loads(exact("next", "hello w", "--model", folder, "--top", 5, "--json", *options))
    assert [row["character"] for row in shown["characters"]] == list(expected.characters)
    log2 = [row["log2"] for row in shown["characters"]] + [shown["end"]["log2"], shown["rest"]["log2"]]
    nats = [*expected.log_probability, expected.end, expected.rest]
    np.testing.assert_allclose(np.array(log2) * np.log(2), nats, atol=1e-5)
    assert shown["text"] == "hello w" and shown["cost"] == expected.cost._asdict()
    if not chosen:
        p = [row["probability"] for row in [*shown["characters"], shown["end"], shown["rest"]]]
        assert sum(p) == pytest.approx(1, abs=1e-10)


def test_next_as_a_table(exact, folder, model):
    rows = [line.split("\t") for line in exact("next", "hello", "--model", folder, "--top", 3).splitlines()]
    expected = model.next_character("hello", 3)
    assert [float(row[1]) for row in rows[:3]] == pytest.approx(np.exp(expected.log_probability), abs=2e-6)
    assert [float(row[2]) for row in rows[:3]] == pytest.approx(expected.log_probability / np.log(2), abs=1e-3)
    assert [row[0] for row in rows[3:5]] == ["(end)", "(others)"]
    assert rows[5][0].endswith("tokens evaluated")


def test_characters_are_shown_safely(exact, folder):
    cells = [line.split("\t")[0] for line in exact("next", "", "--model", folder, "--top", 150).splitlines()]
    assert {"␣", "\\u000A", "\\u0009", "\\u000D", "\\u0000", "\\u001B", "h"} <= set(cells)
    assert all(cell.isprintable() for cell in cells)


def test_a_text_from_a_file_or_in_bytes(exact, folder, tmp_path):
    (tmp_path / "prompt").write_bytes("a\n\n共".encode())
    (tmp_path / "cut").write_bytes("共".encode()[:2])
    common = ["--model", folder, "--top", 2]
    shown = exact("next", "a\n\n共", *common)
    assert exact("next", "--file", tmp_path / "prompt", *common) == shown
    assert exact("next", "--bytes", "a\n\n共".encode().hex(), *common) == shown
    assert exact("next", "--file", "-", *common, stdin="a\n\n共") == shown
    cut = exact("next", "--bytes", "E585", *common)
    assert exact("next", "--file", tmp_path / "cut", *common) == cut
    assert exact("next", os.fsdecode(b"\xe5\x85"), *common) == cut  # As the shell passes bytes that are not UTF-8.
    assert all(row.encode()[:2] == b"\xe5\x85" for row in cut.splitlines()[:2])


@pytest.mark.parametrize("with_end", [False, True])
def test_score_prints_the_library_s_numbers(exact, folder, model, text, with_end):
    expected = [*score_texts(model, LINES)]
    expected.append(total(expected))
    flags = ["--with-end"] * with_end
    records = [json.loads(line) for line in exact("score", text, "--model", folder, "--json").splitlines()]
    assert [record.get("line") for record in records] == [1, 2, 3, None]
    rows = [line.split("\t") for line in exact("score", text, "--model", folder, *flags).splitlines()][1:]
    for record, row, score in zip(records, rows, expected, strict=True):
        record = record.get("total", record)
        exact = score.exact_bits_with_end if with_end else score.exact_bits
        assert record["bits"] == pytest.approx(score.exact_bits, abs=1e-4)
        assert record["bits_with_end"] == pytest.approx(score.exact_bits_with_end, abs=1e-4)
        assert record["naive_bits_with_end"] == pytest.approx(score.naive_bits_with_end, abs=1e-4)
        assert [record["characters"], record["bytes"]] == [score.characters, score.bytes] == [int(c) for c in row[1:3]]
        assert float(row[3]) == pytest.approx(exact, abs=2e-4)
        if score.characters:
            assert record["bits_per_character"] == pytest.approx(score.exact_bits / score.characters, abs=1e-4)
            assert float(row[4]) == pytest.approx(exact / score.characters, abs=2e-4)
        else:
            assert record["bits_per_character"] is None and row[4] == "undefined"
    assert records[-1]["total"]["texts"] == 3 and rows[-1][0] == "total"


def test_a_text_longer_than_the_context(exact, tmp_path, text):
    save(tmp_path / "short", positions=6)
    record = json.loads(exact("score", text, "--model", tmp_path / "short", "--json").splitlines()[-1])
    assert record["total"]["windows"] > 3 and np.isfinite(record["total"]["bits"])
    message = exact("next", "hello world " * 9, "--model", tmp_path / "short", status=2)
    assert "positions for 6" in message


def test_sample_is_the_library_s(exact, folder, model):
    expected = sample(model, "hello w", 30, seed=3)
    assert exact("sample", "hello w", "--model", folder, "-n", 30, "--seed", 3) == expected.text + "\n"
    record = json.loads(exact("sample", "hello w", "--model", folder, "-n", 30, "--seed", 3, "--json"))
    assert (record["text"], record["ended"], record["prompt"]) == (expected.text, expected.ended, "hello w")
    assert record["log2"] * np.log(2) == pytest.approx(expected.log_probability, abs=1e-4)
    warped = sample(model, "hello", 9, SamplingOptions(0.7, 5, 0.9), seed=1).text
    options = ["--temperature", 0.7, "--top-k", 5, "--top-p", 0.9, "--seed", 1, "-n", 9]
    assert exact("sample", "hello", "--model", folder, *options) == warped + "\n"
    by_tokens = "".join(sample_by_tokens(model, "hello", 20, seed=2))
    assert exact("sample", "hello", "--model", folder, "-n", 20, "--seed", 2, "--by", "tokens") == by_tokens + "\n"
    assert exact("sample", "hello", "--model", folder, "-n", 0) == "\n"


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_completions_side_by_side(exact, folder, model, method):
    expected = complete(model, "hello w", CompletionOptions(length=6, method=method, beams=3))
    options = ["--model", folder, "-n", 6, "--method", method, *(["--beams", 3] if method == "beam" else [])]
    record = json.loads(exact("complete", "hello w", *options, "--json"))
    rows = {line.split("\t")[0]: line.split("\t") for line in exact("complete", "hello w", *options).splitlines()}
    assert list(rows) == ["way", "exact", "plain", "healing"]
    for way in expected:
        assert record[way.way]["text"] == way.text and len(record[way.way]["tokens"]) == len(way.tokens)
        assert record[way.way]["exact_log2"] * np.log(2) == pytest.approx(way.exact, abs=1e-3)
        assert float(rows[way.way][2]) == pytest.approx(way.exact / np.log(2), abs=1e-3)


@pytest.mark.slow
def test_check(exact, folder, tmp_path, text):
    report = json.loads(exact("check", folder, "--text", text, "--json"))
    assert report["handled"] and report["failed"] == 0 and report["tokens"] == 300
    built_in = json.loads(exact("check", folder / "tokenizer.json", "--json"))
    assert report["texts"] == built_in["texts"] + len(LINES)
    shown = exact("check", folder)
    assert ": handled exactly\n" in shown and "corollary H.3: " in shown
    tokenizer = byte_level()
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    refused = exact("check", tmp_path / "tokenizer.json", status=2)
    assert "tokenizer.json" in refused and "'A' and 'a'" in refused and "--ignore-normalizer" in refused
    shown = exact("check", tmp_path / "tokenizer.json", "--ignore-normalizer")
    assert ": handled exactly\n" in shown and "\nnote: " in shown and "Lowercase is left out" in shown


def test_a_model_whose_tokenizer_normalises(exact, folder, tmp_path):
    shutil.copytree(folder, tmp_path / "lower")
    edit_json(tmp_path / "lower" / "tokenizer.json", normalizer={"type": "Lowercase"})
    assert "--ignore-normalizer" in exact("next", "hello", "--model", tmp_path / "lower", status=2)
    given = ["next", "hello", "--top", 3, "--model"]
    assert exact(*given, tmp_path / "lower", "--ignore-normalizer") == exact(*given, folder)


def test_a_name_of_the_catalogue_is_a_folder_of_fetched_files(exact, folder, tmp_path, monkeypatch):
    (tmp_path / "data" / "raw" / "tokenizers").mkdir(parents=True)
    (tmp_path / "data" / "raw" / "tokenizers" / "mine").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    assert ": handled exactly\n" in exact("check", "tokenizers/mine")


def test_a_character_that_no_token_spells(exact, tmp_path):
    """Without byte fallback, a vocabulary of characters spells only these."""
    from tokenizers import Tokenizer, models

    letters = {"a": 0, "b": 1, "ab": 2}
    tokenizer = Tokenizer(models.BPE(letters, [("a", "b")]))
    tokenizer.add_special_tokens([AddedToken("<s>", special=True)])
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="<s>")
    wrapped.save_pretrained(tmp_path / "letters")
    save_model(tmp_path / "letters", 4)
    given = ["--model", tmp_path / "letters"]
    shown = exact("next", "a", *given)
    assert {line.split("\t")[0] for line in shown.splitlines()[:2]} == {"a", "b"}
    for action in ("next", "sample", "complete"):
        assert "x" in exact(action, "ax", *given, status=2)
    (tmp_path / "x.txt").write_text("ab\nax\n")
    assert "x.txt:2: " in ended_here("exact", "score", tmp_path / "x.txt", *given).said  # after the first row


@pytest.mark.slow
def test_no_advice_of_transformers_to_programmers(folder, tmp_path):
    """Its warning about padding without a mask, which is given where the texts begin with the token that pads."""
    shutil.copytree(folder, tmp_path / "model")
    edit_json(tmp_path / "model/config.json", pad_token_id=300)
    command = [*PROGRAM, "exact", "next", "hello w", "--model", str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
