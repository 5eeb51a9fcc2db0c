"""Every command says in one line what is wrong with a file, by whatever argument or option it is named."""

import pytest
from command import ended_here, tokenlab_here
from tiny_tokenizers import EXPRESSIONS, byte_level, train

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


def test_unknown_commands_are_one_line():
    shell = ["--print-completion", "cmd"]
    for arguments, part in (
        (["juggle"], "juggle"),
        ([], "COMMAND"),
        (shell, "cmd"),
        (["segment", "-", "-o", "x"], "-o"),
    ):
        assert part in tokenlab_here(*arguments, status=2)
