"""`tokenlab generate`, as a user runs it."""

import json
from functools import partial

import pytest
from tiny_language_models import language_model

from tokenlab.language.generation import generate
from tokenlab.language.options import GenerationOptions
from tokenlab.language.stored import read_language_model, save_language_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("bpe")
    save_language_model(language_model("bpe", tmp_path_factory.mktemp("tokenizer")), path)
    return path


@pytest.fixture
def generated(tokenlab):
    return partial(tokenlab, "generate", "--threads=1")


def test_the_library_s_text(generated, folder):
    model = read_language_model(folder)
    (text,) = generate(model, [b"the thing"], GenerationOptions(40, 0.8, 30, seed=4))
    arguments = ("the thing", "--model", folder, "--length=40", "--temperature=0.8", "--top-k=30", "--seed=4")
    shown = text.decode(errors="backslashreplace")
    assert "\\x" in shown  # Random weights write what is no UTF-8.
    assert generated(*arguments) == shown + "\n"
    record = json.loads(generated(*arguments, "--json"))
    assert record == {"prompt": "the thing", "text": shown, "bytes": text.hex()}


def test_spellings(generated, folder):
    model = read_language_model(folder)
    (text,) = generate(model, [b""], GenerationOptions(30, spellings=True))
    record = json.loads(generated("", "--model", folder, "--length=30", "--spellings", "--json"))
    assert record["bytes"] == text.hex()


def test_a_prompt_from_a_file(generated, folder, tmp_path):
    (tmp_path / "prompt.txt").write_text("你好\n", encoding="utf-8")
    given = generated("--file", tmp_path / "prompt.txt", "--model", folder, "--length=20")
    assert given == generated("你好\n", "--model", folder, "--length=20")


def test_a_prompt_that_ends_inside_a_character(generated, folder):
    said = generated("E4BD", "--bytes", "--model", folder, status=2)
    assert said.startswith("tokenlab: PROMPT: ") and "not UTF-8" in said


def test_too_little_memory(generated, folder, monkeypatch):
    def refuse(*_):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("tokenlab.language.generation.generate", refuse)
    assert "--length is 256" in generated("the", "--model", folder, status=2)
