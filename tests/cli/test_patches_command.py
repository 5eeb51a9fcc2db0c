"""`tokenlab patches learn`, `cut` and `flops`."""

import json
import re
from functools import partial

import pytest
import small_bases
import unicode_text
from command import ended_here, tokenlab_here
from tiny_language_models import save_entropy_patcher

from tokenlab.metrics.flops import break_even_vocabulary
from tokenlab.networks.cost import forward_flops
from tokenlab.networks.options import PatchShape, StackShape
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
    save_entropy_patcher(folder)
    return folder


command = partial(tokenlab_here, "patches")


def unescaped(line):
    """The patches that a line of text shows, by another reader than the writer."""
    patches = [b""]
    for bar, number, escaped, other in re.findall(r"(\|)|\\x([0-9A-F]{2})|\\([|\\])|([^|\\])", line):
        if bar:
            patches.append(b"")
        else:
            patches[-1] += bytes.fromhex(number) if number else (escaped or other).encode()
    return patches


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
    found = [json.loads(line) for line in command("cut", text, *options, "--json").splitlines()]
    lines = TEXT.encode().split(b"\n")[:-1]
    assert len(shown) == len(found) == len(lines)
    for line, seen, one in zip(lines, shown, found, strict=True):
        assert one["bytes"] == len(line)
        ends = [*one["starts"][1:], len(line)][: len(one["starts"])]
        patches = [line[start:end] for start, end in zip(one["starts"], ends, strict=True)]
        assert b"".join(patches) == line
        assert unescaped(seen) == (patches or [b""])


def test_what_is_printed():
    assert command("cut", "-", "--patcher", "space", stdin="a | b\\c 中文") == "a |\\| b\\\\|c |中\\xE6|\\x96\\x87\n"
    assert command("cut", "-", "--patcher", "fixed", "--json", stdin="中文\n\n") == (
        '{"bytes": 6, "starts": [0, 4]}\n{"bytes": 0, "starts": []}\n'
    )


def test_a_summary_with_symbols(text, tokenizer, tmp_path):
    merges = tmp_path / "patches.json"
    printed = command("learn", "--tokenizer", tokenizer, "-S", 6, "-o", merges)
    learned = dict(line.rsplit(" ", 1) for line in printed.splitlines())
    options = ["--patcher", "bpe", "--tokenizer", tokenizer]
    printed = command("cut", text, *options, "--merges", merges, "--summary")
    found = dict(line.rsplit(" ", 1) for line in printed.splitlines())
    every = [json.loads(line) for line in command("cut", text, *options, "--json").splitlines()]
    patches = sum(len(one["starts"]) for one in every)
    size = sum(one["bytes"] for one in every)
    assert (int(found["texts"]), int(found["bytes"]), int(found["patches"])) == (len(every), size, patches)
    assert float(found["bytes per patch"]) == pytest.approx(size / patches, abs=1e-4)
    hierarchical = HierarchicalBPE.read(merges)
    assert int(learned["vocabulary"]) == hierarchical.size == 257 + int(learned["merges"])
    symbols = [
        len(hierarchical.encode(line[start:end]))
        for line, one in zip(TEXT.encode().split(b"\n"), every, strict=False)
        for start, end in zip(one["starts"], [*one["starts"][1:], len(line)], strict=False)
        if one["starts"]
    ]
    assert float(found["symbols per patch"]) == pytest.approx(sum(symbols) / patches, abs=1e-4)
    assert int(found["most symbols"]) == max(symbols) <= 6


def test_a_calibrated_threshold(text, model):
    options = ["--patcher", "entropy", "--model", model, "--cap", 12, "--mean-length", 4, "--summary"]
    found = dict(line.rsplit(" ", 1) for line in command("cut", text, *options).splitlines())
    assert float(found["bytes per patch"]) == pytest.approx(4, abs=0.1)
    assert int(found["largest patch"]) <= 12


def table(text):
    names, *rows = (line.split("\t") for line in text.splitlines())
    assert all(len(row) == len(names) for row in rows)
    return {row[0]: dict(zip(names, row, strict=True)) for row in rows}


def column(rows, name):
    return {model: row[name] for model, row in rows.items() if row[name]}


def test_table_2():
    rows = table(command("flops"))
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
    assert column(rows, "parameters")["space"] == "352.9"


def test_a_model_of_ones_own():
    given = ["--size", "mini", "--patcher", "bpe", "--bytes", 512, "--length", 3.2, "--patch-symbols", 3.5]
    given += ["--symbols", 300, "--longest", 6, "--local-feed-forward", 96, "--json"]
    found = json.loads(command("flops", *given))
    assert (found["size"], found["bytes"]) == ("mini", 512)
    (row,) = found["models"]
    assert (row["length"], row["symbols"], row["rows"], row["table_2"]) == (3.2, pytest.approx(3.5), 300, None)
    latent = StackShape(3, 128, 4, 344)
    shape = PatchShape(300, True, latent, StackShape(1, 64, 4, 96))
    packed, padded = (forward_flops(shape, 512, 3.5 / 3.2, 1 / 3.2, longest).total for longest in (None, 6))
    assert (row["packed"], row["padded"]) == (pytest.approx(packed), pytest.approx(padded))
    assert row["even_packed"] == round(break_even_vocabulary(latent, packed, 512 / 3.2))


@pytest.mark.parametrize("option", ["vocabulary=999", "symbols=300", "length=1.5", "patch-symbols=3", "longest=20",
                                    "local-feed-forward=96"])  # fmt: skip
def test_options_that_change_nothing_of_a_model_are_refused(option):
    usual, changed = (
        {row["model"]: row for row in json.loads(tokenlab_here("patches", "flops", "--json", *given))["models"]}
        for given in ((), (f"--{option}",))
    )
    for model, row in usual.items():
        ended = ended_here("patches", "flops", "--patcher", model, f"--{option}")
        assert ended.status == (2 if changed[model] == row else 0), model
        assert ended.status == 0 or f"has no meaning with --patcher {model}" in ended.said
