"""MYTE against the tokenizer of its model (transformers' MyT5), and the round trip of every text."""

import json
import random
import re
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.myt5.tokenization_myt5 import ByteRewriter

from tokenlab.codes.interface import atom, names_of, parse_atoms, print_atoms, write_code
from tokenlab.codes.myte import MyteCode, read_myte
from tokenlab.codes.registry import read_code
from tokenlab.core.errors import InputError
from tokenlab.sources.fetch import fetch

VERSE = "In the Beginning God created the Heaven and the Earth. Élan, Ünïted, ĀΆЙ, 한국어 樓 בראשית"
RAW = [
    "樓",
    "\uf94c",
    "K",
    "\u212a",
    "Å",
    "\u212b",
    "Ǆ",
    "ǅ",
    "ǆ",
    "e\u0301",
    "e\u0323\u0302",
    "\u1112\u1161\u11ab",
    "\u0344",
]


def decomposed(character: str) -> str:
    """What the published map does: canonical decomposition, then capitals as small letters and the marker A."""
    parts = unicodedata.normalize("NFD", character)
    return "".join(part.lower() + "A" if len(part.lower()) == 1 and part.lower() != part else part for part in parts)


def hexadecimal(text: str | bytes) -> str:
    return (text.encode() if isinstance(text, str) else text).hex(" ")


def published_like() -> dict[str, str]:
    """A decompose map with the properties of the published one, characters that it makes equal included."""
    points = [*range(0x41, 0x5B), *range(0xC0, 0x500), *range(0x1E00, 0x2000), 0x212A, 0x212B, *range(0xF900, 0xFA6E)]
    points += range(0xAC00, 0xD7A4, 7)
    pairs = ((chr(point), decomposed(chr(point))) for point in points)
    return {hexadecimal(character): hexadecimal(parts) for character, parts in pairs if parts != character}


DECOMPOSE = published_like()
MORPHEMES = [
    "earth",
    "the ",
    "beginn",
    "ing",
    "in",
    "eA",
    " gA",
    "gAod",
    "\u1112\u1161\u11ab",
    "樓 ",
    "heaven",
    "he",
    "hea",
]
MERGE = {
    hexadecimal(morpheme): hexadecimal(bytes([0x42 + number % 3, 0x80 + number, 0x80, *[0x81] * (number % 3)]))
    for number, morpheme in enumerate(MORPHEMES)
}
MERGE["80 82 e1"] = "50 80"  # Across characters.


def rules(hexadecimal_rules: dict[str, str]) -> dict[bytes, bytes]:
    return {bytes.fromhex(key): bytes.fromhex(value) for key, value in hexadecimal_rules.items()}


CODES = {"decomposed": MyteCode(rules(DECOMPOSE), {}), "merged": MyteCode(rules(DECOMPOSE), rules(MERGE))}
PARTS = [*VERSE, *RAW, *MORPHEMES, *"\u0300\u0301\u0302\u0323\u0308\u1161\u11a8A", "\U0010ffff", "\x00"]
TEXTS = st.text() | st.lists(st.sampled_from(PARTS)).map("".join)


NAMES = names_of(CODES["merged"])


def spelt(code: MyteCode, text: str) -> str:
    return print_atoms(code.encode(text), NAMES)


def test_capitals_and_accents_by_hand() -> None:
    code = CODES["decomposed"]
    assert spelt(code, "Hello WorlD") == hexadecimal("hAello wAorldA")
    assert spelt(code, "éÈ") == hexadecimal("e\u0301eA\u0300")
    assert spelt(code, "e\u0301") == "65 ff cc 81"  # Two characters, so not é.
    assert spelt(code, "樓\uf94cK\u212a") == hexadecimal("樓\uf94ckA\u212a")
    assert spelt(CODES["merged"], "heaven Tea") == "43 8a 80 81 20 " + hexadecimal("tAea")


@pytest.mark.parametrize("name", CODES)
@given(text=TEXTS)
def test_every_text_comes_back(name: str, text: str) -> None:
    code = CODES[name]
    encoded = code.encode(text)
    assert code.decode(encoded) == text and code.check(encoded) is None
    assert set(encoded) <= {atom(byte) for byte in range(256)}


ORIGINAL = ByteRewriter(DECOMPOSE), ByteRewriter(MERGE)
NORMAL = TEXTS.map(lambda text: unicodedata.normalize("NFC", re.sub("[ǅǈǋǲϴ]", "", text)))


@given(text=NORMAL)
def test_text_in_normal_form_c_is_encoded_as_by_the_original(text: str) -> None:
    apart = ORIGINAL[0].rewrite_bytes([f"{byte:02x}" for byte in text.encode()])
    assert spelt(CODES["decomposed"], text).split() == apart
    assert spelt(CODES["merged"], text).split() == ORIGINAL[1].rewrite_bytes(apart)


KEYS = st.lists(st.binary(min_size=1, max_size=5).map(lambda key: bytes(0x61 + byte % 4 for byte in key)), unique=True)


@given(KEYS, st.text("abcd", max_size=60))
def test_the_longest_morpheme_is_taken_whatever_the_map(keys: list[bytes], text: str) -> None:
    merge = {key: bytes([0x42, 0x80 + number]) for number, key in enumerate(keys)}
    code = MyteCode({b"B": b"bA"}, merge)
    expected = ByteRewriter({hexadecimal(key): hexadecimal(value) for key, value in merge.items()})
    assert spelt(code, text).split() == expected.rewrite_bytes(hexadecimal(text).split())
    assert code.decode(code.encode(text)) == text


