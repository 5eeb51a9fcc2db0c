"""`tokenlab codes` as a user runs it: learn, encode, decode, check and show."""

import json
from functools import partial

import pytest
from command import ended_here, tokenlab_here

TEXT = "In the beginning God created the heaven and the earth.\n\nAnd the earth  was without form,\tand void;\n"
COLLAPSED = "In the beginning God created the heaven and the earth.\n\nAnd the earth was without form, and void;\n"
codes = partial(tokenlab_here, "codes")


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A code of every kind that needs no tables, learned from TEXT."""
    folder = tmp_path_factory.mktemp("codes")
    for kind in ("latom", "random", "character", "byte"):
        codes("learn", "-", "--code", kind, "-o", folder / f"{kind}.json", stdin=TEXT)
    return folder


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Tables for the codes that need some, of a few characters."""
    folder = tmp_path_factory.mktemp("tables")
    (folder / "ids.txt").write_text("U+660E\t明\t⿰日月\nU+6708\t月\t月\n", encoding="utf-8")
    (folder / "decompose_map.json").write_text('{"41": "61 41"}', encoding="utf-8")
    return folder


@pytest.mark.parametrize("kind", ["latom", "random", "character", "byte"])
def test_round_trip_keeps_lines(learned, text, kind):
    code = learned / f"{kind}.json"
    encoded = codes("encode", "--code", code, text)
    assert encoded == codes("encode", "--code", code, stdin=TEXT.replace("\n", "\r\n"))
    assert all(name.isprintable() for name in encoded.split())
    assert codes("decode", "--code", code, stdin=encoded) == COLLAPSED
    atoms = len(encoded.split())
    assert codes("check", "--code", code, stdin=encoded).startswith(f"3 lines, {atoms} atoms: no")
    counted = json.loads(codes("check", "--code", code, "--json", stdin=encoded))
    assert counted == {"lines": 3, "atoms": atoms, "violations": 0}


def test_encode_prints_what_the_codebook_lists(learned):
    document = json.loads((learned / "latom.json").read_text(encoding="utf-8"))
    expected = [name for character in "the earth" for name in document["codes"][character]]
    assert codes("encode", "--code", learned / "latom.json", stdin="the earth").split() == expected
    assert all(name[0] in "ab" and name[1:].isdigit() for name in expected)
    assert codes("encode", "--code", learned / "character.json", stdin="the e") == "t h e \\u0020 e\n"
    assert codes("encode", "--code", learned / "byte.json", stdin="né  月\n") == "6e c3 a9 20 e6 9c 88\n"


def test_unknown_characters(learned):
    code = learned / "latom.json"
    known = codes("encode", "--code", code, stdin="the").strip()
    escaped = codes("encode", "--code", code, "--unknown", "byte", stdin="the月the\n")
    assert escaped == f"{known} <0xE6> <0x9C> <0x88> {known}\n"
    assert codes("decode", "--code", code, stdin=escaped) == "the月the\n"
    assert codes("encode", "--code", code, "--unknown", "skip", stdin="the月the\n") == f"{known} {known}\n"
    message = codes("encode", "--code", code, stdin="the\n\nth月e\n", status=2)
    assert "standard input:3: " in message and "(U+6708)" in message and "--unknown" in message


def test_check_prints_the_first_violation_of_each_bad_line(learned):
    code = learned / "latom.json"
    good = codes("encode", "--code", code, stdin="the").split()
    lines = [good, [*good[:2], "b17", "a0"], [*good[:2], good[1], good[0]], good[:-1], []]
    atoms = "".join(" ".join(line) + "\n" for line in lines)
    ended = ended_here("codes", "check", "--code", code, stdin=atoms)
    rows = [line.split("\t") for line in ended.out.splitlines()]
    assert [row[:3] for row in rows] == [["2", "3", "foreign"], ["3", "3", "digit"], ["4", "6", "truncated"]]
    assert "'b17'" in rows[0][3] and (ended.status, ended.said) == (1, "")
    records = ended_here("codes", "check", "--code", code, "--json", stdin=atoms).out.splitlines()
    assert [[str(value) for value in json.loads(record).values()] for record in records] == rows
    for row in rows:
        bad = " ".join(lines[int(row[0]) - 1])
        assert "standard input:1:" in codes("decode", "--code", code, stdin=bad, status=2)


