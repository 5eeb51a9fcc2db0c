"""`tokenlab codes` as a user runs it: learn, encode, decode, check and show, and every kind of bad input."""

import gzip
import json
import subprocess
import sys
import unicodedata

import pytest
from command import ended_here, tokenlab_here
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenlab.codes.registry import read_code

TEXT = "In the beginning God created the heaven and the earth.\n\nAnd the earth  was without form,\tand void;\n"
COLLAPSED = "In the beginning God created the heaven and the earth.\n\nAnd the earth was without form, and void;\n"
CHARACTERS = len(set(COLLAPSED) - {"\n"})
CES = """<?xml version="1.0"?>
<cesDoc><text><body>
<seg id="b.GEN.1.1" type="verse"> In the
  beginning </seg>
<seg id="b.GEN.1.2" type="verse">And the earth</seg>
</body></text></cesDoc>
"""


def codes(*arguments, stdin="", status=0):
    """Standard output of `tokenlab codes ...`; of a failure the one line of standard error."""
    out, error, ended = ended_here("codes", *arguments, stdin=stdin)
    assert ended == status, error
    if status == 2:
        assert out == "" and error.count("\n") == 1, (out, error)
        return error
    assert error == ""
    return out


def test_processes_and_pipes(learned, text):
    program = f"{sys.executable} -c 'import sys; from tokenlab.cli import main; sys.exit(main())' codes"
    code = f"--code {learned}/latom.json"
    piped = f"{program} encode {code} {text} | {program} decode {code}"
    assert subprocess.run(["bash", "-c", piped], capture_output=True, check=True).stdout.decode() == COLLAPSED
    for stdin, command, status in (("a0 b0 b0", f"check {code}", 1), ("月", f"encode {code}", 2), ("", "", 2)):
        done = subprocess.run(["bash", "-c", f"{program} {command}"], input=stdin.encode(), capture_output=True)
        assert done.returncode == status and len(done.stdout + done.stderr) > 0


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def learned(text, tmp_path_factory):
    """A code of every kind that needs no tables, learned from TEXT."""
    folder = tmp_path_factory.mktemp("codes")
    for kind in ("latom", "random", "character", "byte"):
        codes("learn", text, "--code", kind, "-o", folder / f"{kind}.json")
    return folder


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Tables for the codes that need some, of a few characters."""
    folder = tmp_path_factory.mktemp("tables")
    (folder / "ids.txt").write_text("U+660E\t明\t⿰日月\nU+6708\t月\t月\n", encoding="utf-8")
    (folder / "strokes.tsv").write_text("明\tszhhpzhh\n月\tpzhh\n", encoding="utf-8")
    (folder / "decompose_map.json").write_text('{"41": "61 41"}', encoding="utf-8")
    return folder


@pytest.mark.parametrize("kind", ["latom", "random", "character", "byte"])
def test_round_trip_keeps_lines(learned, text, kind):
    code = learned / f"{kind}.json"
    encoded = codes("encode", "--code", code, text)
    assert encoded == codes("encode", "--code", code, stdin=TEXT.replace("\n", "\r\n"))
    assert codes("decode", "--code", code, stdin=encoded) == COLLAPSED
    atoms = len(encoded.split())
    assert codes("check", "--code", code, stdin=encoded) == f"3 lines, {atoms} atoms: no violation\n"
    assert json.loads(codes("check", "--code", code, "--json", stdin=encoded)) == {
        "lines": 3,
        "atoms": atoms,
        "violations": 0,
    }


def test_encode_prints_what_the_codebook_lists(learned):
    document = json.loads((learned / "latom.json").read_text(encoding="utf-8"))
    expected = [name for character in "the earth" for name in document["codes"][character]]
    assert codes("encode", "--code", learned / "latom.json", stdin="the earth").split() == expected
    assert all(name[0] in "ab" and name[1:].isdigit() for name in expected)
    assert codes("encode", "--code", learned / "character.json", stdin="the e") == "t h e \\u0020 e\n"
    assert codes("encode", "--code", learned / "byte.json", stdin="né  月\n") == "6e c3 a9 20 e6 9c 88\n"


def test_unknown_characters(learned, tmp_path):
    code = learned / "latom.json"
    known = codes("encode", "--code", code, stdin="the").strip()
    escaped = codes("encode", "--code", code, "--unknown", "byte", stdin="the月the\n")
    assert escaped == f"{known} <0xE6> <0x9C> <0x88> {known}\n"
    assert codes("decode", "--code", code, stdin=escaped) == "the月the\n"
    assert codes("encode", "--code", code, "--unknown", "skip", stdin="the月the\n") == f"{known} {known}\n"
    message = codes("encode", "--code", code, stdin="the\n\nth月e\n", status=2)
    sha256 = json.loads(code.read_text(encoding="utf-8"))["facts"]["corpus"]
    for part in ("standard input:3:", "'月' (U+6708)", "--unknown", "another text", sha256, str(code)):
        assert part in message
    assert "--unknown" in codes("encode", "--code", learned / "byte.json", "--unknown", "skip", stdin="a", status=2)


def test_check_prints_the_first_violation_of_each_bad_line(learned, tmp_path):
    code = tmp_path / "code.json"
    codes("learn", "-", "--code", "random", "-N", "2", "-K", "6", "-o", code, stdin=TEXT)
    good = codes("encode", "--code", code, stdin="the").split()
    free = min({f"a{a} b{b}" for a in range(6) for b in range(6)} - {" ".join(c) for c in stored(code).values()})
    lines = [
        good,
        [*good[:2], "b17", "a0"],
        [*good[:2], good[1], good[0]],
        good[:-1],
        [*good, *free.split()],
        [*good, "<0xE6>", "<0x9C>"],
        [],
    ]
    atoms = tmp_path / "atoms.txt"
    atoms.write_text("".join(" ".join(line) + "\n" for line in lines), encoding="utf-8")
    rows = [line.split("\t") for line in codes("check", "--code", code, atoms, status=1).splitlines()]
    kinds = [("2", "3", "foreign"), ("3", "3", "digit"), ("4", "6", "truncated"), ("5", "7", "unassigned")]
    assert [tuple(row[:3]) for row in rows] == [*kinds, ("6", "7", "bytes")]
    assert "'b17'" in rows[0][3] and all(row[3] for row in rows)
    records = codes("check", "--code", code, "--json", atoms, status=1).splitlines()
    assert [[str(value) for value in json.loads(record).values()] for record in records] == rows
    for number, row in enumerate(rows, 2):
        line = atoms.read_text(encoding="utf-8").splitlines()[number - 1]
        assert "standard input:1:" in codes("decode", "--code", code, stdin=line, status=2), row


def stored(code):
    return json.loads(code.read_text(encoding="utf-8"))["codes"]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_every_text_over_the_alphabet_comes_back(learned, data):
    kind = data.draw(st.sampled_from(["latom", "random", "character", "byte"]))
    known = st.sampled_from(COLLAPSED.replace("\n", ""))
    character = st.characters(exclude_categories=["Cs"], exclude_characters="\n") if kind == "byte" else known
    lines = data.draw(st.lists(st.text(character, max_size=9), min_size=1, max_size=4))
    text = "".join(line + "\n" for line in lines).removeprefix("\ufeff")
    code = learned / f"{kind}.json"
    printed = codes("encode", "--format", "text", "--code", code, stdin=text)
    assert not {unicodedata.category(c)[0] for c in printed.replace(" ", "").replace("\n", "")} & {"Z", "C"}
    assert codes("check", "--code", code, stdin=printed).endswith("no violation\n")
    assert codes("decode", "--code", code, stdin=printed) == "".join(
        " ".join(line.split()) + "\n" for line in text.split("\n")[:-1]
    )


def test_verses_of_xml_are_sequences(learned, tmp_path):
    plain, packed, unnamed = tmp_path / "bible.xml", tmp_path / "bible.xml.gz", tmp_path / "bible"
    plain.write_text(CES, encoding="utf-8")
    packed.write_bytes(gzip.compress(CES.encode()))
    unnamed.write_text(CES, encoding="utf-8")
    latom = learned / "latom.json"
    expected = codes("encode", "--code", latom, stdin="In the beginning\nAnd the earth\n")
    for source in (plain, packed, unnamed):
        assert codes("encode", "--code", latom, source) == expected
    for stdin in (CES, gzip.compress(CES.encode())):
        assert codes("encode", "--code", latom, stdin=stdin) == expected
    unnamed.unlink()
    packed.unlink()
    assert codes("encode", "--code", latom, "--format", "ces", tmp_path) == expected
    as_text = codes("encode", "--code", learned / "byte.json", "--format", "text", plain).splitlines()
    assert len(as_text) == CES.count("\n") and as_text[0].startswith("3c 3f 78 6d 6c 20")


def test_errors_of_a_stream_name_it(learned):
    code = ["--code", learned / "latom.json"]
    malformed = CES.replace("</seg>", "</sag>", 1)
    assert codes("encode", *code, stdin=malformed, status=2).startswith("tokenlab: standard input:4: malformed XML")
    assert codes("encode", *code, stdin=b"In\n\xff", status=2).startswith("tokenlab: standard input:2: not UTF-8")
    assert codes("encode", *code, stdin=gzip.compress(b"In")[:-9], status=2).startswith("tokenlab: standard input: ")


def test_components_are_encoded_and_shown_but_not_decoded(tables, tmp_path):
    source = tmp_path / "source.txt"
    source.write_text("明月 a\n", encoding="utf-8")
    for kind, expected in (
        ("radical", "日 月 月 \\u0020 a\n"),
        ("stroke", "㇑ ㇕ ㇐ ㇐ ㇒ ㇕ ㇐ ㇐ ㇒ ㇕ ㇐ ㇐ \\u0020 a\n"),
    ):
        code = tmp_path / f"{kind}.json"
        codes("learn", source, "--code", kind, "--tables", tables, "-o", code)
        assert codes("encode", "--code", code, source) == expected
        assert "no violation" in codes("check", "--code", code, stdin=expected)
        assert "irreversible" in codes("decode", "--code", code, stdin=expected, status=2)
        shown = codes("show", code).splitlines()
        assert "irreversible" in shown[0] and shown[1:3] == ["␣\t\\u0020", "a\ta"]
        assert "--html" in codes("show", code, "--html", tmp_path / "table.html", status=2)
    codes("learn", source, "--code", "myte", "--tables", tables, "-o", tmp_path / "myte.json")
    assert codes("encode", "--code", tmp_path / "myte.json", stdin="Aa") == "61 41 61\n"
    assert codes("decode", "--code", tmp_path / "myte.json", stdin="61 41 61") == "Aa\n"
    assert "no merge map" in codes("show", tmp_path / "myte.json")


@pytest.mark.parametrize("kind", ["radical", "stroke"])
def test_a_code_of_components_for_a_text_without_any(tmp_path, kind):
    (tmp_path / "ids.txt").write_text("U+597D\t好\t⿰女子\n", encoding="utf-8")
    (tmp_path / "strokes.tsv").write_text("好\tznshhs\n", encoding="utf-8")
    command = ["codes", "learn", "-", "--code", kind, "--tables", tmp_path, "-o", tmp_path / "code.json"]
    said = tokenlab_here(*command, stdin="In the beginning\n", status=2)
    assert f"the table of the code `{kind}`" in said and "takes none of its characters apart" in said
    assert not (tmp_path / "code.json").exists()
    tokenlab_here(*command, stdin="In the 好\n")


def test_show_prints_every_character_in_its_cell(learned, tmp_path):
    head, columns, *rows = codes("show", learned / "latom.json").splitlines()
    assert head.startswith("latom code, reversible, ")
    found = {}
    for row in rows:
        starts = [columns.index(name) for name in columns.split()]
        found |= {
            row[at]: [row.split()[0], name]
            for at, name in zip(starts, columns.split(), strict=True)
            if row[at : at + 1].strip()
        }
    found[" "] = found.pop("␣")
    assert found == stored(learned / "latom.json")
    assert codes("show", learned / "byte.json") == "byte code, reversible, 256 atoms: the bytes of UTF-8, 00 to ff\n"
    assert "\\u0020  ␣\n" in codes("show", learned / "character.json")
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
    facts = read_code(code).facts
    names = {"mutual information": "mutual_information", "mutual information before": "mutual_information_before"}
    assert all(float(lines[name]) == facts[key] > 0 for name, key in names.items())
    assert codes("decode", "--code", code, stdin=codes("encode", "--code", code, text)) == COLLAPSED


def test_bad_input_is_one_line_and_status_2(learned, tables, text, tmp_path):
    def file(name, content):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / name

    out = tmp_path / "out.json"
    radical = tmp_path / "radical.json"
    codes("learn", file("han", "明月\n"), "--code", "radical", "--tables", tables, "-o", radical)
    latom, byte = learned / "latom.json", learned / "byte.json"
    whole = latom.read_text(encoding="utf-8")
    learn = ["learn", text, "-o", out, "--code"]
    cases = [
        (["learn", file("empty", ""), "--code", "latom", "-o", out], ["empty: ", "empty"]),
        (["learn", file("blank", " \n\t\n"), "--code", "byte", "-o", out], ["blank: ", "empty"]),
        (["learn", file("bytes", b"good\nb\xff\n"), "--code", "latom", "-o", out], ["bytes:2: not UTF-8"]),
        (["learn", file("cut.xml", CES[:-40]), "--code", "latom", "-o", out], ["cut.xml:", "malformed XML"]),
        (
            ["learn", file("bad.xml", CES.replace("</seg>", "</sag>", 1)), "--code", "random", "-o", out],
            ["bad.xml:4: m"],
        ),
        (["learn", file("other.xml", "<a/>"), "--code", "random", "-o", out], ["other.xml: no verse"]),
        (["learn", tmp_path / "nowhere", "--code", "latom", "-o", out], ["nowhere"]),
        (["learn", tmp_path, "--code", "latom", "-o", out], ["folder"]),
        ([*learn, "latom", "-N", "2", "-K", "3"], [f"{CHARACTERS} characters", "3^2 = 9"]),
        ([*learn, "latom", "-K", "many"], ["-K"]),
        ([*learn, "random", "--end-state"], ["--end-state", "random"]),
        ([*learn, "byte", "-N", "2"], ["-N", "byte"]),
        ([*learn, "latom", "--tables", tables], ["--tables", "latom"]),
        ([*learn, "latom", "--seed", "-1"], ["--seed"]),
        ([*learn, "radical"], ["--tables"]),
        ([*learn, "myte", "--tables", tmp_path], ["decompose_map.json"]),
        ([*learn, "morse"], ["morse"]),
        (["learn", text, "--code", "byte", "-o", "-"], ["--output"]),
        (["encode", "--code", latom, file("second", "the\nthé\n")], ["second:2: ", "'é' (U+00E9)", "another text"]),
        (["encode", "--code", latom, file("verse.xml", CES.replace("earth", "é"))], ["verse b.GEN.1.2", "'é'"]),
        (["encode", "--code", latom, tmp_path / "bytes"], ["bytes:2: not UTF-8"]),
        (["encode", "--code", tmp_path / "nowhere", text], ["nowhere", "codes learn"]),
        (["encode", "--code", file("half.json", whole[: len(whole) // 2]), text], ["half.json", "not JSON"]),
        (["encode", "--code", file("foreign.json", '{"version": 1}'), text], ["foreign.json", "not a code"]),
        (["encode", "--code", file("twice.json", twice(latom)), text], ["twice.json", "damaged"]),
        (["encode", "--code", file("lost.json", whole.replace('"N"', '"n"')), text], ["lost.json", "damaged"]),
        (["encode", text], ["--code"]),
        (["decode", "--code", latom, file("foreign", "a0 b17\n")], ["foreign:1: ", "b17"]),
        (["decode", "--code", latom, file("short", "a0\n")], ["short:1: ", "1 of 2 atoms"]),
        (["decode", "--code", latom, file("letters", "the\n")], ["letters:1: ", "'the'"]),
        (["decode", "--code", byte, file("utf8", "61\ne6 9c\n")], ["utf8:2: ", "lacks bytes"]),
        (["decode", "--code", radical, text], ["irreversible"]),
        (["check", "--code", latom, tmp_path / "bytes"], ["bytes:2: not UTF-8"]),
        (["show", file("order.json", reordered(latom))], ["order.json", "order"]),
        (["show", latom, "--html", tmp_path / "new" / "c.html"], ["--html is ", "no folder"]),
        ([], ["ACTION"]),
    ]
    before = sorted(tmp_path.iterdir())
    for arguments, parts in cases:
        message = codes(*arguments, status=2)
        assert all(part in message for part in parts), (arguments, message)
    assert sorted(tmp_path.iterdir()) == before


def twice(path):
    """A codebook in which two characters have the same code."""
    document = json.loads(path.read_text(encoding="utf-8"))
    document["codes"]["I"] = document["codes"]["t"]
    return json.dumps(document)


def reordered(path):
    """A codebook whose facts order rows that it does not have."""
    document = json.loads(path.read_text(encoding="utf-8"))
    document["facts"]["table"]["rows"][0] = "a99"
    return json.dumps(document)


def test_a_failed_learning_leaves_the_old_code(learned, text, tmp_path):
    code = tmp_path / "code.json"
    code.write_bytes((learned / "latom.json").read_bytes())
    codes("learn", text, "--code", "latom", "-N", "2", "-K", "2", "-o", code, status=2)
    assert code.read_bytes() == (learned / "latom.json").read_bytes()
    assert read_code(code).kind == "latom"
