"""Covers of real texts in real tokenizers, against brute force over continuations with the tokenizer's own engine."""

from collections.abc import Hashable
from pathlib import Path

import numpy as np
import pytest
from brute_encodings import state_after
from real_tokenizers import EXACT, QUICK, WITHOUT_NORMALIZER, all_names, real_lines, real_tokenizer
from unicode_text import is_utf8

from tokenlab.core.errors import InputError
from tokenlab.exact.adapters.check import Arrival, completion, live_paths, tokens_to
from tokenlab.exact.adapters.probes import probe_texts
from tokenlab.exact.adapters.real import RealTokenizer, decoded

LONGEST = 90
FUTURES = ["", *" a\n1'sS\u4e2d\u0301\U0001f600!/", "  x", "\n\nx", "\r\n", "11", "ll", "re"]
"""Short continuations, one for each class of characters that expressions tell apart."""


def futures_of(text: bytes, cut: int) -> list[bytes]:
    """Continuations of text[:cut]: the real one, short ones, and both after other endings of a cut character."""
    probes = [future.encode() for future in FUTURES]
    start = cut
    while start and cut - start < 3 and text[start - 1] & 0xC0 == 0x80:
        start -= 1
    begun = text[start - 1 : cut] if start and text[start - 1] >= 0xC0 else b""
    length = 0 if not begun else 2 if begun[0] < 0xE0 else 3 if begun[0] < 0xF0 else 4
    missing = max(0, length - len(begun))
    if not missing:
        return [text[cut:], *probes, *(text[cut : cut + n] for n in (1, 2, 4) if is_utf8(text[cut : cut + n]))]
    ends = [
        text[cut : cut + missing],
        *(bytes([byte]) * missing for byte in (0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xB8, 0xBF)),
    ]
    return [text[cut:], *(end + probe for end in ends if is_utf8(begun + end) for probe in probes)]


def engine_covers(real: RealTokenizer, text: bytes, futures: list[bytes]) -> set[tuple[int, ...]]:
    """The shortest sequences that spell `text`, or more, with which the encodings of its continuations begin."""
    tokens, wanted = real.automaton.vocabulary.tokens, len(real.automaton.prefix + text)
    covers = set()
    for future in futures:
        try:
            ids = real.automaton.encode(text + future)
        except InputError:
            continue  # a character that the tokenizer lacks
        spelled, cover = 0, []
        for token in ids:
            if spelled >= wanted:
                break
            cover.append(token)
            spelled += len(tokens[token] or b"")
        covers.add(tuple(cover))
    return covers


def assert_live(real: RealTokenizer, ids: tuple[int, ...]) -> None:
    """Each token is allowed after those before it."""
    automaton, vocabulary = real.automaton, real.automaton.vocabulary
    state = automaton.start()
    for number, token in enumerate(ids):
        low, high = vocabulary.equal_to(vocabulary.tokens[token] or b"")
        position = next(place for place in range(low, high) if vocabulary.ids[place] == token)
        spelled = [vocabulary.tokens[id] for id in ids]
        assert automaton.allowed(state)[position], f"{real.name}: {spelled} is not allowed at {number}"
        state = automaton.step(state, token)
        assert state is not None, f"{real.name}: {spelled} has no state at {number}"


def automaton_covers(
    real: RealTokenizer, text: bytes, reached: list[dict[Hashable, Arrival]], random: np.random.Generator, most: int
) -> list[list[int]]:
    """A random choice of `most` covers of `text` by the automaton; reached: the live paths of this text or more."""
    automaton, vocabulary = real.automaton, real.automaton.vocabulary
    spelled = automaton.prefix + text
    covers = []
    for at in range(max(0, len(spelled) - vocabulary.longest), len(spelled)):
        low, high = vocabulary.beginning_with(spelled[at:])
        for state in reached[at] if low < high else ():
            places = low + np.flatnonzero(automaton.allowed(state)[low:high])
            covers += [(at, state, int(vocabulary.ids[place])) for place in places]
    chosen = (covers[i] for i in random.permutation(len(covers))[:most])
    return [[*tokens_to(reached, at, state), token] for at, state, token in chosen]


