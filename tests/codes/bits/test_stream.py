"""The rewriting of runs, against examples worked by hand from the bits of the characters."""

import numpy as np
import pytest
from bit_streams import stream

from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.bits.stream import restore, rewrite, rewrite_batch
from tokenlab.codes.bits.symbols import as_symbols
from tokenlab.core.errors import InputError, ParameterError

NI = "N:05E N:1A0"  # 你, E4 BD A0 = 111001 001011110 110100000, prefix 39h
HAO = "N:0D2 N:1BD"  # 好, E5 A5 BD = 111001 011010010 110111101, prefix 39h
NO = "N:1C0 N:1AE"  # の, E3 81 AE = 111000 111000000 110101110, prefix 38h
HAN = "N:0CA N:19C"  # 한, ED 95 9C = 111011 011001010 110011100, prefix 3Bh
CHANGE, THREE, PAPER = BitOptions(emission="change"), BitOptions(prefixes=3), BitOptions("paper")


def plain(text: str | bytes) -> np.ndarray:
    """The symbols of byte fallback; _ is token 7 of the base vocabulary."""
    data = text.encode() if isinstance(text, str) else text
    return np.array([517 + 7 if byte == ord("_") else byte for byte in data], np.int32)


@pytest.mark.parametrize(
    ("text", "options", "tokens"),
    [
        ("你", None, f"P:39 {NI}"),
        ("你好", None, f"P:39 {NI} {HAO}"),
        ("你한好", None, f"P:39 {NI} P:3B {HAN} P:39 {HAO}"),
        ("你の", None, f"P:39 {NI} P:38 {NO}"),
        ("你の", THREE, f"P:39 {NI} B:E3 B:81 B:AE"),
        ("你_好", None, f"P:39 {NI} T:7 P:39 {HAO}"),
        ("你_好", CHANGE, f"P:39 {NI} T:7 {HAO}"),
        ("你の好", CHANGE, f"P:39 {NI} P:38 {NO} P:39 {HAO}"),
        ("你の好", BitOptions(prefixes=3, emission="change"), f"P:39 {NI} B:E3 B:81 B:AE {HAO}"),
        # Only 40-5F and C0-DF could be first payloads.
        ("你?", None, f"P:39 {NI} B:3F"),
        ("你@", None, f"P:39 {NI} R B:40"),
        ("你^", None, f"P:39 {NI} R B:5E"),
        ("你`", None, f"P:39 {NI} B:60"),
        ("你é", None, f"P:39 {NI} R B:C3 B:A9"),
        ("你😀", None, f"P:39 {NI} B:F0 B:9F B:98 B:80"),
        # A reset ends the run; what comes later is not ambiguous.
        ("你AA", None, f"P:39 {NI} R B:41 B:41"),
        ("你1A", None, f"P:39 {NI} B:31 B:41"),
        ("你1A1A好A", CHANGE, f"P:39 {NI} B:31 R B:41 B:31 B:41 P:39 {HAO} R B:41"),
        ("你_A", None, f"P:39 {NI} T:7 B:41"),
        ("你_A", CHANGE, f"P:39 {NI} T:7 R B:41"),
        ("A你", None, f"B:41 P:39 {NI}"),
        ("你1A", PAPER, f"P:39 {NI} B:31 B:41"),
    ],
)
def test_by_hand(text: str, options: BitOptions | None, tokens: str) -> None:
    options = options or BitOptions()
    assert rewrite(plain(text), options).tolist() == stream(tokens).tolist()
    assert restore(stream(tokens), options.emission).symbols.tolist() == plain(text).tolist()


def test_a_rewritten_stream_is_not_rewritten_again() -> None:
    with pytest.raises(InputError, match=r"^token 2: N:1A0"):
        rewrite(stream("B:41 N:1A0"))


def test_a_batch_in_paper_mode_names_the_text() -> None:
    texts = ["你好", "好1", "好A"]
    starts = np.cumsum([0, *(plain(text).size for text in texts)])
    with pytest.raises(InputError, match=r"^text 3, token 4 .*: the byte 41 "):
        rewrite_batch(plain("".join(texts)), starts, PAPER)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([1, -1], "token 2: -1 is no symbol"),
        ([2**31], "token 1: 2147483648 is no symbol"),
        ([[1]], "symbols are one sequence"),
        ([0.5], "symbols are one sequence"),
    ],
)
def test_what_is_no_stream(numbers: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_symbols(numbers)


@pytest.mark.parametrize("wrong", [{"mode": "fast"}, {"emission": "never"}, {"prefixes": 2}, {"prefixes": True}])
def test_options_are_checked(wrong: dict) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        BitOptions(**wrong)
