"""Codebooks, bytes, the corpus they are learned from, and their files."""

import hashlib
import json
import sys
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tokenlab.codes import codebook
from tokenlab.codes.baselines import ByteCode
from tokenlab.codes.codebook import Codebook, smallest_K
from tokenlab.codes.corpus import character_corpus
from tokenlab.codes.interface import LARGEST_ALPHABET, atom, atoms, names_of, parse_atoms, print_atoms, write_code
from tokenlab.codes.registry import read_code
from tokenlab.core.errors import InputError, ParameterError

LETTERS = " .abcdeé\u0301中𝒳"
SHAPES = [(1, 12), (1, 15), (2, 4), (3, 3), (4, 2), (5, 2)]
ANY_TEXT = st.text()
"""Of all of Unicode but the surrogates, which no UTF-8 holds."""


def book(N: int, K: int, unknown="error", seed: int = 0) -> Codebook:
    characters = "".join(sorted(LETTERS))[: K**N]
    assigned = np.random.default_rng(seed).permutation(K**N)[: len(characters)]
    return Codebook("random", N, K, characters, assigned, unknown)


BOOKS = [book(*shape) for shape in SHAPES]
ESCAPING = [book(*shape, "byte") for shape in SHAPES]
SKIPPING = [book(*shape, "skip") for shape in SHAPES]


def test_codes_by_hand():
    code = Codebook("random", 2, 3, "abc", np.array([0, 5, 7]))
    assert code.alphabet == ["a0", "a1", "a2", "b0", "b1", "b2"]
    assert code.digits.tolist() == [[0, 0], [1, 2], [2, 1]]
    names = names_of(code)
    assert print_atoms(code.encode("cab"), names) == "a2 b1 a0 b0 a1 b2"
    assert code.encode("b") == "\ue001\ue005"
    assert code.decode(parse_atoms("a1 b2  a0 b0", {name: found for found, name in names.items()})) == "ba"


@pytest.mark.parametrize("code", BOOKS, ids=str)
@given(st.data())
def test_every_text_over_the_alphabet_comes_back(code, data):
    text = data.draw(st.text(st.sampled_from(code.characters)))
    encoded = code.encode(text)
    assert len(encoded) == code.N * len(text)
    assert code.check(encoded) is None and code.decode(encoded) == text


@given(st.sampled_from(ESCAPING), ANY_TEXT, st.text(st.sampled_from(LETTERS)))
@example(ESCAPING[2], "\ue000\ue007\U000f0000\U0010fffd\x00", "a")
def test_every_text_comes_back_through_byte_escapes(code, text, known):
    text = known + text + known
    encoded = code.encode(text)
    assert code.check(encoded) is None and code.decode(encoded) == text
    names = names_of(code)
    assert parse_atoms(print_atoms(encoded, names), {name: found for found, name in names.items()}) == encoded


@given(ANY_TEXT)
def test_every_text_comes_back_through_bytes(text):
    code = ByteCode()
    encoded = code.encode(text)
    assert print_atoms(encoded, names_of(code)).replace(" ", "") == text.encode().hex()
    assert code.check(encoded) is None and code.decode(encoded) == text


@given(st.sampled_from(SKIPPING), ANY_TEXT)
def test_unknown_characters_are_skipped_or_refused(code, text):
    known = "".join(character for character in text if character in code.characters)
    assert code.decode(code.encode(text)) == known
    strict = book(code.N, code.K)
    if known == text:
        assert strict.encode(text) == code.encode(text)
    else:
        with pytest.raises(InputError, match=r"the code has no .*U\+"):
            strict.encode(text)


def test_a_lone_surrogate_has_no_bytes():
    for code in (ByteCode(), ESCAPING[2], BOOKS[2]):
        with pytest.raises(InputError, match="D800"):
            code.encode("a\ud800")
    assert SKIPPING[2].encode("a\ud800") == SKIPPING[2].encode("a")


@settings(max_examples=300)
@given(st.sampled_from([*BOOKS, *ESCAPING, ByteCode()]), st.data())
def test_a_corrupted_atom_is_flagged_or_decodes_to_another_text(code, data):
    characters = LETTERS + "z\u20ac" if code in ESCAPING or isinstance(code, ByteCode) else code.characters
    text = data.draw(st.text(st.sampled_from(characters), min_size=1))
    encoded = code.encode(text)
    assume(encoded)
    place = data.draw(st.integers(0, len(encoded) - 1))
    neighbour = st.sampled_from(atoms(len(code.alphabet) + 256) + "a\x00\U0010fffd")
    change = data.draw(st.sampled_from(["replace", "insert", "delete"]))
    piece = "" if change == "delete" else data.draw(neighbour)
    broken = encoded[:place] + piece + encoded[place + (change != "insert") :]
    assume(broken != encoded)
    violation = code.check(broken)
    if violation:
        assert 0 <= violation.position <= len(broken)
        with pytest.raises(InputError) as error:
            code.decode(broken)
        assert str(error.value) == violation.message and "\n" not in violation.message
    else:
        assert code.decode(broken) != text


