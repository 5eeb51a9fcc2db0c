"""Bit-level codes against their plain twin: every text, every set of known characters, every stream of symbols."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_bits import AmbiguousError, decode, encode, fallback, print_token, spell, symbol

from tokenlab.codes.bits.bit_code import CharacterBits
from tokenlab.codes.bits.decoding import decode as decode_symbols
from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.bits.printed import TokenParser, TokenPrinter, tokens_of_characters
from tokenlab.codes.bits.stream import restore, rewrite, rewrite_batch
from tokenlab.core.errors import InputError

NEIGHBOURS = "".join(map(chr, [*range(0x3E, 0x62), 0x7F, 0x80, 0xC0, 0x7BF, 0x7C0, 0x7FF]))
"""One-byte characters around 40-5F, and characters of two bytes up to the last one."""
EDGES = "\u0800\u0fff\u1000\u3fff\u4000\u4e00\u7fff\u8000\u9fa5\uac00\ubfff\uc000\ud7ff\ue000\ufeff\ufffd\ufffe\uffff"
"""The first and last characters of three bytes, of each prefix, and beside the surrogates."""
FOUR_BYTES = "\U00010000\U0001f600\U0003ffff\U00040000\U0010ffff"

character = st.one_of(
    st.sampled_from(NEIGHBOURS), st.sampled_from(EDGES), st.sampled_from(FOUR_BYTES), st.characters(codec="utf-8")
)
text = st.text(character, max_size=14)
known = st.text(character, max_size=6).map(lambda characters: "".join(sorted(set(characters))))
emission = st.sampled_from(["run", "change"])
prefixes = st.sampled_from([3, 4])
EDGE_BYTES = [0x41, 0x5F, 0x60, 0x7F, 0x80, 0x9F, 0xA0, 0xBF, 0xC0, 0xC3, 0xDF, 0xE0, 0xE4, 0xED, 0xF0, 0xF4]
byte = st.sampled_from(EDGE_BYTES) | st.integers(0, 255)
value = byte | st.builds(lambda low: 0x100 + low, byte)
stream_symbol = st.one_of(value, st.sampled_from([512, 513, 514, 515]), st.just(516), st.integers(517, 519))


@st.composite
def streams(draw):
    """Symbols, many of them in the order of runs; the others are ill-formed in every way."""
    high = st.sampled_from([0, 0x80, 0x100, 0x180])
    first = st.builds(lambda low, high: low | high, st.integers(0x40, 0x5F), high)
    second = st.builds(lambda low, high: low | high & 0x100, st.integers(0x80, 0xBF), high)
    pair = st.tuples(first, second).map(list)
    run = st.builds(lambda prefix, two: [prefix, *two], st.integers(512, 515), pair) | pair
    parts = draw(st.lists(run | st.lists(stream_symbol, min_size=1, max_size=2), max_size=8))
    return [number for part in parts for number in part]


def numbers(tokens, characters):
    return np.array([symbol(token, characters) for token in tokens], np.int32)


@settings(max_examples=150)
@given(text, known, prefixes, emission)
def test_lossless_text(text, known, prefixes, emission):
    code = CharacterBits(known, BitOptions(mode="lossless", prefixes=prefixes, emission=emission))
    raw = fallback(text, known)
    expected = encode(raw, "lossless", prefixes, emission)
    assert code.fallback(text).tolist() == numbers(raw, known).tolist()
    encoded = code.encode(text)
    assert encoded.dtype == np.int32 and encoded.tolist() == numbers(expected, known).tolist()
    printed = TokenPrinter(known, emission).print(encoded)
    assert printed == list(map(print_token, expected))
    assert TokenParser(known).parse(" ".join(printed).split()).tolist() == encoded.tolist()
    plain = TokenPrinter(known, emission, escaped=False).print(encoded)
    assert TokenParser(known, escaped=False).parse(plain).tolist() == encoded.tolist()
    for policy in ("error", "replace", "skip"):
        decoded = code.decode(encoded, policy)
        assert decoded.text == text and not decoded.errors


@settings(max_examples=150)
@given(text, known, prefixes, emission)
def test_paper_mode_raises_where_it_is_ambiguous(text, known, prefixes, emission):
    code = CharacterBits(known, BitOptions(mode="paper", prefixes=prefixes, emission=emission))
    try:
        expected = encode(fallback(text, known), "paper", prefixes, emission)
    except AmbiguousError:
        with pytest.raises(InputError):
            code.encode(text)
    else:
        assert code.encode(text).tolist() == numbers(expected, known).tolist()
        assert code.decode(code.encode(text), "error").text == text


@settings(max_examples=150)
@given(st.lists(st.one_of(text.map(str.encode), st.lists(byte, max_size=5).map(bytes))), prefixes, emission)
def test_stray_bytes(parts, prefixes, emission):
    data = b"".join(parts)
    raw = spell(data)
    encoded = rewrite(numbers(raw, ""), BitOptions(prefixes=prefixes, emission=emission))
    expected = encode(raw, "lossless", prefixes, emission)
    assert encoded.tolist() == numbers(expected, "").tolist()
    assert TokenPrinter("", emission).print(encoded) == list(map(print_token, expected))
    assert restore(encoded, emission).symbols.tolist() == list(data)


@settings(max_examples=250)
@given(streams(), emission)
def test_any_stream_is_decoded_or_flagged(symbols, emission):
    known = "A\u4e00\U0001f600"
    array = np.array(symbols, np.int32)

    def spelled(number):
        return known[number].encode()

    for policy in ("replace", "skip"):
        expected, errors = decode(symbols, known, emission, policy)
        decoded = decode_symbols(array, spelled, policy, emission)
        assert [(error.position, error.kind) for error in decoded.errors] == errors
        assert decoded.text == expected
    if not errors:
        assert decode_symbols(array, spelled, "error", emission).text == expected
        return
    with pytest.raises(InputError) as raised:
        decode_symbols(array, spelled, "error", emission)
    assert f"token {errors[0][0] + 1}" in str(raised.value) and "\n" not in str(raised.value)


@settings(max_examples=100)
@given(st.lists(text, max_size=4), known, prefixes, emission)
def test_tokens_of_every_character(texts, known, prefixes, emission):
    code = CharacterBits(known, BitOptions(prefixes=prefixes, emission=emission))
    plain = [code.fallback(text) for text in texts]
    starts = np.cumsum([0, *map(len, plain)])
    encoded, ends = rewrite_batch(np.concatenate([np.zeros(0, np.int32), *plain]), starts, code.options)
    parts = [encoded[start:end].tolist() for start, end in pairwise(ends)]
    assert parts == [code.encode(text).tolist() for text in texts]
    lengths = [len(code.encode(text[:place])) for text in texts for place in range(len(text) + 1)]
    # A character more is as many tokens more, since encoding never looks ahead.
    expected = [after - before for before, after in pairwise(lengths) if after]
    assert tokens_of_characters(encoded, ends, emission).tolist() == expected
