"""`tokenlab patches flops`, as a user runs it."""

import json

import pytest

from tokenlab.cli import main


@pytest.fixture
def flops(capsys):
    """Standard output of `tokenlab patches flops ...`; of a failure the one line of standard error."""

    def run(*arguments, status=0):
        try:
            ended = main(["patches", "flops", *map(str, arguments)])
        except SystemExit as exit:
            ended = exit.code
        out, error = capsys.readouterr()
        assert ended == status, error
        if status:
            assert out == "" and error.count("\n") == 1
            return error
        return out

    return run


def table(text):
    names, *rows = (line.split("\t") for line in text.splitlines())
    assert all(len(row) == len(names) for row in rows)
    return {row[0]: dict(zip(names, row, strict=True)) for row in rows}


def column(rows, name):
    return {model: row[name] for model, row in rows.items() if row[name]}


def test_table_2(flops):
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


def test_the_true_cost(flops):
    """596 and 860 GFLOP and the two projections between the stacks, 3.1 GFLOP."""
    rows = table(flops("--patcher", "bpe", "--patcher", "tokens"))
    assert list(rows) == ["bpe", "tokens"]
    assert rows["tokens"]["packed"] == "564.2"
    assert (rows["bpe"]["packed"], rows["bpe"]["padded"]) == ("599.1", "862.8")
    assert (rows["bpe"]["even_packed"], rows["bpe"]["even_padded"]) == ("61686", "148142")


def test_parameters(flops):
    assert column(table(flops()), "parameters")["space"] == "352.9"
    assert column(table(flops("--size", "medium")), "printed_parameters") == {
        **{"tokens": "359.0", "bpe": "323.0", "space": "575.0", "entropy": "575.0"}
    }
    assert not column(table(flops("--size", "mini")), "printed_parameters")


def test_a_model_of_ones_own(flops):
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


def test_the_length_changes_all_rows_but_bytes(flops):
    rows = table(flops("--length", 3))
    assert set(column(rows, "length").values()) == {"1", "3"}
    assert rows["bytes"]["length"] == "1" and rows["bytes"]["table_2"] == "4214"
    assert column(rows, "table_2").keys() == {"bytes"}


def test_the_vocabulary_of_tokens(flops):
    rows = table(flops("--vocabulary", 148_142, "--patcher", "tokens", "--patcher", "bpe"))
    assert rows["tokens"]["rows"] == "148142"
    assert rows["tokens"]["packed"] == rows["bpe"]["padded"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--size", "huge"], "--size is 'huge'; use one of tiny, mini, base, small, medium"),
        (["--patcher", "words"], "--patcher"),
        (["--bytes", 0], "--bytes is 0; it must be at least 1"),
        (["--length", 0.5], "--length is 0.5; it must be at least 1"),
        (["--length", "nan"], "--length is nan"),
        (["--length", "inf"], "--length is inf; it must be at most"),
        (["--patcher", "bpe", "-S", 0], "-S is 0; it must be at least 1"),
        (["--patch-symbols", 0], "--patch-symbols is 0.0; it must be at least 1"),
        (["--patcher", "bpe", "-S", 3], "-S is 3; it must be at least the mean length of a patch, 4.13"),
        (["--local-feed-forward", 0], "--local-feed-forward is 0; it must be at least 1"),
        (["--vocabulary", 1], "--vocabulary is 1; it must be at least 2"),
        (["--symbols", 100], "--symbols is 100; it must be at least 257"),
    ],
)
def test_wrong_options(flops, arguments, said):
    assert said in flops(*arguments, status=2)
