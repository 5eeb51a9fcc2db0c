"""Random invocations of every command, with good and bad values and odd files, end as documented, and never halfway.

An invocation of a seed is that of its number, whatever the others did, so that a failure can be run alone.
"""

import argparse
import gzip
import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiny_models
from command import ended_here, parsers, tokenlab_here
from tiny_tokenizers import EXPRESSIONS, byte_level, train

from tokenlab.cli.commands import command_parser

STATUSES = (0, 2)
WITH_STATUS_1 = {("codes", "check"), ("exact", "check")}
"""Commands whose docs say that a difference found is status 1."""
QUICK, ALL = 100, 2000

TEXT = "共同创造美好的新世纪\n二〇〇〇年 AbC-1 ก็ไม่\n\n  x\u3000y\u2028z \U0001f600\u0301\n"
NUMBERS = ("0", "1", "2", "3", "-1", "0.5", "1e400", "nan", "inf", "-0", "1_0", "999999999999999999999", "٣", "")
WORDS = ("auto", "none", "--", "-", ".", "a b", "é\u0301", "\udcff", "x\ny", "%s%n", "{}", "[", "(a+)+$", "\\", "🙂")
TEXTS = ("good.txt", "words.txt", "good.gz", "good.zst", "good.jsonl", "good.xml", "good.parquet", "a\nb", "-")
RIGHT = {
    "input": TEXTS,
    "gold": ("words.txt", "good.txt"),
    "predicted": ("words.txt", "good.txt"),
    "tokenizer": ("tokenizer.json", "folder", "ranks.tiktoken"),
    "reference": ("tokenizer.json",),
    "parallel": ("good.txt",),
    "code": ("code.json",),
    "known": ("good.txt",),
    "model": ("model", "model.words"),
    "word_model": ("model.words",),
    "statistics_from": ("statistics.parquet", "good.txt"),
    "from_counts": ("counts.parquet", "good.tsv"),
    "merges": ("patches.json",),
    "vocabulary": ("300", "270", "20"),
    "output": ("out", "out.json", "out.parquet", "out.tsv", "out.jsonl"),
    "save_model": ("out.words",),
    "cut": ("auto", "gpt2", "llama3", "words", "none", "model.words", "\\s+"),
    "format": ("auto", "text"),
    "device": ("cpu", "auto"),
    "text": ("a", "ab c", "good.txt"),
    "file": ("good.txt",),
    "special_tokens": ("unk=<unk>", "<s>"),
    "text_key": ("text",),
}
"""Destination of an argument -> values that are right for it, if not with all others."""


