"""Samples have the distribution of texts, by bytes and by tokens; what is warped, and what is refused."""

from collections import Counter
from functools import lru_cache

import numpy as np
import pytest
from hashed_model import ByDefinition, character_model
from scipy.stats import chisquare

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.options import SamplingOptions
from tokenlab.exact.sampling import sample, sample_stream, warped
from tokenlab.exact.token_walk import sample_by_tokens
from tokenlab.exact.vocabulary import Vocabulary

END = 8
PAPER = Vocabulary([b"A", b"B", b"AA", b"BAAB", b"BBAA", b"BBBA", b"BA", b"BBA", None])
ACCENTS = Vocabulary([b"a", b"\xc3", b"\xa9", b"\x89", b"\xc3\xa9", b"aa", b"a\xc3", b"\xa9a", None])
"""Two of its characters are é and É; bytes that are not UTF-8 have probability too."""


@pytest.fixture(scope="module")
def letters():
    return character_model(MaximumPrefix(PAPER), END, seed=3)


@pytest.fixture(scope="module")
def accents():
    return character_model(MaximumPrefix(ACCENTS), END, seed=5)


@pytest.fixture(scope="module")
def every():
    """Sums over all encodings."""
    return character_model(MaximumPrefix(PAPER), END, seed=4, encodings="all")


def following(model, text):
    """P(character or "" | text) of every outcome, by definition, renormalised at each byte to what UTF-8 allows."""
    truth = ByDefinition(model.model, model.automaton)
    starts, ends = lru_cache(truth.starts_with), lru_cache(truth.is_text)

    def divide(before, choices):
        shares = {choice: starts(before + choice) for choice in choices}
        if b"" in choices:
            shares[b""] = ends(before)
        return {choice: share / sum(shares.values()) for choice, share in shares.items()}

    found = divide(text, [b"A", b"B", b"a", b"\xc3", b""])
    lead = found.pop(b"\xc3")
    if lead:
        found |= {b"\xc3" + last: lead * p for last, p in divide(text + b"\xc3", [b"\xa9", b"\x89"]).items()}
    return {spelled.decode(): p for spelled, p in found.items() if p}


def texts_of(model, prompt, n):
    """P(text of up to n characters | prompt), "." after those that ended."""
    found, open_texts = {}, {"": 1.0}
    for _ in range(n):
        longer = {}
        for text, p in open_texts.items():
            for character, share in following(model, (prompt + text).encode()).items():
                target = longer if character else found
                target[text + (character or ".")] = p * share
        open_texts = longer
    return found | open_texts


def fits(counts, expected):
    """Whether frequencies are plausible; rare outcomes together."""
    total = sum(counts.values())
    assert set(counts) <= set(expected)
    rare = [outcome for outcome, p in expected.items() if p * total < 5]
    observed = [counts[outcome] for outcome in expected if outcome not in rare] + [sum(counts[o] for o in rare)]
    wanted = [expected[outcome] * total for outcome in expected if outcome not in rare]
    wanted.append(total - sum(wanted))
    pairs = [(o, w) for o, w in zip(observed, wanted, strict=True) if w > 1e-9]
    return len(pairs) == 1 or chisquare(*zip(*pairs, strict=True)).pvalue > 1e-3


def by_bytes(model, prompt, generator):
    found = sample(model, prompt, 2, seed=generator)
    return found.text + "." * found.ended


def by_tokens(model, prompt, generator):
    text = "".join(sample_by_tokens(model, prompt, 2, seed=generator))
    return text + "." * (len(text) < 2)


@pytest.mark.parametrize(
    ("draw", "name", "prompts"),
    [
        (by_bytes, "letters", ["BB", ""]),
        (by_tokens, "letters", ["BB", "ABBA", ""]),
        (by_bytes, "accents", ["a", "éa"]),
        (by_bytes, "every", ["BA"]),
        (by_tokens, "every", ["BA"]),
    ],
)
def test_frequencies_are_the_probabilities(request, draw, name, prompts):
    model = request.getfixturevalue(name)
    for prompt in prompts:
        expected = texts_of(model, prompt, 2)
        assert sum(expected.values()) == pytest.approx(1, abs=1e-12)
        generator = np.random.default_rng(1)
        assert fits(Counter(draw(model, prompt, generator) for _ in range(1500)), expected), prompt


