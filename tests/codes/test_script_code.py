"""The SCRIPT code: all of Unicode, its table against other libraries, violations."""

from pathlib import Path

import pytest
import script_blocks as unicode_blocks
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenlab.codes.script
from tokenlab.codes import ScriptCode
from tokenlab.codes.interface import atom, names_of, parse_atoms, print_atoms
from tokenlab.core.errors import InputError

CODE = ScriptCode()
NAMES = names_of(CODE)
TABLE = Path(tokenlab.codes.script.__file__).with_name("script_blocks.tsv")
SCALARS = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))


def printed(text):
    return print_atoms(CODE.encode(text), NAMES)


def test_by_hand():
    """Latin letters begin with A to Z, a to z; the ideograph 一 is the first after U+3400..4DBF and two others."""
    assert printed("Aa") == "Latin:LM 0 Latin:LM 26"
    assert printed("1 ~\n") == "Common:N 1 Common:Z 2 Common:PS:0 31 Common:Z 1"
    assert printed("ーА") == f"Inherited:LM {printed('ー').split()[1]} Cyrillic:LM 16"
    assert printed("\U0010ffff").startswith("Unknown:C:581 ")


def test_all_of_unicode_comes_back():
    atoms = CODE.encode(SCALARS)
    assert len(atoms) == 2 * len(SCALARS) == 2 * 1_112_064
    assert CODE.decode(atoms) == SCALARS
    pairs = set(zip(atoms[::2], atoms[1::2], strict=True))
    assert len(pairs) == len(SCALARS)


def test_the_table_is_that_of_two_libraries():
    """Where they know the table's version of Unicode."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    if not lines[0].startswith(f"# Unicode {unicode_blocks.unicode_version()}:"):
        pytest.skip(f"fontTools has Unicode {unicode_blocks.unicode_version()}")
    assert lines == list(unicode_blocks.lines())


@settings(max_examples=200)
@given(st.text(), st.text())
def test_any_text_comes_back_and_texts_concatenate(one, other):
    assert CODE.decode(CODE.encode(one)) == one
    assert CODE.encode(one) + CODE.encode(other) == CODE.encode(one + other)
    assert CODE.check(CODE.encode(one)) is None


@settings(max_examples=300)
@given(st.text([atom(0), atom(30), atom(1613), CODE.encode("a")[0], CODE.encode("1")[0], CODE.encode("字")[0], "x"]))
def test_any_atoms_are_decoded_or_flagged(atoms):
    violation = CODE.check(atoms)
    if violation is None:
        assert CODE.encode(CODE.decode(atoms)) == atoms
    else:
        good = atoms[: violation.position - violation.position % 2]
        assert CODE.encode(CODE.decode(good)) == good
        with pytest.raises(InputError, match="atom"):
            CODE.decode(atoms)


@pytest.mark.parametrize(
    ("line", "kind", "position"),
    [
        ("Latin:LM", "truncated", 1),
        ("Latin:LM Latin:LM", "digit", 1),
        ("3 Latin:LM", "digit", 0),
        ("Latin:LM 3 Common:Z 40", "unassigned", 3),
        ("Common:Z 40 Latin:LM", "unassigned", 1),
        ("Latin:LM 3 5 5", "digit", 2),
    ],
)
def test_violations(line, kind, position):
    violation = CODE.check(parse_atoms(line, {name: atom for atom, name in NAMES.items()}))
    assert (violation.kind, violation.position) == (kind, position)
    assert violation.message.startswith(("atom", "the last character"))


def test_foreign_atoms_and_surrogates():
    assert CODE.check("a").kind == "foreign"
    assert CODE.check(CODE.encode("a") + atom(2673)).position == 2
    with pytest.raises(InputError, match="lone surrogate"):
        CODE.encode("a\ud800")
