"""What breaks the paper's premises in real tokenizers, case by case, on the real files."""

import numpy as np
import pytest
from engine_covers import assert_exact_covers, assert_live, automaton_covers, engine_covers
from real_tokenizers import names, real_tokenizer

from tokenlab.exact.adapters.check import live_paths, tokens_to
from tokenlab.exact.adapters.real import RealTokenizer
from tokenlab.exact.encoders.byte_pair import BytePair

SEED = 5


def spelled(real: RealTokenizer, ids: list[int]) -> list[bytes | None]:
    return [real.automaton.vocabulary.tokens[id] for id in ids]


def accepted(real: RealTokenizer, text: str) -> list[list[int]]:
    """The token sequences that the automaton accepts for a text: one, if it is right."""
    data = real.automaton.prefix + text.encode()
    reached = live_paths(real.automaton, data)
    return [tokens_to(reached, len(data), s) for s in reached[len(data)] if real.automaton.may_end(s)]


def covers(real: RealTokenizer, text: str | bytes) -> list[list[bytes | None]]:
    data = text.encode() if isinstance(text, str) else text
    return [spelled(real, ids) for ids in automaton_covers(real, data, np.random.default_rng(SEED))]


def every_cut(real: RealTokenizer, text: str) -> None:
    data = text.encode()
    assert_exact_covers(real, data, list(range(1, len(data) + 1)), np.random.default_rng(SEED), most=4)
    assert accepted(real, text) == [real.automaton.encode(data)]


@pytest.mark.nightly
def test_words_that_are_tokens_though_merging_does_not_make_them() -> None:
    """`ignore_merges: true` of Llama 3, as tiktoken."""
    real = real_tokenizer("llama3")
    vocabulary = real.automaton.vocabulary
    ranks = [None if token is None else id for id, token in enumerate(vocabulary.tokens)]
    merging = BytePair.from_ranks(vocabulary, ranks)
    found = []
    for id in range(60_000, 128_000):
        token = vocabulary.tokens[id] or b""
        if token.isalpha() and real.automaton.encode(token) == [id] and merging.encode(token) != [id]:
            found.append(id)
            if len(found) == 3:
                break
    if not found:
        pytest.skip("merging makes every word of this file")
    for id in found:
        text = (vocabulary.tokens[id] or b"").decode()
        every_cut(real, text)
        every_cut(real, text + "s " + text)


@pytest.mark.parametrize("spaces", [2, 25, 49])
def test_added_tokens_inside_one_another(spaces: int) -> None:
    """GPT-NeoX has runs of 2 to 24 spaces as added tokens; the longest wins, from the left."""
    real = real_tokenizer("gpt-neox")
    text = "a" + " " * spaces + "b"
    every_cut(real, text)
    assert len(accepted(real, "a" + " " * spaces)) == 1


@pytest.mark.parametrize("name", names("gpt2", "llama3", "deepseek", "tekken"))
def test_runs_of_newlines_and_spaces(name: str) -> None:
    real = real_tokenizer(name)
    for text in ("\n\na", "a\n\n\n\nb", "  \n \n  x", "a   b", "\r\n\r\n\tx", "a \u3000\u3000b"):
        every_cut(real, text)


def test_two_newlines_are_one_token_or_two_in_gpt2() -> None:
    """The example of methods.md: the context of two tokens is live, though its text has another encoding."""
    real = real_tokenizer("gpt2")
    one, two = real.automaton.encode(b"\n\n"), real.automaton.encode(b"\n\na")[:2]
    assert spelled(real, one) == [b"\n\n"] and spelled(real, two) == [b"\n", b"\n"]
    assert_live(real, tuple(two))
    assert accepted(real, "\n\n") == [one]
    assert [b"\n", b"\n"] in covers(real, "\n\n") and [b"\n\n"] in covers(real, "\n\n")


@pytest.mark.parametrize("name", names("gpt2", "llama3", "qwen", "llama4"))
def test_contractions(name: str) -> None:
    real = real_tokenizer(name)
    for text in ("don't", "we'll've", "'S 'Re", "it's'", "x''s", "\u2019s"):
        every_cut(real, text)
    # "'l" may become the contraction of "we'll", or the quotation of "we'lo".
    seen = {cover[-1] for cover in covers(real, "we'l")}
    assert any(token and token.startswith((b"l", b"'l")) for token in seen)


@pytest.mark.parametrize("name", names("llama3", "deepseek", "qwen", "mistral-v7"))
def test_digits_in_groups(name: str) -> None:
    real = real_tokenizer(name)
    groups = {
        "llama3": [b"123", b"456", b"7"],
        "deepseek": [b"123", b"456", b"7"],
        "qwen": [b"%d" % d for d in range(1, 8)],
    }
    if name in groups:
        assert spelled(real, real.automaton.encode(b"1234567")) == groups[name]
    for text in ("1234567", "a12 3456,7", "\u0661\u0662\u0663\u0664"):
        every_cut(real, text)


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
    position = next(p for p in range(len(vocabulary)) if vocabulary.ids[p] == inside[0])
    assert not real.automaton.allowed(real.automaton.start())[position]


@pytest.mark.parametrize("name", ["mistral-v1", "mistral-v7", "gpt2", "whisper-multilingual"])
def test_prompts_that_end_inside_a_character(name: str) -> None:
    """Mistral's pieces are whole characters, and bytes for the others; byte-level tokens cut characters anywhere."""
    real = real_tokenizer(name)
    for text in ("\u4e2d\u6587", "a\U0001f600b", "\U00013000x", "\u00e9\u0301"):
        every_cut(real, text)
    cut = "\u4e2d".encode()[:1]
    found = covers(real, cut)
    whole = [cover for cover in found if (cover[-1] or b"").decode("utf-8", "ignore")]
    assert whole and any(cover[-1] == cut for cover in found)


def test_atomic_tokens_of_several_bytes() -> None:
    """A user-defined piece of SentencePiece and an added token are found whole, whatever merging would do."""
    mistral, neox = real_tokenizer("mistral-v7"), real_tokenizer("gpt-neox")
    assert b"[REF]" in spelled(mistral, mistral.automaton.encode(b"see [REF]x[/REF]"))
    every_cut(mistral, "see [REF]x[/REF]")
    every_cut(mistral, "[REF][RE")
    every_cut(mistral, "[REFERENCE_DOC_1][REFERENCE_DOC_12]")
    every_cut(neox, "a |||IP_ADDRESS|||||IP")


def test_a_prompt_that_ends_inside_an_added_token() -> None:
    real = real_tokenizer("gpt-neox")
    found = covers(real, "to |||EMAIL_ADD")
    assert any((cover[-1] or b"").startswith(b"|||EMAIL_ADDRESS") for cover in found)
    assert any(not (cover[-1] or b"").startswith(b"|||EMAIL") for cover in found)
    every_cut(real, "to |||EMAIL_ADDRESS|||")


def test_covers_of_a_short_prompt_are_all_witnessed() -> None:
    """Every cover, not a sample: each is the beginning of some text's encoding."""
    real = real_tokenizer("gpt2")
    text = b"\n\n  don"
    seen = engine_covers(real, text, [b"", b"e", b"'t", b"key", b" ", b"g x", b"ate"])
    found = {tuple(cover) for cover in automaton_covers(real, text, np.random.default_rng(0))}
    assert seen <= found
    assert_exact_covers(real, text, [len(text)], np.random.default_rng(0), most=None)