@pytest.mark.parametrize("encodings", ["valid", "all"])
@pytest.mark.parametrize("prompt", ["", "B"])
def test_texts_with_a_prefix(encodings, prompt):
    """The bytes that the tokenizer puts before every text are no part of samples, and no condition on them is lost."""
    automaton = MaximumPrefix(PAPER)
    automaton.prefix = b"B"
    model = character_model(automaton, END, seed=4, encodings=encodings)
    generator, counts = np.random.default_rng(3), Counter()
    for _ in range(1000):
        counts["".join(sample_by_tokens(model, prompt, 1, seed=generator))] += 1
    found = model.next_byte(prompt)
    assert found.total == pytest.approx(0, abs=1e-10)
    p = np.exp([*found.log_probability[[65, 66]], found.end])
    assert fits(counts, dict(zip(["A", "B", ""], p, strict=True)))


def test_the_probability_of_a_sample_is_that_of_the_text(letters):
    for seed in range(8):
        found = sample(letters, "BA", 4, seed=seed)
        whole, before = letters.log_probability("BA" + found.text), letters.log_probability("BA")
        expected = whole.log_probability - before.log_probability + (whole.end if found.ended else 0)
        assert found.log_probability == pytest.approx(expected, abs=1e-9)


def test_a_seed_gives_one_text(letters):
    one, two = (sample(letters, "", 30, seed=9).text for _ in range(2))
    assert one == two and one != sample(letters, "", 30, seed=10).text
    assert [*sample_by_tokens(letters, "B", 30, seed=9)] == [*sample_by_tokens(letters, "B", 30, seed=9)]


def test_samples_are_utf8_also_after_a_prompt_that_ends_inside_a_character(accents):
    for seed in range(20):
        one_by_one = "".join(sample_by_tokens(accents, b"a\xc3", 6, seed=seed))
        for drawn in (sample(accents, b"a\xc3", 6, seed=seed).text, one_by_one):
            assert drawn[0] in "éÉ" and set(drawn) <= set("aéÉ")


WARPS = [
    SamplingOptions(temperature=0.5),
    SamplingOptions(temperature=0.5, top_k=2),
    SamplingOptions(temperature=2.0, top_k=3),
    SamplingOptions(top_k=1),
    SamplingOptions(top_p=0.7),
    SamplingOptions(top_p=0.95, temperature=1.5),
    SamplingOptions(temperature=0),
]


def warped_by_hand(p, options):
    """Probabilities of outcomes by name after top_k, top_p and temperature."""
    left = sorted(p, key=lambda outcome: -p[outcome])[: options.top_k]
    if options.top_p is not None:
        total, share, kept = sum(p[outcome] for outcome in left), 0.0, []
        while share < options.top_p * total:
            kept.append(left[len(kept)])
            share += p[kept[-1]]
        left = kept
    if options.temperature == 0:
        return {left[0]: 1.0}
    weights = {outcome: p[outcome] ** (1 / options.temperature) for outcome in left}
    return {outcome: weight / sum(weights.values()) for outcome, weight in weights.items()}


def test_characters_of_several_bytes_are_warped_as_a_whole():
    """With all bytes inside tokens of whole characters, no byte breaks UTF-8."""
    vocabulary = Vocabulary([b"a", "é".encode(), "É".encode(), "aé".encode(), "你".encode(), None])
    model = character_model(MaximumPrefix(vocabulary), 5, seed=2)
    truth = ByDefinition(model.model, model.automaton)
    p = {c: truth.starts_with(b"a" + c.encode()) / truth.starts_with(b"a") for c in "aéÉ你"}
    p[""] = truth.is_text(b"a") / truth.starts_with(b"a")
    for options in WARPS:
        generator = np.random.default_rng(5)
        counts = Counter(sample(model, "a", 1, options, seed=generator).text for _ in range(500))
        assert fits(counts, warped_by_hand(p, options)), options