@settings(max_examples=300)
@given(st.sampled_from([*BOOKS, *ESCAPING]), st.data())
def test_many_atoms_decode_as_few_do(code, data):
    text = st.text(st.sampled_from(code.characters)).map(code.encode)
    found = data.draw(text | st.text(st.sampled_from(atoms(len(code.alphabet) + 256))) | ANY_TEXT)
    results = []
    for many in (0, len(found) + 1):
        with patch.object(codebook, "_MANY", many):
            try:
                results.append(code.decode(found))
            except InputError as error:
                results.append(str(error))
    assert results[0] == results[1]


def test_every_kind_of_violation():
    code = Codebook("random", 2, 3, "abc", np.array([0, 5, 7]), "byte")
    names = {name: found for found, name in names_of(code).items()}

    def kind(line: str) -> tuple[str, int]:
        violation = code.check(parse_atoms(line, names))
        return violation.kind, violation.position

    assert kind("a0 b0 a1") == ("truncated", 3)
    assert kind("a0 b0 b1 a1") == ("digit", 2)
    assert kind("a0 b0 a0 a1") == ("digit", 3)
    assert kind("a0 b0 a0 b1") == ("unassigned", 2)
    assert kind("a0 <0x41> b0") == ("truncated", 1)
    assert kind("a0 b0 <0x41> <0xFF>") == ("bytes", 3)
    assert kind("<0xE4> <0xB8> a0 b0") == ("bytes", 0)
    assert kind("a0 b0 <0xC3> <0x9F> <0x61>") == ("bytes", 4)
    assert code.check(parse_atoms("<0xE4> <0xB8> <0xAD>", names)) is None
    assert code.check(atom(0) + "x").kind == "foreign" and code.check(atom(0) + "x").position == 1
    assert ByteCode().check(atom(0x41) + "x")[:2] == ("foreign", 1)
    assert ByteCode().check(atom(0x41) + atom(0xFF))[:2] == ("bytes", 1)
    assert ByteCode().check(atom(0xE4) + atom(0xB8))[:2] == ("truncated", 2)
    with pytest.raises(InputError, match="token 2: 'b9'"):
        parse_atoms("a0 b9", names)
    with pytest.raises(InputError, match="is no atom of this code"):
        print_atoms("x", names_of(code))


def test_atoms_are_distinct_private_use_characters():
    every = atoms(LARGEST_ALPHABET + 256)
    assert len(set(every)) == LARGEST_ALPHABET + 256
    assert all(0xE000 <= ord(found) < 0xF900 or 0xF0000 <= ord(found) < 0x10FFFE for found in every)
    assert not any(ord(found) & 0xFFFE == 0xFFFE for found in every), "no noncharacters"
    with pytest.raises(ParameterError):
        atom(LARGEST_ALPHABET + 256)


def test_smallest_K():
    table_2 = {60: [8, 4, 3, 3], 78: [9, 5, 3, 3], 983: [32, 10, 6, 4]}  # Of the paper.
    for characters, expected in table_2.items():
        assert [smallest_K(characters, N) for N in (2, 3, 4, 5)] == expected
    for N in range(1, 8):
        for characters in (1, 2, 63, 64, 65, 4095, 4096, 4097, 1_000_000):
            K = smallest_K(characters, N)
            assert (K - 1) ** N < characters <= K**N


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, 2, "abcde", [0, 1, 2, 3, 4]), r"5 characters .* K\^N = 2\^2 = 4"),
        ((0, 2, "a", [0]), "N is 0"),
        ((27, 2, "a", [0]), "N is 27"),
        ((2, 0, "", []), "K is 0"),
        ((2, 2, "ba", [0, 1]), "ascend"),
        ((2, 2, "ab", [1, 1]), "a different code"),
        ((2, 2, "ab", [0, 4]), r"below K\^N = 4"),
        ((2, 2, "ab", [0, 1], "drop"), "unknown is 'drop'; use one of"),
    ],
)
def test_no_such_codebook(arguments, message):
    N, K, characters, assigned, *unknown = arguments
    with pytest.raises(ParameterError, match=message):
        Codebook("random", N, K, characters, np.array(assigned, np.int64), *unknown)


