"""`tokenlab patches learn`, `cut` and `flops`."""

import json
import re

import pytest
import small_bases
import unicode_text
from command import tokenlab_here as tokenlab
from real_tokenizers import tokenizer_folder
from tokenizers import Tokenizer, models

from tokenlab.networks.options import SIZES, TokenShape
from tokenlab.networks.stored import build_network
from tokenlab.patches.entropy_patcher import EntropyPatcher
from tokenlab.patches.options import EntropyOptions
from tokenlab.patches.registry import save_patcher
from tokenlab.tokenizers.hierarchical import HierarchicalBPE

TEXT = "it is | a \\ tab, 中文。\n\n" + "\n".join(unicode_text.SENTENCES.values()) + "\n"


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


def command(*arguments, **how):
    return tokenlab("patches", *arguments, **how)


def unescaped(line):
    """The patches that a line of text shows, by another reader than the writer."""
    patches = [b""]
    for bar, number, escaped, other in re.findall(r"(\|)|\\x([0-9A-F]{2})|\\([|\\])|([^|\\])", line):
        if bar:
            patches.append(b"")
        else:
            patches[-1] += bytes.fromhex(number) if number else (escaped or other).encode()
    return patches


def test_learn_gpt2(tmp_path):
    output = tmp_path / "patches.json"
    printed = command("learn", "--tokenizer", tokenizer_folder("gpt2"), "-S", 10, "-o", output)
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
def test_text_and_json_have_the_same_patches(options, text, tokenizer, model):
    options = [{"TOKENIZER": tokenizer, "MODEL": model}.get(option, option) for option in options]
    shown = command("cut", text, *options).split("\n")[:-1]
    found = [json.loads(line) for line in command("cut", text, *options, "--format", "json").splitlines()]
    lines = TEXT.encode().split(b"\n")[:-1]
    assert len(shown) == len(found) == len(lines)
    for line, seen, one in zip(lines, shown, found, strict=True):
        assert one["bytes"] == len(line)
        ends = [*one["starts"][1:], len(line)][: len(one["starts"])]
        patches = [line[start:end] for start, end in zip(one["starts"], ends, strict=True)]
        assert b"".join(patches) == line
        assert unescaped(seen) == (patches or [b""])


def test_what_is_printed(tmp_path):
    assert tokenlab("patches", "cut", "-", "--patcher", "space", stdin="a | b\\c 中文") == (
        "a |\\| b\\\\|c |中\\xE6|\\x96\\x87\n"
    )
    path = tmp_path / "text"
    path.write_text("a|\\\n")
    assert command("cut", path, "--patcher", "character") == "a|\\||\\\\\n"
    path.write_text("中文\n\n")
    assert command("cut", path, "--patcher", "fixed", "--format", "json") == (
        '{"bytes": 6, "starts": [0, 4]}\n{"bytes": 0, "starts": []}\n'
    )


def test_a_summary_with_symbols(text, tokenizer, tmp_path):
    merges = tmp_path / "patches.json"
    command("learn", "--tokenizer", tokenizer, "-S", 6, "-o", merges)
    options = ["--patcher", "bpe", "--tokenizer", tokenizer]
    printed = command("cut", text, *options, "--merges", merges, "--format", "summary")
    found = dict(line.rsplit(" ", 1) for line in printed.splitlines())
    every = [json.loads(line) for line in command("cut", text, *options, "--format", "json").splitlines()]
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


def test_a_calibrated_threshold(text, model):
    options = ["--patcher", "entropy", "--model", model, "--cap", 12, "--mean-length", 4, "--format", "summary"]
    found = dict(line.rsplit(" ", 1) for line in command("cut", text, *options).splitlines())
    assert float(found["bytes per patch"]) == pytest.approx(4, abs=0.1)
    assert int(found["largest patch"]) <= 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["learn", "--tokenizer", "TOKENIZER", "-S", 1, "-o", "OUT"], "-S is 1; it must be at least 2"),
        (["learn", "--tokenizer", "UNIGRAM", "-o", "OUT"], "its model is Unigram; hierarchical BPE needs"),
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
        (["cut", "TEXT", "--patcher", "entropy", "--model", "NONE"], "no folder of a language model"),
        (["cut", "TEXT", "--patcher", "learned", "--model", "MODEL"], "not a patcher of the kind learned"),
        (["cut", "TEXT", "--patcher", "space", "--length", 3], "--length has no meaning with --patcher space"),
        (["cut", "TEXT", "--patcher", "fixed", "--length", 0], "--length is 0"),
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
def test_errors(arguments, message, text, tokenizer, model, tmp_path):
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
    complaint = command(*(places.get(part, part) for part in arguments), status=2)
    assert message in complaint
    assert complaint.count("\n") == 1
    assert tokenizer.read_bytes() == before
    assert not places["OUT"].exists()


