"""What decoding says of streams that a model could generate, kind by kind, and what it makes of them."""

import numpy as np
import pytest
from bit_streams import stream
from hypothesis import given
from hypothesis import strategies as st

from tokenlab.codes.bits.decoding import decode, decode_bytes, spellings
from tokenlab.codes.bits.stream import rewrite
from tokenlab.core.errors import InputError, ParameterError

NI, HAO = "N:05E N:1A0", "N:0D2 N:1BD"  # 你 and 好, prefix 39h
WORDS = spellings([b"the ", b"", b"\xe5\xa5", b"\xbd", b"\x80\x80"])


@pytest.mark.parametrize(
    ("tokens", "kinds", "replaced"),
    [
        # A prefix needs a first payload; alone it is undecodable.
        ("P:39", [(0, "prefix")], "\ufffd"),
        (f"P:39 P:39 {NI}", [(0, "prefix")], "\ufffd你"),
        (f"P:39 R {NI}", [(0, "prefix"), (3, "outside")], "\ufffd^\ufffd"),
        ("P:39 B:61", [(0, "prefix")], "\ufffda"),
        ("P:39 N:180 B:61", [(0, "prefix"), (1, "outside")], "\ufffda"),
        # A first payload needs a second; the next token is read afresh, outside a run.
        ("P:39 N:05E", [(1, "payload")], "\ufffd"),
        (f"P:39 N:05E {NI}", [(1, "payload"), (3, "outside")], "\ufffd^\ufffd"),
        ("P:39 N:05E B:61 B:41", [(1, "payload")], "\ufffdaA"),
        (f"P:39 N:05E P:39 {HAO}", [(1, "payload")], "\ufffd好"),
        # A value from 100h up outside a run, or inside a run but no first payload.
        ("N:1A0 B:61", [(0, "outside")], "\ufffda"),
        (f"P:39 {NI} N:180 N:05E", [(3, "outside")], "你\ufffd^"),
        (f"P:39 {NI} N:100 N:17F", [(3, "outside"), (4, "outside")], "你\ufffd"),
        (f"P:39 {NI} R {HAO}", [(4, "utf8"), (5, "outside")], "你\ufffd"),
        # Bytes that are not UTF-8: one error for each maximal subpart.
        ("B:E4 B:BD B:61", [(0, "utf8")], "\ufffda"),
        ("B:80 B:80", [(0, "utf8"), (1, "utf8")], "\ufffd"),
        ("B:F0 B:9F B:98", [(0, "utf8")], "\ufffd"),
        ("B:C0 B:AF", [(0, "utf8"), (1, "utf8")], "\ufffd"),
        (f"B:E4 P:39 {NI} B:BD", [(0, "utf8"), (4, "utf8")], "\ufffd你\ufffd"),
        # A character of two payloads that is overlong or a surrogate is one error, and the run goes on.
        (f"P:38 N:040 N:080 P:39 {NI}", [(1, "utf8")], "\ufffd你"),
        ("P:3B N:0D0 N:080 N:0CA N:19C", [(1, "utf8")], "\ufffd한"),
        # Bytes of tokens are put together; an undecodable token separates them, a reset does not.
        ("T:2 T:3", [], "好"),
        ("T:2 R T:3", [], "好"),
        ("T:2 T:1 T:3", [], "好"),
        ("T:2 N:1A0 T:3", [(0, "utf8"), (1, "outside"), (2, "utf8")], "\ufffd"),
        ("T:0 T:4 T:0", [(1, "utf8"), (1, "utf8")], "the \ufffdthe "),
        # Errors without a decoded character between them are one stretch.
        ("P:39 R T:1 P:39 B:80", [(0, "prefix"), (3, "prefix"), (4, "utf8")], "\ufffd"),
        ("", [], ""),
        ("R R", [], ""),
    ],
)
def test_streams_by_hand(tokens: str, kinds: list, replaced: str) -> None:
    decoded = decode(stream(tokens), WORDS, "replace")
    assert [(error.position, error.kind) for error in decoded.errors] == kinds
    assert decoded.text == replaced
    assert decode(stream(tokens), WORDS, "skip") == (replaced.replace("\ufffd", ""), decoded.errors)
    if kinds:
        with pytest.raises(InputError, match=f"^token {kinds[0][0] + 1}: "):
            decode(stream(tokens), WORDS)
    else:
        assert decode(stream(tokens), WORDS) == (replaced, [])


@pytest.mark.parametrize(
    ("tokens", "replaced"),
    [
        (f"P:39 {NI} T:0 {HAO} B:61 {NI}", "你the 好a你"),
        (f"P:39 {NI} T:0 R {HAO}", "你the \ufffd"),
        (f"P:39 {NI} T:0 N:180 {HAO}", "你the \ufffd"),
    ],
)
def test_with_emission_on_change_a_prefix_stays_in_force(tokens: str, replaced: str) -> None:
    assert decode(stream(tokens), WORDS, "replace", "change").text == replaced


def test_a_token_that_the_vocabulary_lacks() -> None:
    for spelled in (WORDS, dict(enumerate([b"a"] * 5)).__getitem__):
        with pytest.raises(InputError, match=r"^token 2: "):
            decode(stream("B:61 T:5"), spelled, "skip")


def test_spellings_by_a_function() -> None:
    words = {3: b"three", 2_000_000_000: b"many"}
    assert decode(stream("T:3 B:2C T:2000000000 T:3"), words.__getitem__).text == "three,manythree"


def test_an_unknown_policy() -> None:
    with pytest.raises(ParameterError, match="on_error is 'ignore'"):
        decode(stream("B:61"), on_error="ignore")


@given(st.binary(), st.integers(0, 5))
def test_any_bytes_come_back(data: bytes, words: int) -> None:
    symbols = np.concatenate([rewrite(np.frombuffer(data, np.uint8)), stream("T:0 " * words)])
    assert decode_bytes(symbols, WORDS) == data + b"the " * words


def test_bytes_of_an_undecodable_stream() -> None:
    with pytest.raises(InputError, match=r"^token 2: the prefix P:39 is not followed"):
        decode_bytes(stream("B:80 P:39 B:61"))


@given(st.lists(st.integers(0, 521)).map(np.array), st.sampled_from(["run", "change"]))
def test_no_stream_crashes_the_decoder(symbols: np.ndarray, emission: str) -> None:
    replaced, skipped = (decode(symbols, WORDS, policy, emission) for policy in ("replace", "skip"))
    assert replaced.errors == skipped.errors
    assert [error.position for error in replaced.errors] == sorted(error.position for error in replaced.errors)
    assert ("\ufffd" in replaced.text) == bool(replaced.errors)
    assert replaced.text.replace("\ufffd", "") == skipped.text.replace("\ufffd", "")
