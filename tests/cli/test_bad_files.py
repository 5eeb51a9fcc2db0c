"""Every command says in one line what is wrong with a file, by whatever argument or option it is named."""

import argparse
import json

import pytest
from command import ended_here, tokenlab, tokenlab_here
from tiny_tokenizers import EXPRESSIONS, byte_level, train

from tokenlab.cli.commands import command_parser

COMMANDS = """
segment
segment --method words
segment good.txt --statistics-from
segment good.txt --model
segment good.txt --entropies
statistics
bits encode
bits decode
bits measure
bits encode good.txt --known
codes learn --code byte -o out.json
codes encode --code code.json
codes decode --code code.json
codes check --code code.json
codes encode good.txt --code
codes show
patches cut --patcher space
patches cut --patcher space --summary
patches learn -o out.json --tokenizer
measure --tokenizer t.json
export -o out
export good.txt -o out --check
export good.txt -o out --word-model
train -o out
train -o out --from-counts
train good.txt -o out --check
count -o out.parquet
score good.txt
score good.txt good.txt --words
exact check t.json --text
"""
BAD = {"nowhere": None, "bytes": b"ab\n\xff\xfe\n"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.txt").write_text("共同创造美好的新世纪\n", encoding="utf-8")
    for name, content in BAD.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
    tokenlab_here("codes", "learn", "good.txt", "--code", "random", "-o", "code.json")
    train(byte_level(EXPRESSIONS["gpt2"]), ["abc abc"], 5).save("t.json")
    return tmp_path


def test_bad_files_are_one_line(folder):
    before = sorted(folder.iterdir())
    for command in COMMANDS.strip().splitlines():
        for name in BAD:
            ended = ended_here(*command.split(), name)
            assert (ended.status, ended.out, ended.said.count("\n")) == (2, "", 1), (command, name, ended)
            assert name in ended.said, (command, ended)
    assert sorted(folder.iterdir()) == before


def flags(parser, command=()):
    """Each command with each of its options that take a value."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from flags(below, (*command, name))
        elif action.option_strings and action.nargs != 0:
            yield from ((*command, flag) for flag in action.option_strings if flag.startswith("--"))


def test_two_hyphens_as_the_value_of_an_option():
    found = [*flags(command_parser())]
    assert len(found) > 200
    for *command, flag in found:
        said = tokenlab_here(*command, f"{flag}=--", status=2)
        assert flag in said and ": expected a value, not --;" in said, said


def test_a_panic_of_the_library_is_one_line(folder):
    settings = json.loads((folder / "t.json").read_text())
    split = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    (folder / "t.json").write_text(json.dumps(settings | {"pre_tokenizer": split}))
    (folder / "good.txt").write_text("a" * 40 + "b\n")
    said = tokenlab("measure", "good.txt", "--tokenizer", "t.json", status=2)
    assert said.startswith("tokenlab: t.json: the tokenizer fails on this text: Onig: Regex search error:")


def test_unknown_commands_are_one_line():
    shell = ["--print-completion", "cmd"]
    for arguments, part in (
        (["juggle"], "juggle"),
        ([], "COMMAND"),
        (shell, "cmd"),
        (["segment", "-", "-o", "x"], "-o"),
    ):
        assert part in tokenlab_here(*arguments, status=2)
