"""The numbers of splits against an encoder and a decoder of any split."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenlab.codes.bits.search import (
    Characters,
    Split,
    all_splits,
    candidates,
    measure,
    pareto_front,
    paying_prefixes,
    possible_prefixes,
)

TEXTS = [
    "春眠不覺曉，處處聞啼鳥。A夜來風雨聲 éOK 花落知多少😀",
    "",
    "日本語のテストです。ＡＢＣ mixed Text, ひらがなカタカナ",
    "한국어 문장입니다. ก็ไทย Ünïcode@@@",
    "\0\x0e\x0f plain ascii pqrstuvw 89:;\u07ff\u0800\ud7ff\ue000\uffff",
]
KNOWN = " 不の한A"
SPLITS = [
    *(Split(0, payloads) for payloads in [(24,), (12, 12), (6, 18), (7, 17), (4, 10, 10), (8, 8, 8), (10, 14)]),
    *(Split(4, payloads) for payloads in [(20,), (8, 12), (10, 10)]),
    *(Split(6, payloads) for payloads in [(9, 9), (8, 10), (10, 8), (18,), (6, 6, 6), (2, 16)]),
    *(Split(8, payloads) for payloads in [(8, 8), (7, 9), (16,), (9, 7)]),
    *(Split(11, payloads) for payloads in [(6, 7), (13,)]),
    *(Split(16, payloads) for payloads in [(8,), (4, 4), (7, 1)]),
    Split(1, (11, 12)),
    Split(15, (9,)),
]


def parts_of(character: str, split: Split) -> tuple[int, list[int]]:
    """The prefix and the payloads of a three-byte character, from its bits written out."""
    bits = "".join(f"{byte:08b}" for byte in character.encode())
    place, values = split.prefix, []
    for width in split.payloads:
        values.append(int(bits[place : place + width], 2))
        place += width
    return int(bits[: split.prefix] or "0", 2), values


def first_payloads(split: Split) -> set[int]:
    """What a decoder takes for the first payload: the values with the bits that all three-byte characters share."""
    start = split.prefix
    pattern = "1110xxxx10xxxxxx10xxxxxx"[start : start + split.payloads[0]]
    values = {0}
    for bit in pattern:
        values = {2 * value + new for value in values for new in ((0, 1) if bit == "x" else (int(bit),))}
    return values


def encode(text: str, split: Split, emission: str, prefixes, known: str) -> list[tuple[str, object]]:
    """Tokens, a token at a time: known characters T, values V (payloads, and bytes below 256), prefixes P, resets R."""
    first, tokens, in_force = first_payloads(split), [], None
    for character in text:
        if character in known:
            tokens.append(("T", character))
            in_force = in_force if emission == "change" else None
            continue
        data = character.encode()
        prefix, values = parts_of(character, split) if len(data) == 3 else (None, [])
        if prefix is not None and (not split.prefix or prefix in prefixes):
            tokens += [("P", prefix)] if split.prefix and prefix != in_force else []
            tokens += [("V", value) for value in values]
            in_force = prefix
            continue
        for byte in data:
            if byte in first and (in_force is not None or not split.prefix):
                tokens.append(("R", 0))
                in_force = None
            in_force = in_force if emission == "change" else None
            tokens.append(("V", byte))
    return tokens


def decode(tokens: list[tuple[str, object]], split: Split, emission: str) -> str:
    """The text of tokens, each judged without looking ahead."""
    first, data, in_force, place = first_payloads(split), b"", None, 0
    expects = not split.prefix
    while place < len(tokens):
        kind, value = tokens[place]
        if kind == "V" and value in first and (expects or in_force is not None):
            bits = f"{in_force or 0:0{split.prefix}b}" if split.prefix else ""
            for width, (_, payload) in zip(split.payloads, tokens[place : place + len(split.payloads)], strict=True):
                bits += f"{payload:0{width}b}"
            data += int(bits, 2).to_bytes(3, "big")
            place += len(split.payloads)
            continue
        if kind == "R":
            in_force = None
            place += 1
            if not split.prefix:
                data += bytes([tokens[place][1]])
                place += 1
            continue
        if kind == "P":
            in_force = value
        else:
            data += value.encode() if kind == "T" else bytes([value])
            in_force = in_force if emission == "change" else None
        place += 1
    return data.decode()


def check(texts: list[str], known: str, split: Split, emission: str, prefixes) -> None:
    """One candidate against the encoder, and the encoder against the decoder."""
    encoded = [encode(text, split, emission, prefixes, known) for text in texts]
    assert [decode(tokens, split, emission) for tokens in encoded] == texts
    counts = Counter(token for tokens in encoded for token in tokens)
    found = measure(Characters(texts, known), split, emission, prefixes)
    assert found.tokens == counts.total()
    assert sorted(found.counts.tolist()) == sorted(counts.values())
    assert found.resets == counts["R", 0]
    assert found.prefix_tokens == sum(count for (kind, _), count in counts.items() if kind == "P")


@pytest.mark.parametrize("emission", ["run", "change"])
@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_any_split_by_its_encoder(split: Split, emission: str) -> None:
    every = possible_prefixes(Characters(TEXTS), split)
    for prefixes in (every, every[1::2]):
        for known in ("", KNOWN):
            check(TEXTS, known, split, emission, prefixes)


@settings(max_examples=60)  # The table of all characters takes 20 ms.
@given(
    st.lists(st.text("你好のA@é😀1\x0eꀀ", max_size=8), max_size=3),
    st.sampled_from(SPLITS),
    st.sampled_from(["run", "change"]),
)
def test_any_text_by_its_encoder(texts: list[str], split: Split, emission: str) -> None:
    check(texts, "好1", split, emission, possible_prefixes(Characters([]), split))


@pytest.mark.parametrize("split", [Split(6, (9, 9)), Split(8, (8, 8)), Split(0, (7, 17)), Split(6, (8, 10))], ids=str)
@pytest.mark.parametrize("emission", ["run", "change"])
def test_added_tokens_are_those_of_all_characters(split: Split, emission: str) -> None:
    """Every character after a rewritten one shows every token: long payloads, prefixes, and the reset if it is used."""
    characters = Characters([], KNOWN)
    prefixes = possible_prefixes(characters, split)
    possible = [chr(p) for p in [*range(0xD800), *range(0xE000, 0x10000), *range(0x10000, 0x110000, 0x8040)]]
    possible = [character for character in possible if character not in KNOWN]
    three = [parts_of(character, split) for character in possible if len(character.encode()) == 3]
    long = {value for _, values in three for value in values if value > 255}
    resets = any(
        ("R", 0) in encode(f"你{character}", split, emission, prefixes, "")
        for character in possible
        if len(character.encode()) != 3
    )
    assert measure(characters, split, emission, prefixes).added == len(long) + len(prefixes) + resets


def test_paying_prefixes_save() -> None:
    """Kana in runs of their own take three tokens, as their bytes do, so their prefix does not pay."""
    characters, split = Characters(["春眠不覺曉處處聞啼鳥夜來風雨聲花落知多少" + "aア" * 3]), Split(6, (9, 9))
    paying = paying_prefixes(characters, split, "run")
    assert paying == (0x39, 0x3A)
    chosen, every = (
        measure(characters, split, "run", found) for found in (paying, possible_prefixes(characters, split))
    )
    assert chosen.tokens == every.tokens and chosen.added == every.added - 2
    assert 0x38 in paying_prefixes(Characters(["aアア"]), split, "run")


def test_policies_that_change_nothing_are_left_out() -> None:
    every = list(candidates(Characters(["你好"]), all_splits([0, 6], [1])))
    assert [(str(found.split), found.emission, found.prefixes) for found in every] == [
        ("0-24", "run", ()),
        ("6-18", "run", (0x38, 0x39, 0x3A, 0x3B)),
        ("6-18", "run", (0x39,)),
        ("6-18", "change", (0x38, 0x39, 0x3A, 0x3B)),
        ("6-18", "change", (0x39,)),
    ]


def test_the_front_is_what_nothing_beats() -> None:
    costs = np.array([[1.0, 5.0], [2.0, 2.0], [2.0, 3.0], [5.0, 1.0], [1.0, 5.0], [6.0, 1.0]])
    assert pareto_front(costs).tolist() == [True, True, False, True, True, False]
