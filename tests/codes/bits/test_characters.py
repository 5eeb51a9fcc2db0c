"""The code over known characters, and its speed as a bound on how badly it may degrade."""

import time

import numpy as np
import pytest
from bit_streams import stream
from hypothesis import given
from hypothesis import strategies as st
from unicode_text import text

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


@given(text, text, st.sampled_from(OPTIONS))
def test_every_text_comes_back(sample: str, known: str, options: BitOptions) -> None:
    code = CharacterBits(known, options)
    assert code.decode(code.encode(sample)) == (sample, [])


@pytest.mark.parametrize("known", ["", "x"])
def test_a_surrogate_has_no_bytes(known: str) -> None:
    with pytest.raises(InputError, match=r"U\+D800\) is a lone surrogate"):
        CharacterBits(known).encode("a\ud800")
    with pytest.raises(InputError, match="lone surrogate"):
        CharacterBits("\udfff").encode("a")


def test_emission_is_that_of_the_options() -> None:
    symbols = stream("P:39 N:05E N:1A0 B:61 N:05E N:1A0")
    assert CharacterBits("", BitOptions(emission="change")).decode(symbols).text == "你a你"
    assert [error.kind for error in CharacterBits().decode(symbols, "skip").errors] == ["outside"]


def test_speed() -> None:
    """More than 20 MB of Chinese text a second each way; about 200 on one core of a server."""
    points = np.random.default_rng(0).integers(0x4E00, 0x9FA6, 1_000_000, np.uint32)
    sample = points.tobytes().decode("utf-32-le")
    code = CharacterBits()
    symbols = code.encode(sample)
    code.decode(symbols)

    def seconds(call, *arguments) -> float:
        start = time.process_time()
        call(*arguments)
        return time.process_time() - start

    megabytes = len(sample.encode()) / 1e6
    assert megabytes / min(seconds(code.encode, sample) for _ in range(3)) > 20
    assert megabytes / min(seconds(code.decode, symbols) for _ in range(3)) > 20
