"""Every character of Unicode beside characters of every script, and a million random strings."""

from itertools import product

import numpy as np
import pytest
from plain_bits import encode, fallback, symbol
from unicode_text import SENTENCES

from tokenlab.codes.bits.bit_code import CharacterBits
from tokenlab.codes.bits.options import BitOptions

SCALARS = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
OPTIONS = [BitOptions("lossless", *options) for options in product((3, 4), ("run", "change"))]
OTHERS = [options for options in OPTIONS if options != BitOptions()]
PLACES = [0x3E, 0x40, 0x5F, 0x60, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0x3FFF, 0x4000, 0x4E00, 0x7FFF, 0x8000]
PLACES += [0xBFFF, 0xC000, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF]
"""Code points at which the number of bytes, the prefix or the ambiguity of the lead byte changes."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.nightly if place else pytest.mark.slow)
        for place, name in enumerate(SENTENCES)
    ],
)
def test_every_character_between_neighbours(name):
    """In one text: a character of the script, any character, another of the script, and so on."""
    letters = "".join(SENTENCES[name].split())
    neighbours = (letters * (2 * len(SCALARS) // len(letters) + 1))[: 2 * len(SCALARS)]
    text = "".join(part for three in zip(neighbours[::2], SCALARS, neighbours[1::2], strict=True) for part in three)
    turn = list(SENTENCES).index(name) % 3
    for known, options in (("", BitOptions()), (letters[::3], OTHERS[turn])):
        code = CharacterBits(known, options)
        encoded = code.encode(text)
        assert code.decode(encoded).text == text
        resets = np.count_nonzero(encoded == 516)
        assert encoded.size <= code.fallback(text).size + resets


@pytest.mark.nightly
def test_a_million_random_strings():
    random = np.random.default_rng(12)
    lengths = random.integers(0, 13, 1_000_000)
    points = random.choice(PLACES, lengths.sum()).astype(np.uint32)
    anywhere = random.random(points.size) < 0.4
    points[anywhere] = np.array(list(map(ord, SCALARS)), np.uint32)[random.integers(0, len(SCALARS), anywhere.sum())]
    text, end = points.tobytes().decode("utf-32-le"), 0
    known = ("", "@A\u4e00\U0001f600", text[:100])
    codes = [CharacterBits(characters, options) for characters, options in product(known, OPTIONS)]
    for number, length in enumerate(lengths.tolist()):
        string, end = text[end : end + length], end + length
        code = codes[number % len(codes)]
        encoded = code.encode(string)
        assert code.decode(encoded).text == string
        if number % 500 == 0:
            tokens = fallback(string, code.known)
            plain = encode(tokens, prefixes=code.options.prefixes, emission=code.options.emission)
            assert encoded.tolist() == [symbol(token, code.known) for token in plain]
