"""What decoding says of streams that a model could generate, kind by kind, and what it makes of them."""

import pytest
from bit_streams import stream

from tokenlab.codes.bits.decoding import decode, decode_bytes, spellings
from tokenlab.core.errors import InputError, ParameterError

NI, HAO = "N:05E N:1A0", "N:0D2 N:1BD"  # 你 and 好, prefix 39h
WORDS = spellings([b"the ", b"", b"\xe5\xa5", b"\xbd", b"\x80\x80"])


@pytest.mark.parametrize(
    ("tokens", "kinds", "replaced"),
    [
        # A prefix needs a first payload; alone it is undecodable.
        ("P:39", [(0, "prefix")], "\ufffd"),
        (f"P:39 R {NI}", [(0, "prefix"), (3, "outside")], "\ufffd^\ufffd"),
        # A first payload needs a second; the next token is read afresh, outside a run.
        ("P:39 N:05E", [(1, "payload")], "\ufffd"),
        (f"P:39 N:05E P:39 {HAO}", [(1, "payload")], "\ufffd好"),
        # A value from 100h up outside a run, or inside a run but no first payload.
        ("N:1A0 B:61", [(0, "outside")], "\ufffda"),
        (f"P:39 {NI} N:100 N:17F", [(3, "outside"), (4, "outside")], "你\ufffd"),
        # Bytes that are not UTF-8: one error for each maximal subpart.
        ("B:E4 B:BD B:61", [(0, "utf8")], "\ufffda"),
        ("B:80 B:80", [(0, "utf8"), (1, "utf8")], "\ufffd"),
        # A character of two payloads that is overlong or a surrogate is one error, and the run goes on.
        (f"P:38 N:040 N:080 P:39 {NI}", [(1, "utf8")], "\ufffd你"),
        # Bytes of tokens are put together; an undecodable token separates them, a reset does not.
        ("T:2 T:3", [], "好"),
        ("T:2 R T:3", [], "好"),
        ("T:2 T:1 T:3", [], "好"),
        ("T:2 N:1A0 T:3", [(0, "utf8"), (1, "outside"), (2, "utf8")], "\ufffd"),
        ("T:0 T:4 T:0", [(1, "utf8"), (1, "utf8")], "the \ufffdthe "),
        # Errors without a decoded character between them are one stretch.
        ("P:39 R T:1 P:39 B:80", [(0, "prefix"), (3, "prefix"), (4, "utf8")], "\ufffd"),
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


def test_bytes_of_an_undecodable_stream() -> None:
    with pytest.raises(InputError, match=r"^token 2: the prefix P:39"):
        decode_bytes(stream("B:80 P:39 B:61"))
