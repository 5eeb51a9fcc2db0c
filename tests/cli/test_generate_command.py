"""`tokenlab generate`, as a user runs it."""

import json
import subprocess
import sys
from functools import partial

import pytest
import torch
from command import tokenlab as in_a_process
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
    record = json.loads(generated(*arguments, "--format=json"))
    assert record == {"prompt": "the thing", "text": shown, "bytes": text.hex()}


def test_spellings(generated, folder):
    model = read_language_model(folder)
    (text,) = generate(model, [b""], GenerationOptions(30, spellings=True))
    record = json.loads(generated("", "--model", folder, "--length=30", "--spellings", "--format=json"))
    assert record["bytes"] == text.hex()


def test_a_prompt_from_a_file(generated, folder, tmp_path):
    (tmp_path / "prompt.txt").write_text("你好\n", encoding="utf-8")
    given = generated("--file", tmp_path / "prompt.txt", "--model", folder, "--length=20")
    assert given == generated("你好\n", "--model", folder, "--length=20")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--length=-1",), "--length is -1"),
        ((f"--length={10**30}",), "--length is 1000"),
        (("--top-k=0",), "--top-k is 0"),
        (("--device=tpu",), "--device is 'tpu'"),
        (("--device=cuda:7",), "PyTorch sees 0 GPUs"),
    ],
)
def test_options(generated, folder, arguments, said):
    if said.endswith("GPUs") and torch.cuda.is_available():
        pytest.skip("there are GPUs here")
    assert said in generated("the", "--model", folder, *arguments, status=2)


def test_spellings_of_a_model_without_tokens(generated, tmp_path):
    save_language_model(language_model("space", tmp_path), tmp_path)
    assert "--spellings is for models with bpe patches" in generated(
        "the", "--model", tmp_path, "--spellings", status=2
    )


def test_a_prompt_that_ends_inside_a_character(generated, folder):
    assert generated("E4BD", "--bytes", "--model", folder, status=2).startswith(
        "tokenlab: PROMPT: the text is not UTF-8"
    )


def test_too_little_memory(generated, folder, monkeypatch):
    def refuse(*_):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("tokenlab.language.generation.generate", refuse)
    assert "--length is 256, which needs too much memory" in generated("the", "--model", folder, status=2)


def test_no_model(generated, tmp_path):
    assert "no folder of a language model" in generated("the", "--model", tmp_path / "none", status=2)


def test_help_loads_neither_pytorch_nor_numpy():
    assert "--temperature X" in in_a_process("generate", "--help")
    code = "import sys, tokenlab.cli; sys.exit(bool({'numpy', 'torch', 'transformers'} & sys.modules.keys()))"
    subprocess.run([sys.executable, "-c", code], check=True)
