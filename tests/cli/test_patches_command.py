"""`tokenlab patches learn` and `tokenlab patches cut`."""

import gzip
import json
import re

import pytest
import small_bases
import unicode_text
from command import tokenlab_here as tokenlab
from real_tokenizers import tokenizer_folder
from tokenizers import Tokenizer, models

from tokenlab.cli import main
from tokenlab.networks.options import SIZES, TokenShape
from tokenlab.networks.stored import build_network
from tokenlab.patches.entropy_patcher import EntropyPatcher
from tokenlab.patches.options import EntropyOptions
from tokenlab.patches.registry import save_patcher
from tokenlab.tokenizers.hierarchical import HierarchicalBPE

TEXT = "it is | a \\ tab, 中文。\n\n" + "\n".join(unicode_text.SENTENCES.values()) + "\n"


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path / "text.txt"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    small_bases.byte_level().save(str(path))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    network = build_network(TokenShape(256, SIZES["tiny"][0]), 0)
    save_patcher(EntropyPatcher(network, 32, EntropyOptions(threshold=5.45, cap=5)), folder)
    return folder


@pytest.fixture
def cut(capfdbinary):
    """The command in this process, since importing PyTorch takes seconds: what it prints, or its complaint."""

    def run(*arguments, status=0):
        assert main(["patches", *map(str, arguments)]) == status
        printed = capfdbinary.readouterr()
        return (printed.err if status else printed.out).decode()

    return run


def unescaped(line):
    """The patches that a line of text shows, by another reader than the writer."""
    patches = [b""]
    for bar, number, escaped, other in re.findall(r"(\|)|\\x([0-9A-F]{2})|\\([|\\])|([^|\\])", line):
        if bar:
            patches.append(b"")
        else:
            patches[-1] += bytes.fromhex(number) if number else (escaped or other).encode()
    return patches


def test_learn_gpt2(tmp_path, cut):
    output = tmp_path / "patches.json"
    printed = cut("learn", "--tokenizer", tokenizer_folder("gpt2"), "-S", 10, "-o", output)
    assert printed.splitlines()[:3] == ["tokens 50256", "merges 240", "vocabulary 497"]
    assert printed.splitlines()[3:] == ["mean patch 5.1524", "largest patch 10"]
    assert HierarchicalBPE.read(output).size == 497


@pytest.mark.parametrize(
    "options",
    [
        ["--patcher", "space"],
        ["--patcher", "space", "--cap", 6],
        ["--patcher", "character"],
        ["--patcher", "fixed", "--length", 5],
        ["--patcher", "bpe", "--tokenizer", "TOKENIZER"],
        ["--patcher", "entropy", "--model", "MODEL"],
    ],
)
def test_text_and_json_have_the_same_patches(options, text, tokenizer, model, cut):
    options = [{"TOKENIZER": tokenizer, "MODEL": model}.get(option, option) for option in options]
    shown = cut("cut", text, *options).split("\n")[:-1]
    found = [json.loads(line) for line in cut("cut", text, *options, "--format", "json").splitlines()]
    lines = TEXT.encode().split(b"\n")[:-1]
    assert len(shown) == len(found) == len(lines)
    for line, seen, one in zip(lines, shown, found, strict=True):
        assert one["bytes"] == len(line)
        ends = [*one["starts"][1:], len(line)][: len(one["starts"])]
        patches = [line[start:end] for start, end in zip(one["starts"], ends, strict=True)]
        assert b"".join(patches) == line
        assert unescaped(seen) == (patches or [b""])


def test_what_is_printed(tmp_path, cut):
    assert tokenlab("patches", "cut", "-", "--patcher", "space", stdin="a | b\\c 中文") == (
        "a |\\| b\\\\|c |中\\xE6|\\x96\\x87\n"
    )
    path = tmp_path / "text"
    path.write_text("a|\\\n")
    assert cut("cut", path, "--patcher", "character") == "a|\\||\\\\\n"
    path.write_text("中文\n\n")
    assert cut("cut", path, "--patcher", "fixed", "--format", "json") == (
        '{"bytes": 6, "starts": [0, 4]}\n{"bytes": 0, "starts": []}\n'
    )


def test_a_summary_with_symbols(text, tokenizer, tmp_path, cut):
    merges = tmp_path / "patches.json"
    cut("learn", "--tokenizer", tokenizer, "-S", 6, "-o", merges)
    options = ["--patcher", "bpe", "--tokenizer", tokenizer]
    printed = cut("cut", text, *options, "--merges", merges, "--format", "summary")
    found = dict(line.rsplit(" ", 1) for line in printed.splitlines())
    every = [json.loads(line) for line in cut("cut", text, *options, "--format", "json").splitlines()]
    patches = sum(len(one["starts"]) for one in every)
    size = sum(one["bytes"] for one in every)
    assert (int(found["texts"]), int(found["bytes"]), int(found["patches"])) == (len(every), size, patches)
    assert float(found["bytes per patch"]) == pytest.approx(size / patches, abs=1e-4)
    hierarchical = HierarchicalBPE.read(merges)
    symbols = [
        len(hierarchical.encode(line[start:end]))
        for line, one in zip(TEXT.encode().split(b"\n"), every, strict=False)
        for start, end in zip(one["starts"], [*one["starts"][1:], len(line)], strict=False)
        if one["starts"]
    ]
    assert float(found["symbols per patch"]) == pytest.approx(sum(symbols) / patches, abs=1e-4)
    assert int(found["most symbols"]) == max(symbols) <= 6


