"""The code as one of the registered kinds: atoms, violations, documents; and over known characters."""

import pytest
from bit_streams import stream

from tokenlab.codes.bits.bit_code import BitCode, CharacterBits
from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.corpus import character_corpus
from tokenlab.codes.interface import atom, names_of, parse_atoms, print_atoms, write_code
from tokenlab.codes.registry import learn_code, read_code
from tokenlab.core.errors import InputError


def atoms(tokens: str) -> str:
    return "".join(map(atom, stream(tokens).tolist()))


def test_atoms_are_symbols() -> None:
    code = BitCode()
    assert code.encode("你好A") == atoms("P:39 N:05E N:1A0 N:0D2 N:1BD R B:41")
    names = names_of(code)
    assert len(code.alphabet) == 517 and len(names) == 517 + 256
    assert print_atoms(code.encode("你 "), names) == "P:39 B:5E N:1A0 B:20"
    assert parse_atoms("P:39 B:5E N:1A0", {name: found for found, name in names.items()}) == code.encode("你")


@pytest.mark.parametrize(
    ("given_atoms", "kind", "position"),
    [
        (atoms("B:61") + "x", "foreign", 1),
        (atoms("P:39") + "x", "digit", 0),
        (atoms("P:39 B:61"), "digit", 0),
        (atoms("B:61 N:1A0"), "digit", 1),
        (atoms("P:39 N:05E N:1A0 N:0D2"), "truncated", 4),
        (atoms("P:39 N:05E N:1A0 B:E3 B:81"), "truncated", 5),
        (atoms("B:80"), "bytes", 0),
        (atoms("P:38 N:040 N:080"), "bytes", 1),
    ],
)
def test_violations(given_atoms: str, kind: str, position: int) -> None:
    violation = BitCode().check(given_atoms)
    assert violation and (violation.kind, violation.position) == (kind, position)
    with pytest.raises(InputError) as raised:
        BitCode().decode(given_atoms)
    assert str(raised.value) == violation.message


def test_a_saved_code_is_the_same(tmp_path) -> None:
    code = learn_code("bits", character_corpus(["你好"]), mode="paper", prefixes=3, emission="change")
    assert isinstance(code, BitCode) and code.options == BitOptions("paper", 3, "change")
    write_code(code, tmp_path / "code.json")
    assert read_code(tmp_path / "code.json") == code and code.facts["corpus"]
    damaged = (tmp_path / "code.json").read_text().replace("paper", "fast")
    (tmp_path / "code.json").write_text(damaged)
    with pytest.raises(InputError, match="damaged code"):
        read_code(tmp_path / "code.json")


def test_ids_of_known_characters_are_ranks_by_code_point() -> None:
    code = CharacterBits("好,A好")
    assert code.known == ",A好" and code.size == 517 + 3
    assert code.fallback("A你,好").tolist() == stream("T:1 B:E4 B:BD B:A0 T:0 T:2").tolist()
    assert code.encode("A你,好").tolist() == stream("T:1 P:39 N:05E N:1A0 T:0 T:2").tolist()


@pytest.mark.parametrize("known", ["", "x"])
def test_a_surrogate_has_no_bytes(known: str) -> None:
    with pytest.raises(InputError, match=r"lone surrogate \(U\+D800\)"):
        CharacterBits(known).encode("a\ud800")