@pytest.mark.parametrize("name", CODES)
@given(text=TEXTS, choice=st.randoms(use_true_random=False))
def test_a_corrupted_stream_is_flagged_or_the_code_of_another_text(name: str, text: str, choice: random.Random) -> None:
    code = CODES[name]
    encoded = code.encode(text)
    place = choice.randrange(len(encoded) + 1)
    other = choice.choice([atom(choice.randrange(256)), "x", "", atom(0x41), atom(0x42), atom(0xFF)])
    corrupted = encoded[:place] + other + encoded[place + 1 :]
    violation = code.check(corrupted)
    if violation is None:
        assert code.encode(code.decode(corrupted)) == corrupted
    else:
        assert 0 <= violation.position <= len(corrupted)
        with pytest.raises(InputError, match=r"^[^\n]*\batom \d+[^\n]*$"):
            code.decode(corrupted)


@pytest.mark.parametrize(
    ("names", "kind", "position"),
    [
        ("61 42", "truncated", 2),  # The beginning of a code.
        ("61 c3", "truncated", 2),
        ("61 42 80 85", "unassigned", 1),  # A beginning that goes on otherwise.
        ("61 62 41 41", "unassigned", 3),  # A marker without a letter.
        ("61 ff 62", "unassigned", 1),  # A separator that separates nothing.
        ("61 a9 62", "bytes", 1),
        ("61 c3 62", "bytes", 1),
    ],
)
def test_violations_by_hand(names: str, kind: str, position: int) -> None:
    code = CODES["merged"]
    stream = parse_atoms(names, {name: character for character, name in NAMES.items()})
    violation = code.check(stream)
    assert violation is not None and (violation.kind, violation.position) == (kind, position)
    foreign = code.check(stream[:1] + "x")
    assert foreign is not None and (foreign.kind, foreign.position) == ("foreign", 1)


def test_a_lone_surrogate_is_an_error() -> None:
    with pytest.raises(InputError, match="lone surrogate"):
        CODES["merged"].encode("a\ud800")


@pytest.mark.parametrize("name", CODES)
def test_a_saved_code_is_whole(name: str, tmp_path: Path) -> None:
    write_code(CODES[name], tmp_path / "code.json")
    again = read_code(tmp_path / "code.json")
    assert again == CODES[name] and again.encode(VERSE) == CODES[name].encode(VERSE)
    document = json.loads((tmp_path / "code.json").read_text())
    assert document["decompose"] == DECOMPOSE and document["merge"] == (MERGE if name == "merged" else {})


def test_learning_uses_the_maps_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"decompose_map\.json: not there; .*:tables@myte"):
        read_myte(tmp_path)
    (tmp_path / "decompose_map.json").write_text(json.dumps(DECOMPOSE))
    code = read_myte(tmp_path)
    assert code == CODES["decomposed"] and code.facts["merge_map"] is None and code.facts["merge_rules"] == 0
    assert code.facts["decompose_rules"] + code.facts["decompose_rules_left_out"] == len(DECOMPOSE)
    (tmp_path / "merge_map.json").write_text(json.dumps(MERGE))
    code = read_myte(tmp_path)
    assert code == CODES["merged"] and code.facts["merge_rules"] == len(MERGE)


@pytest.mark.parametrize(
    ("decompose", "merge", "message"),
    [
        ("{", "{}", "decompose_map.json: not JSON"),
        ('{"4": "61 41"}', "{}", "decompose_map.json: '4': '61 41'"),
        ('{"42": "62 41", "42": "62"}', "{}", "decompose_map.json: '42' is there twice"),
        ('{"42": "c3"}', "{}", "decompose map: c3 is not UTF-8"),
        ('{"42 43": "62 41"}', "{}", "decompose map, 42 43: 'BC'"),
        ('{"42": "62 41"}', '{"61": "43 80"}', "merge map, 61: the code 43 80"),
        ('{"42": "62 41"}', '{"61": "42", "62": "42"}', "merge map, 61: has the code of 62, 42"),
        ('{"42": "62 41"}', '{"61": "42 80", "62": "42"}', "merge map, 61: the code 42 80"),
    ],
)
def test_a_bad_map_is_one_line_with_file_and_key(decompose: str, merge: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "decompose_map.json").write_text(decompose)
    (tmp_path / "merge_map.json").write_text(merge)
    with pytest.raises(InputError) as caught:
        read_myte(tmp_path)
    assert message in str(caught.value) and str(tmp_path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def published(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[MyteCode, ByteRewriter]:
    """The code of the published decompose map, and the original's rewriter."""
    folder = tmp_path_factory.mktemp("myte")
    fetch("myte", folder, mirror=mirror, progress=False)
    return read_myte(folder), ByteRewriter(str(folder / "decompose_map.json"))


def test_the_published_map_and_every_character(published: tuple[MyteCode, ByteRewriter]) -> None:
    code, original = published
    assert (code.facts["decompose_rules"], code.facts["decompose_rules_left_out"]) == (13_121, 1_125)
    characters = [chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000]
    text = "".join(characters)
    assert code.decode(code.encode(text)) == text
    otherwise = [
        character
        for character in map(chr, range(0x30000))
        if not "\ud800" <= character < "\ue000"
        and spelt(code, character).split() != original.rewrite_bytes(hexadecimal(character).split())
    ]
    assert len(otherwise) == 1_125
    assert [character for character in otherwise if unicodedata.is_normalized("NFC", character)] == list("ǅǈǋǲϴ")