def assert_witnessed(real: RealTokenizer, cover: list[int], random: np.random.Generator) -> None:
    """Some text's encoding, by the engine, begins with these tokens."""
    automaton, tokens = real.automaton, real.automaton.vocabulary.tokens
    ending = completion(automaton, state_after(automaton, cover), random)
    assert ending is not None, f"{real.name}: {[tokens[id] for id in cover]} goes on to no text"
    text = decoded(tokens, [*cover, *ending]).removeprefix(automaton.prefix)
    found = automaton.encode(text)[: len(cover)]
    assert found == cover, f"{real.name}: {text!r} begins with {[tokens[id] for id in found]}"


def assert_exact_covers(
    real: RealTokenizer, text: bytes, cuts: list[int], random: np.random.Generator, most: int = 6
) -> int:
    """Engine and automaton agree on the covers of text[:cut]. Returns the number of covers that were compared."""
    reached = live_paths(real.automaton, real.automaton.prefix + text[: max(cuts)])
    compared = 0
    for cut in cuts:
        seen = engine_covers(real, text[:cut], futures_of(text, cut))
        for cover in seen:
            assert_live(real, cover)
        found = automaton_covers(real, text[:cut], reached, random, most)
        for cover in found:
            assert_witnessed(real, cover, random)
        compared += len(seen) + len(found)
    return compared


def encodable(real: RealTokenizer, text: str) -> bool:
    try:
        real.automaton.encode(text.encode())
    except InputError:
        return False
    return True


def compare(real: RealTokenizer, texts: list[str], seed: int) -> int:
    """The covers compared, at one place of each text."""
    random, compared = np.random.default_rng(seed), 0
    for text in texts:
        data = text.encode()
        compared += assert_exact_covers(real, data, [int(random.integers(1, min(len(data), LONGEST) + 1))], random)
    return compared


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_lines_of_all_languages(name: str, mirror: Path) -> None:
    real = real_tokenizer(name)
    texts = [text for text in real_lines(mirror, 30) if text and encodable(real, text)]
    assert len(texts) >= 30
    assert compare(real, texts, seed=0) > 3 * len(texts)


@pytest.mark.parametrize("name", all_names())
def test_named_cases_at_every_byte(name: str) -> None:
    real, random = real_tokenizer(name), np.random.default_rng(1)
    texts = [text for text in probe_texts() if encodable(real, text)]
    for text in texts:
        data = text.encode()
        assert_exact_covers(real, data, list(range(1, min(len(data), 24) + 1)), random, most=3)


@pytest.mark.parametrize(
    ("name", "text"),
    [("gpt-neox", b"to |||EMAIL_ADDRESS|||"), ("mistral-v7", b"[REFERENCE_DOC_1][REFERENCE_DOC_12]")],
)
def test_prompts_that_end_inside_an_added_token(name: str, text: bytes) -> None:
    assert_exact_covers(real_tokenizer(name), text, list(range(1, len(text) + 1)), np.random.default_rng(5), most=4)


def test_tokens_that_no_text_reaches() -> None:
    """Spaces inside a token of GPT-NeoX are always found as an added token first."""
    real = real_tokenizer("gpt-neox")
    vocabulary = real.automaton.vocabulary
    inside = [id for id, token in enumerate(vocabulary.tokens) if token and b"\t  " in token]
    assert inside
    for id in inside[:20]:
        token = vocabulary.tokens[id] or b""
        for before in (b"", b"a", b"\n"):
            assert id not in real.automaton.encode(before + token)
    position = vocabulary.ids.tolist().index(inside[0])
    assert not real.automaton.allowed(real.automaton.start())[position]


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*EXACT, *WITHOUT_NORMALIZER])
def test_a_thousand_lines(name: str, mirror: Path) -> None:
    real = real_tokenizer(name)
    texts = [text for text in real_lines(mirror, 1080, first=2000) if text and encodable(real, text)]
    if name == "cluecorpussmall":  # refused but for its normaliser; Chinese alone, and slow
        assert compare(real, texts[:100], seed=2) > 300
    else:
        assert len(texts) >= 1000
        assert compare(real, texts, seed=2) > 5_000
