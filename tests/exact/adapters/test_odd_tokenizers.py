"""Tokenizers that are rarely made, but can be: each is handled exactly or refused."""

import random

import pytest
from brute_encodings import state_after
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from tokenlab.exact.adapters.check import check_tokenizer
from tokenlab.exact.adapters.hugging_face import from_tokenizer
from tokenlab.exact.adapters.real import UnsupportedTokenizer


def test_bytes_without_a_split_are_kept_in_utf8() -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=270, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(["a b a b", "\u4e2d\u6587 \u4e2d"] * 3, trainer)
    real = from_tokenizer(tokenizer)
    inner = real.automaton.vocabulary.equal_to(b"\xb8")[0]
    assert not real.automaton.allowed(real.automaton.start())[inner], "no character begins with the byte B8"
    report = check_tokenizer(real, walks=30)
    assert report.handled, report.failures


def test_unigram_decides_ties_by_the_numbers_of_its_engine() -> None:
    """b|bb and bb|b have the same score up to rounding, and the library rounds the scores that it reads."""
    generator = random.Random(0)
    for _ in range(20):
        scores = {"a": -4 * generator.random(), "b": -4 * generator.random(), "bb": -2 * generator.random()}
        real = from_tokenizer(Tokenizer(models.Unigram([("<unk>", 0.0), *scores.items()], unk_id=0)))
        automaton = real.automaton
        for text in (before + "b" * length for before in ("", "a", "ab", "abba") for length in range(3, 9)):
            state_after(automaton, automaton.encode(text.encode()))


def test_unigram_with_an_added_token() -> None:
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0), ("a", -1.0), ("b", -2.0), ("ab", -2.5)], unk_id=0))
    tokenizer.add_tokens([AddedToken("bab", normalized=False)])
    real = from_tokenizer(tokenizer)
    assert real.automaton.encode(b"abab") == [1, 4]
    report = check_tokenizer(real, ["abab", "babab", "aabbabb"], walks=50)
    assert report.handled, report.failures


def test_an_added_token_of_characters_that_no_token_spells() -> None:
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0), ("a", -1.0), ("b", -2.0)], unk_id=0))
    tokenizer.add_tokens([AddedToken("[b]", normalized=False)])
    with pytest.raises(UnsupportedTokenizer, match=r"added token '\[b\]' has '\['"):
        from_tokenizer(tokenizer)


def test_spaces_without_a_piece() -> None:
    bytes_of = {f"<0x{byte:02X}>": byte for byte in range(256)}
    tokenizer = Tokenizer(models.BPE({**bytes_of, "a": 256}, [], byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    with pytest.raises(UnsupportedTokenizer, match="which is no token"):
        from_tokenizer(tokenizer)


def test_byte_fallback_behind_a_split() -> None:
    """As `tokenlab train --bytes fallback` makes it: after a token, the bytes of a character that is none. No token has
    the bytes of another one, as in a text without Latin letters."""
    a, b = "\u3042\u3044"
    bytes_of = {f"<0x{byte:02X}>": byte for byte in range(256)}
    tokenizer = Tokenizer(models.BPE({**bytes_of, a: 256, b: 257, a + b: 258}, [(a, b)], byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s|\S+"), "isolated")
    report = check_tokenizer(from_tokenizer(tokenizer), [f"{a}{b}\u4e2d {a}\u4e2d{a}{b}", f"\u00e9{b}"], walks=50)
    assert report.handled, report.failures


def test_unigram_reads_the_name_of_a_special_token_as_text() -> None:
    """The library finds it as a piece, which is then the special token."""
    pieces = [("<unk>", 0.0), ("</s>", 0.0), *((character, -2.0) for character in "</s>ab"), ("ab", -3.0)]
    tokenizer = Tokenizer(models.Unigram(list(dict(pieces).items()), unk_id=0))
    tokenizer.add_special_tokens(["</s>"])
    tokenizer.add_special_tokens(["<beyond>"])
    tokenizer.add_tokens([AddedToken("bab", normalized=False)])
    real = from_tokenizer(tokenizer)
    spelled = [real.automaton.vocabulary.tokens[id] for id in real.automaton.encode(b"ab</s>bab")]
    assert spelled == [b"ab", b"<", b"/", b"s", b">", b"bab"] and real.eos == tokenizer.token_to_id("</s>")
    report = check_tokenizer(real, ["a</s>b", "bab</s>ab"], walks=30)
    assert report.handled, report.failures


def test_an_added_token_of_spaces_that_are_normalised_first() -> None:
    bytes_of = {f"<0x{byte:02X}>": byte for byte in range(256)}
    tokenizer = Tokenizer(models.BPE({**bytes_of, "\u2581": 256, "a": 257, "b": 258}, [], byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.add_tokens([AddedToken("\u2581\u2581", normalized=True)])
    real = from_tokenizer(tokenizer)
    assert real.automaton.encode(b"a  b") == [257, 259, 258]
    report = check_tokenizer(real, ["a  b", "a   b"], walks=30)
    assert report.handled, report.failures
