"""Dead symbols against those that no character is encoded with, over all of Unicode."""

import numpy as np
import pytest

from tokenlab.codes.bits.bit_code import CharacterBits
from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.bits.symbols import dead_symbols, live_payloads


@pytest.mark.parametrize("emission", ["run", "change"])
@pytest.mark.parametrize("prefixes", [3, 4])
def test_all_others_occur(prefixes: int, emission: str) -> None:
    options = BitOptions(prefixes=prefixes, emission=emission)
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    occurring = np.unique(CharacterBits("", options).encode(every + "你@"))
    found = dead_symbols(options)
    assert sorted({*range(517)} - {*occurring.tolist()}) == [*found]
    assert all(found.values())
    assert sum(256 <= symbol < 512 for symbol in found) == 128
    assert {*live_payloads().tolist()} == {symbol for symbol in occurring.tolist() if 256 <= symbol < 512}


def test_lead_bytes_before_tokens_of_parts_of_characters_live() -> None:
    dead = dead_symbols(whole=False).keys()
    assert not dead & {*range(0xE0, 0xF0)} and {*range(0xF5, 0x100)} <= dead