def test_a_corpus_by_hand():
    corpus = character_corpus(["  b \t\u3000a\n", " \n", "", "𝒳b"])
    assert list(corpus.texts()) == ["b a", "𝒳b"]
    assert corpus.characters == " ab𝒳"
    assert corpus.symbols.tolist() == [2, 0, 1, 3, 2] and corpus.offsets.tolist() == [0, 3, 5]
    assert corpus.counts.tolist() == [1, 1, 2, 1]
    assert corpus.sha256 == hashlib.sha256("b a\n𝒳b\n".encode()).hexdigest()
    for nothing in ([], ["", " \n"]):
        with pytest.raises(InputError, match="the corpus is empty"):
            character_corpus(nothing)
    with pytest.raises(InputError, match="lone surrogate"):
        character_corpus(["a", "b\udc80"])


@given(st.lists(ANY_TEXT))
def test_a_corpus_keeps_its_text_but_whitespace(texts):
    expected = [collapsed for text in texts if (collapsed := " ".join(text.split()))]
    assume(expected)
    corpus = character_corpus(texts)
    assert list(corpus.texts()) == expected
    assert corpus.characters == "".join(sorted(set("".join(expected))))
    assert corpus.symbols.dtype == np.int32


def test_a_corpus_of_many_blocks():
    texts = [f"{number} is {number * number}" for number in range(10_000)]
    corpus = character_corpus(iter(texts))
    assert list(corpus.texts()) == texts
    assert character_corpus([chr(sys.maxunicode)]).characters == chr(sys.maxunicode)


def test_codebooks_are_equal_where_their_codes_are():
    one, other = (
        Codebook("random", 2, 2, "abc", np.array(codes), facts={"seed": codes[0]}) for codes in ([0, 1, 2], [1, 0, 2])
    )
    again = Codebook("random", 2, 2, "abc", np.array([0, 1, 2], np.int32))
    assert one == again and hash(one) == hash(again) and one != other


@given(st.sets(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30), st.integers(1, 4), st.integers(0, 9))
def test_a_codebook_comes_back_from_its_file(tmp_path_factory, characters, N, seed):
    characters = "".join(sorted(characters))
    K = smallest_K(len(characters), N)
    assigned = np.random.default_rng(seed).permutation(K**N)[: len(characters)]
    path = tmp_path_factory.mktemp("codes") / "code.json"
    for code in (
        Codebook("latom", N, K, characters, assigned, "skip", {"corpus": "1f", "log_likelihood": [-1.5, -0.1]}),
        Codebook("character", 1, len(characters), characters, np.arange(len(characters)), "byte"),
        ByteCode({"corpus": "1f"}),
    ):
        write_code(code, path)
        first = path.read_bytes()
        again = read_code(path)
        assert again == code and again.facts == code.facts
        if isinstance(code, Codebook):
            assert again.assigned.tolist() == code.assigned.tolist() and again.assigned.dtype == np.int64
        write_code(again, path)
        assert path.read_bytes() == first


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "bits"},
        {"N": 3},
        {"K": 1},
        {"unknown": "drop"},
        {"facts": None},
        {"codes": ["a"]},
        {"codes": {"a": ["a0", "b1"], "b": ["a0", "b1"]}},
        {"codes": {"a": ["a0"]}},
        {"codes": {"ab": ["a0", "b1"]}},
    ],
    ids=str,
)
def test_a_damaged_file(tmp_path, change):
    path = tmp_path / "code.json"
    write_code(Codebook("latom", 2, 2, "ab", np.array([1, 2])), path)
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(document | change), encoding="utf-8")
    with pytest.raises(InputError, match=r"code\.json: a damaged code"):
        read_code(path)
    for name in document.keys() - {"format", "reversible"}:
        path.write_text(json.dumps({key: value for key, value in document.items() if key != name}), encoding="utf-8")
        with pytest.raises(InputError, match=r"code\.json: a damaged code"):
            read_code(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '"tokenlab code 1"', '{"format": "tokenlab code 2"}', "\ud800"])
def test_no_code_at_all(tmp_path, text):
    path = tmp_path / "code.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError, match=r"code\.json: not "):
        read_code(path)
    with pytest.raises(InputError, match=r"nowhere\.json: no such file"):
        read_code(tmp_path / "nowhere.json")
