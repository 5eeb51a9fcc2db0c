"""Every character of Unicode beside characters of many scripts."""

from itertools import product

import numpy as np
import pytest
from unicode_text import SENTENCES

from tokenlab.codes.bits.bit_code import CharacterBits
from tokenlab.codes.bits.options import BitOptions

SCALARS = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
OPTIONS = [BitOptions("lossless", *options) for options in product((3, 4), ("run", "change"))]


@pytest.mark.slow
def test_every_character_between_neighbours():
    """In one text: a character of some script, any character, another of some script, and so on."""
    letters = "".join("".join(SENTENCES.values()).split())
    neighbours = (letters * (2 * len(SCALARS) // len(letters) + 1))[: 2 * len(SCALARS)]
    text = "".join(part for three in zip(neighbours[::2], SCALARS, neighbours[1::2], strict=True) for part in three)
    for known, options in zip(("", letters[::3], letters[::3], letters[::3]), OPTIONS, strict=True):
        code = CharacterBits(known, options)
        encoded = code.encode(text)
        assert code.decode(encoded).text == text
        resets = np.count_nonzero(encoded == 516)
        assert encoded.size <= code.fallback(text).size + resets