def test_components_are_encoded_and_shown_but_not_decoded(tables, tmp_path):
    source = tmp_path / "source.txt"
    source.write_text("明月 a\n", encoding="utf-8")
    code, encoded = tmp_path / "radical.json", "日 月 月 \\u0020 a\n"
    codes("learn", source, "--code", "radical", "--tables", tables, "-o", code)
    assert codes("encode", "--code", code, source) == encoded
    assert "no violation" in codes("check", "--code", code, stdin=encoded)
    shown = codes("show", code).splitlines()
    assert "irreversible" in shown[0] and shown[1:3] == ["␣\t\\u0020", "a\ta"]
    codes("learn", source, "--code", "myte", "--tables", tables, "-o", tmp_path / "myte.json")
    assert codes("encode", "--code", tmp_path / "myte.json", stdin="Aa") == "61 41 61\n"
    assert codes("decode", "--code", tmp_path / "myte.json", stdin="61 41 61") == "Aa\n"
    assert "no merge map" in codes("show", tmp_path / "myte.json")


def test_show_prints_a_code_or_writes_its_table(learned, tmp_path):
    head, columns, *rows = codes("show", learned / "latom.json").splitlines()
    assert head.startswith("latom code, reversible, ") and columns.split()[0] == "b0"
    document = json.loads((learned / "latom.json").read_text(encoding="utf-8"))
    assert {row.split()[0] for row in rows} == {first for first, _ in document["codes"].values()}
    assert codes("show", learned / "byte.json").startswith("byte code, reversible, 256 atoms")
    assert "\\u0020  ␣\n" in codes("show", learned / "character.json")
    codes("learn", "-", "--code", "bits", "-o", tmp_path / "bits.json", stdin="a")
    head, *atoms = codes("show", tmp_path / "bits.json").splitlines()
    assert head.endswith(f" {len(atoms)} atoms") and {"P:38", "N:1C0", "R"} < {*atoms}
    assert codes("show", learned / "latom.json", "--html", tmp_path / "table.html") == ""
    assert "<table>" in (tmp_path / "table.html").read_text(encoding="utf-8")


def test_learning_prints_its_figures_and_is_the_same_every_time(text, tmp_path):
    one, two, three = (tmp_path / f"{name}.json" for name in "123")
    options = ["--code", "latom", "-N", "2", "--seed", "3", "--iterations", "4", "--end-state", "--floor", "1e-200"]
    printed = codes("learn", text, *options, "-o", one)
    assert printed == codes("learn", "-", *options, "-o", two, stdin=TEXT)
    assert one.read_bytes() == two.read_bytes()
    codes("learn", text, *options, "--seed", "4", "-o", three)
    assert one.read_bytes() != three.read_bytes()
    lines = [line.rsplit(" ", 1) for line in printed.splitlines()]
    likelihoods = [float(value) for name, value in lines[:5]]
    assert [name for name, _ in lines[:5]] == [f"iteration {i} log-likelihood" for i in range(5)]
    assert likelihoods == sorted(likelihoods) and all(value == repr(float(value)) for _, value in lines)
    figures = {name: float(value) for name, value in lines[5:]}
    assert set(figures) == {"objective", "random objective", "gap"}
    assert figures["gap"] == figures["objective"] - figures["random objective"] >= 0


def test_refinement_and_restarts_print_what_they_gain(text, tmp_path):
    options = ["--code", "latom", "-N", "2", "--iterations", "1", "--restarts", "2", "--refine", "swaps", "-o"]
    code = tmp_path / "code.json"
    lines = dict(line.rsplit(" ", 1) for line in codes("learn", text, *options, code).splitlines())
    tokens = [int(lines[f"restart {number} tokens"]) for number in range(2)]
    assert tokens.index(min(tokens)) == int(lines["chosen restart"])
    assert int(lines["tokens after refinement"]) == min(tokens) <= int(lines["tokens before refinement"])
    assert codes("decode", "--code", code, stdin=codes("encode", "--code", code, text)) == COLLAPSED