def test_bytes_are_warped_one_by_one(accents):
    options = SamplingOptions(temperature=0.5, unit="bytes")
    truth = ByDefinition(accents.model, accents.automaton)
    p = {b: truth.starts_with(b"a" + b) for b in (b"a", b"\xc3")} | {b"": truth.is_text(b"a")}
    lead = warped_by_hand(p, options)
    last = warped_by_hand({b: truth.starts_with(b"a\xc3" + b) for b in (b"\xa9", b"\x89")}, options)
    expected = {"a": lead[b"a"], "": lead[b""]} | {(b"\xc3" + b).decode(): lead[b"\xc3"] * q for b, q in last.items()}
    generator = np.random.default_rng(6)
    counts = Counter(sample(accents, "a", 1, options, seed=generator).text for _ in range(800))
    assert fits(counts, expected)


def test_the_rest_counts_in_the_share_of_top_p():
    log_p = np.log([0.4, 0.2])
    assert warped(log_p, SamplingOptions(top_p=0.5), rest=0.4).tolist() == pytest.approx([2 / 3, 1 / 3])
    assert warped(log_p, SamplingOptions(top_p=0.5), rest=0.1).tolist() == [1, 0]


def test_the_stream_ends_with_the_text_or_after_n(letters):
    for seed in range(10):
        drawn = [*sample_stream(letters, "A", 5, seed=seed)]
        assert len(drawn) == 5 or drawn[-1].character == ""
        assert all(len(step.character) == 1 for step in drawn[:-1])
    assert [*sample_stream(letters, "A", 0)] == [*sample_by_tokens(letters, "A", 0)] == []


@pytest.mark.parametrize("draw", [by_bytes, by_tokens])
def test_bad_prompts(letters, draw):
    for prompt, message in [("\ud800", "surrogate"), (b"a\xffb", "not UTF-8"), ("x", "x")]:
        with pytest.raises(InputError, match=message):
            draw(letters, prompt, 0)


def test_bad_options(letters):
    for draw in (sample, sample_by_tokens):
        with pytest.raises(ParameterError, match="n is -1"):
            draw(letters, "A", -1)
    for options in [{"temperature": -1}, {"temperature": float("nan")}, {"top_k": 0}, {"top_p": 0}, {"top_p": 1.1}]:
        with pytest.raises(ParameterError, match=next(iter(options))):
            SamplingOptions(**options)
    with pytest.raises(ParameterError, match="unit is 'words'"):
        SamplingOptions(unit="words")
    with pytest.raises(ParameterError, match="give a top_k or top_p"):
        SamplingOptions(temperature=1.5)


def test_tokens_need_truncated_sums_over_covers():
    for options in ({"estimator": "naive"}, {"truncate": False}):
        model = character_model(MaximumPrefix(PAPER), END, **options)
        with pytest.raises(ParameterError, match=r"use incremental|^truncate: sampling by tokens needs"):
            sample_by_tokens(model, "A", 3)


def test_a_sample_beyond_the_context_goes_on_after_the_later_half_of_the_text():
    """Until the first slide it is that of a model without a limit; then what the window says is what counts."""
    limited, unlimited = (character_model(MaximumPrefix(PAPER), None, seed=3, limit=limit) for limit in (8, None))
    found, whole = sample(limited, "AB", 60, seed=5).text, sample(unlimited, "AB", 60, seed=5).text
    assert len(found) == 60 and found != whole and found[:6] == whole[:6]
    found, whole = ("".join(sample_by_tokens(model, "AB", 60, seed=5)) for model in (limited, unlimited))
    assert len(found) == 60 and found != whole and found[:6] == whole[:6]