def test_documents(tmp_path, cut):
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as file:
        file.write(json.dumps({"text": "a b\nc d"}) + "\n")
    assert cut("cut", tmp_path / "a.jsonl.gz", "--patcher", "space") == "a |b\\x0A|c |d\n"


def test_a_calibrated_threshold(text, model, cut):
    options = ["--patcher", "entropy", "--model", model, "--cap", 12, "--mean-length", 4, "--format", "summary"]
    found = dict(line.rsplit(" ", 1) for line in cut("cut", text, *options).splitlines())
    assert float(found["bytes per patch"]) == pytest.approx(4, abs=0.1)
    assert int(found["largest patch"]) <= 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["learn", "--tokenizer", "TOKENIZER", "-S", 1, "-o", "OUT"], "-S is 1; it must be at least 2"),
        (["learn", "--tokenizer", "UNIGRAM", "-o", "OUT"], "its model is Unigram; hierarchical BPE needs"),
        (["learn", "--tokenizer", "NONE", "-o", "OUT"], "no such file"),
        (["learn", "--tokenizer", "TOKENIZER", "-o", "TOKENIZER"], "--output is"),
        (["learn", "--tokenizer", "FOLDER", "-o", "TOKENIZER"], "which is an input"),
        (["learn", "--tokenizer", "EMPTY", "-o", "OUT"], "empty.json: the vocabulary has no token"),
        (["learn", "--tokenizer", "TOKENIZER", "-S", 10**30, "-o", "OUT"], "-S is 1000"),
        (["cut", "TEXT", "--patcher", "space", "--cap", 10**30], "--cap is 1000"),
        (
            ["cut", "TEXT", "--patcher", "bpe", "--tokenizer", "TOKENIZER", "--merges", "NONE"],
            "--merges has no meaning without --summary",
        ),
        (["cut", "TEXT", "--patcher", "entropy", "--model", "TEXT"], "a file, and no folder of a language model"),
        (
            ["cut", "TEXT", "--patcher", "entropy", "--model", "MODEL", "--rise", 1],
            "--rise has no meaning with --rule threshold",
        ),
        (
            ["cut", "TEXT", "--patcher", "entropy", "--model", "MODEL", "--rule", "monotone", "--threshold", 1],
            "--threshold has no meaning with --rule monotone",
        ),
        (["cut", "TEXT", "--patcher", "bpe"], "--patcher bpe needs --tokenizer"),
        (["cut", "TEXT", "--patcher", "entropy"], "--patcher entropy needs --model"),
        (["cut", "TEXT", "--patcher", "entropy", "--model", "NONE"], "no folder of a language model"),
        (["cut", "TEXT", "--patcher", "learned", "--model", "MODEL"], "not a patcher of the kind learned"),
        (["cut", "TEXT", "--patcher", "space", "--length", 3], "--length has no meaning with --patcher space"),
        (["cut", "TEXT", "--patcher", "fixed", "--length", 0], "--length is 0"),
        (["cut", "TEXT", "--patcher", "space", "--cap", 0], "--cap is 0"),
        (
            ["cut", "TEXT", "--patcher", "entropy", "--model", "MODEL", "--threshold", 1, "--mean-length", 4],
            "--threshold is found with --mean-length",
        ),
        (
            ["cut", "TEXT", "--patcher", "entropy", "--model", "MODEL", "--mean-length", 4, "--cap", 3],
            "come nearest to 4",
        ),
    ],
)
def test_errors(arguments, message, text, tokenizer, model, tmp_path, cut):
    small_bases.unigram().save(str(tmp_path / "unigram.json"))
    Tokenizer(models.BPE()).save(str(tmp_path / "empty.json"))
    places = {
        "TEXT": text,
        "TOKENIZER": tokenizer,
        "FOLDER": tokenizer.parent,
        "EMPTY": tmp_path / "empty.json",
        "UNIGRAM": tmp_path / "unigram.json",
        "MODEL": model,
        "NONE": tmp_path / "none",
        "OUT": tmp_path / "out.json",
    }
    before = tokenizer.read_bytes()
    complaint = cut(*(places.get(part, part) for part in arguments), status=2)
    assert message in complaint
    assert complaint.count("\n") == 1
    assert tokenizer.read_bytes() == before
    assert not places["OUT"].exists()


def test_a_text_that_cannot_be_cut_is_named(tmp_path, tokenizer, cut):
    content = json.loads(tokenizer.read_text())
    content["normalizer"] = {"type": "Lowercase"}
    (tmp_path / "small.json").write_text(json.dumps(content))
    (tmp_path / "a.txt").write_text("abc\nAbc\n")
    options = ["--patcher", "bpe", "--tokenizer", tmp_path / "small.json"]
    assert "a.txt, text 2: " in cut("cut", tmp_path / "a.txt", *options, status=2)