def odd_files(folder: Path) -> None:
    """Files of every format that commands read, whole and damaged."""
    text = TEXT.encode()
    tokenizer = train(byte_level(EXPRESSIONS["gpt2"]), ["abc abc"], 5)
    settings = json.loads(tokenizer.to_str())
    split = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    deep = "[" * 5000 + "]" * 5000
    files = {
        "good.txt": text,
        "words.txt": "共同 创造 美好 的 新 世纪\na b\n".encode(),
        "empty": b"",
        "blank.txt": b"\n \n\t\n",
        "nul.txt": b"a\0b\n\0",
        "not-utf8.txt": b"ab\n\xff\xfe\n",
        "surrogate.txt": b"\xed\xa0\x80\n",
        "aaa.txt": b"a" * 60 + b"b\n",
        "good.gz": gzip.compress(text),
        "cut.gz": gzip.compress(text)[:-5],
        "good.zst": pa.Codec("zstd").compress(text).to_pybytes(),
        "good.jsonl": b'{"text": "ab c"}\n{"text": ""}\n',
        "huge.jsonl": b'{"text": "a", "n": 1' + b"0" * 5000 + b"}\n",
        "nan.jsonl": b'{"text": NaN}\n',
        "deep.jsonl": f'{{"text": "a", "n": {deep}}}\n'.encode(),
        "lone.jsonl": b'{"text": "\\ud800"}\n',
        "entropies.jsonl": b'{"text": "ab", "entropy": [null, 1' + b"0" * 400 + b"]}\n",
        "good.xml": b'<cesDoc><seg id="b.GEN.1.1" type="verse">ab c</seg></cesDoc>',
        "entity.xml": b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        "cut.xml": b'<cesDoc><seg id="1" type="verse">',
        "good.tsv": b"ab\t3\nb c\t1\n",
        "bad.tsv": b"ab\t-3\n\t1\nx\t99999999999999999999\n",
        "tokenizer.json": tokenizer.to_str().encode(),
        "panics.json": json.dumps(settings | {"pre_tokenizer": split}).encode(),
        "collides.json": json.dumps(settings | {"model": settings["model"] | {"vocab": {"a": 0, "b": 0}}}).encode(),
        "deep.json": f'{{"model": {deep}, "added_tokens": []}}'.encode(),
        "number.json": b"1" + b"0" * 5000,
        "list.json": b"[[1, 2], null]",
        "ranks.tiktoken": b"YQ== 0\nYg== 1\n",
        "bad.tiktoken": b"YQ== 0\nYg== 99999999999\n",
        "pieces.model": b"\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\x02",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    tables = {
        "good": ["ab c", ""],
        "null": [None, "a"],
        "numbers": [1, 2],
        "lists": [["a"], []],
        "bytes": [b"\xff", b""],
    }
    for name, values in tables.items():
        pq.write_table(pa.table({"text": values}), folder / f"{name}.parquet")
    (folder / "cut.parquet").write_bytes((folder / "good.parquet").read_bytes()[:-9])
    (folder / "folder").mkdir()
    (folder / "folder/tokenizer.json").write_bytes(files["tokenizer.json"])
    (folder / "a\nb").write_bytes(text)
    (folder / "loop").symlink_to("loop")
    tokenlab_here("codes", "learn", "good.txt", "--code", "random", "-o", "code.json")
    tokenlab_here("statistics", "good.txt", "-o", "statistics.parquet")
    tokenlab_here("segment", "good.txt", "--method", "words", "--save-model", "model.words")
    tokenlab_here("count", "good.txt", "-o", "counts.parquet")
    tokenlab_here("patches", "learn", "--tokenizer", "tokenizer.json", "-S", "4", "-o", "patches.json")
    tiny_models.save_bytes(folder / "model")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder in which all invocations run."""
    folder = tmp_path_factory.mktemp("random")
    before = Path.cwd()
    os.chdir(folder)
    odd_files(folder)
    yield folder
    os.chdir(before)


def invocation(random: random.Random, names: list[str]) -> list[str]:
    """The arguments of a random command: what it requires, mostly, and one or two of the other options."""
    name, parser = random.choice([each for each in parsers(command_parser()) if each[1]._subparsers is None])
    found, actions = list(name), [action for action in parser._actions if action.dest != "help"]
    for action in actions:
        needed = action.required or not action.option_strings
        if random.random() < (0.98 if needed else 1.5 / len(actions)):
            values = [value(random, action, names) for _ in range(count_of(random, action.nargs))]
            flag = [random.choice(action.option_strings)] if action.option_strings else []
            joined = flag and len(values) == 1 and flag[0].startswith("--") and random.random() < 0.3
            found += [f"{flag[0]}={values[0]}"] if joined else [*flag, *values]
    if random.random() < 0.05:
        found.insert(random.randrange(len(found) + 1), random.choice([*WORDS, "--nonsense", "--help", "--json"]))
    return [part.replace("\0", "") for part in found]


def count_of(random: random.Random, nargs: object) -> int:
    if isinstance(nargs, int):
        return nargs
    return random.choice({None: [1], "?": [0, 1], "*": [0, 1, 2], "+": [1, 1, 2]}[nargs])


def value(random: random.Random, action: argparse.Action, names: list[str]) -> str:
    """A value that is right for an argument, mostly, or anything."""
    if random.random() < 0.8:
        if action.dest in RIGHT and (action.choices is None or action.dest == "format"):
            return random.choice(RIGHT[action.dest])
        if action.choices is not None:
            return str(random.choice(list(action.choices)))
        if action.type is not None:
            return random.choice(NUMBERS[:6])
    return random.choice([*names, *NUMBERS, *WORDS, "/dev/null", "/dev/full", "nowhere", "out", "out/x"])


def state(folder: Path) -> dict[str, bytes]:
    """Every path below a folder with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def run(number: int, seed: int, folder: Path, before: dict[str, bytes]) -> None:
    """Run an invocation, and check how it ended and what is there afterwards."""
    chosen = random.Random(f"{seed}:{number}")
    arguments = invocation(chosen, [*sorted(name for name in before if "/" not in name), "-"])
    stdin = chosen.choice([b"", TEXT.encode(), b"\xff", b"P:38 N:1C0\n"])
    try:
        ended = ended_here(*arguments, stdin=stdin)
    except BaseException as error:
        raise AssertionError(f"seed {seed}, {number}: {arguments} raised {error!r}") from error
    where = f"seed {seed}, {number}: {arguments}: {ended}"
    assert ended.status in (*STATUSES, *([1] if tuple(arguments[:2]) in WITH_STATUS_1 else [])), where
    assert "Traceback" not in ended.said, where
    if ended.status == 2:
        assert ended.said.count("\n") == 1 and ended.said.endswith("\n"), where
    after = state(folder)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert ended.status == 0 or not changed, (where, changed)
    asked = {Path(part.rpartition("=")[2]) for part in arguments}
    others = [name for name in changed if asked.isdisjoint((Path(name), *Path(name).parents))]
    assert not others, (where, others)
    for name in sorted(changed):
        path = folder / name
        if name in before:
            path.write_bytes(before[name])
        elif path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def test_some_random_invocations(files: Path) -> None:
    before = state(files)
    for number in range(QUICK):
        run(number, 0, files, before)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_random_invocations(files: Path, seed: int) -> None:
    before = state(files)
    for number in range(ALL // 4):
        run(number, seed, files, before)
