"""Every character of Unicode beside characters of every script."""

from itertools import product

import numpy as np
import pytest
from unicode_text import SENTENCES

from tokenlab.codes.bits.bit_code import CharacterBits
from tokenlab.codes.bits.options import BitOptions

SCALARS = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
OPTIONS = [BitOptions("lossless", *options) for options in product((3, 4), ("run", "change"))]
OTHERS = [options for options in OPTIONS if options != BitOptions()]


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
