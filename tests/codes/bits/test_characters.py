"""The code over known characters, and its speed as a bound on how badly it may degrade."""

import pytest
from bit_streams import stream

from tokenlab.codes.bits.bit_code import CharacterBits
from tokenlab.codes.bits.options import BitOptions
from tokenlab.core.errors import InputError

OPTIONS = [BitOptions(prefixes=prefixes, emission=emission) for prefixes in (3, 4) for emission in ("run", "change")]


def test_ids_are_ranks_by_code_point() -> None:
    code = CharacterBits("好,A好")
    assert code.known == ",A好" and code.size == 517 + 3
    assert code.fallback("A你,好").tolist() == stream("T:1 B:E4 B:BD B:A0 T:0 T:2").tolist()
    assert code.encode("A你,好").tolist() == stream("T:1 P:39 N:05E N:1A0 T:0 T:2").tolist()


def test_characters_of_every_length_fall_back() -> None:
    texts = "\0\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"
    assert bytes(CharacterBits("x").fallback(texts).tolist()) == texts.encode()


@pytest.mark.parametrize("known", ["", "x"])
def test_a_surrogate_has_no_bytes(known: str) -> None:
    with pytest.raises(InputError, match=r"U\+D800\) is a lone surrogate"):
        CharacterBits(known).encode("a\ud800")
    with pytest.raises(InputError, match="lone surrogate"):
        CharacterBits("\udfff").encode("a")