def test_a_text_that_cannot_be_cut_is_named(tmp_path, tokenizer):
    content = json.loads(tokenizer.read_text())
    content["normalizer"] = {"type": "Lowercase"}
    (tmp_path / "small.json").write_text(json.dumps(content))
    (tmp_path / "a.txt").write_text("abc\nAbc\n")
    options = ["--patcher", "bpe", "--tokenizer", tmp_path / "small.json"]
    assert "a.txt, text 2: " in command("cut", tmp_path / "a.txt", *options, status=2)


def flops(*arguments, **how):
    return command("flops", *arguments, **how)


def table(text):
    names, *rows = (line.split("\t") for line in text.splitlines())
    assert all(len(row) == len(names) for row in rows)
    return {row[0]: dict(zip(names, row, strict=True)) for row in rows}


def column(rows, name):
    return {model: row[name] for model, row in rows.items() if row[name]}


def test_table_2():
    rows = table(flops())
    assert list(rows) == [
        *("tokens", "bytes", "bpe", "space", "entropy", "entropy-unbounded", "character", "fixed", "learned")
    ]
    assert column(rows, "table_2") == {
        **{"tokens": "562", "bytes": "4214", "bpe": "554"},
        **{"space": "534", "entropy": "668", "entropy-unbounded": "509"},
    }
    assert column(rows, "fitted") == {
        **{"tokens": "562.0", "bytes": "4214.4", "bpe": "555.1"},
        **{"space": "532.6", "entropy": "668.2", "entropy-unbounded": "509.5"},
    }
    assert rows["bytes"]["formula"] == "3588.4"
    assert [rows[name]["formula"] for name in ("bpe", "space", "entropy", "entropy-unbounded")] == [
        *("568.0", "545.5", "681.1", "522.4")
    ]


def test_the_true_cost():
    """596 and 860 GFLOP and the two projections between the stacks, 3.1 GFLOP."""
    rows = table(flops("--patcher", "bpe", "--patcher", "tokens"))
    assert list(rows) == ["bpe", "tokens"]
    assert rows["tokens"]["packed"] == "564.2"
    assert (rows["bpe"]["packed"], rows["bpe"]["padded"]) == ("599.1", "862.8")
    assert (rows["bpe"]["even_packed"], rows["bpe"]["even_padded"]) == ("61686", "148142")


def test_parameters():
    assert column(table(flops()), "parameters")["space"] == "352.9"
    assert column(table(flops("--size", "medium")), "printed_parameters") == {
        **{"tokens": "359.0", "bpe": "323.0", "space": "575.0", "entropy": "575.0"}
    }
    assert not column(table(flops("--size", "mini")), "printed_parameters")


def test_a_model_of_ones_own():
    given = ["--size", "mini", "--patcher", "bpe", "--bytes", 512, "--length", 3.2, "--patch-symbols", 3.5]
    given += ["--symbols", 300, "--longest", 6, "--local-feed-forward", 96, "--format", "json"]
    found = json.loads(flops(*given))
    assert (found["size"], found["bytes"]) == ("mini", 512)
    (row,) = found["models"]
    assert (row["length"], row["symbols"], row["rows"], row["table_2"]) == (3.2, pytest.approx(3.5), 300, None)
    patches, latent, local = 512 / 3.2, (3, 128, 4, 344), (1, 64, 4, 96)

    def stack(layers, width, heads, inner, length):
        attention = (4 * width + 3 * heads) * length * (length + 1) / 2
        return layers * (8 * length * width**2 + 6 * length * width * inner + attention)

    def model(length):
        local_part = 2 * stack(*local, length) + 4 * 64 * 128 + length * 2 * 64 * 300
        return stack(*latent, patches) + patches * local_part

    assert row["packed"] == pytest.approx(model(3.5))
    assert row["padded"] == pytest.approx(model(6))
    assert row["even_packed"] == round((row["packed"] - stack(*latent, patches)) / (2 * patches * 128))


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--size", "huge"], "--size is 'huge'; use one of tiny, mini, base, small, medium"),
        (["--bytes", 0], "--bytes is 0; it must be at least 1"),
        (["--length", "nan"], "--length is nan"),
        (["--length", "inf"], "--length is inf; it must be at most"),
        (["--patcher", "bpe", "-S", 0], "-S is 0; it must be at least 1"),
        (["--patcher", "bpe", "-S", 3], "-S is 3; it must be at least the mean length of a patch, 4.13"),
        (["--local-feed-forward", 0], "--local-feed-forward is 0; it must be at least 1"),
        (["--vocabulary", 1], "--vocabulary is 1; it must be at least 2"),
        (["--symbols", 100], "--symbols is 100; it must be at least 257"),
    ],
)
def test_wrong_options_of_costs(arguments, said):
    assert said in flops(*arguments, status=2)
