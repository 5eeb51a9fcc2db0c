"""Probabilities, posteriors and samples of the kernels against plain Python over strings."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_words import enumerated
from scipy.stats import chisquare
from word_states import count, encoded, make_state, plain_model, same_counts, spellings, symbol

from tokenlab.segment.words.encoding import LONGEST_RUN
from tokenlab.segment.words.lattice_kernels import add_posteriors, decode, fill, forward, make_lattice, sample
from tokenlab.segment.words.lexicon import NONE
from tokenlab.segment.words.pair_kernels import USED, find, key_of, rebuilt
from tokenlab.segment.words.sampler_kernels import shuffle, sweep

LETTERS = "中国人民カナの"
ALPHABET = LETTERS + "，。a 1"
texts = st.lists(st.text(st.sampled_from(ALPHABET), min_size=1, max_size=9), min_size=1, max_size=6).filter(
    lambda sentences: any(character in LETTERS for character in "".join(sentences))
)
bonuses = st.sampled_from([0.0, -1.0, 0.7])


def choices(seed):
    random = np.random.default_rng(seed)
    return lambda n: int(random.integers(n))


def candidates_of(lexicon):
    """Words of up to four units, two unless they are known or Katakana."""
    return lambda word: len(word) <= 2 or word in lexicon or (len(word) <= 4 and set(word) <= set("カナ"))


def filled(state, text, run):
    lattice = make_lattice(int(text.first[run + 1] - text.first[run]), text.spans.shape[1])
    first, size = text.first[run], text.first[run + 1] - text.first[run]
    fill(lattice, text, run, state.known.symbol_count, state.counts, state.parts)
    forward(lattice, size, text.right[run], state.counts, state.parts)
    return lattice, first, size


@settings(max_examples=150)
@given(texts, st.integers(0, 10**6))
def test_p0_and_counts(sentences, seed):
    state = make_state(sentences, choices(seed))
    model = plain_model(state)
    contexts = [symbol(state.known, i) for i in range(state.known.symbol_count)] + spellings(state.known)
    words = state.counts.words
    assert words["p0"].tolist() == pytest.approx([model.p0(word) for word in contexts], rel=1e-12)
    assert words["c"].tolist() == [model.c[word] for word in contexts]
    assert words["followers"].tolist() == [model.followers[word] for word in contexts]
    assert words["c1"].tolist() == [model.c1[word] for word in contexts]
    assert state.counts.totals[:2].tolist() == [model.N, model.D]


@settings(max_examples=150)
@given(texts, texts, st.integers(0, 10**6), st.sampled_from([0, 3]))
def test_every_step_of_the_lattice_has_the_formulas_probability(sentences, others, seed, kinds):
    """In the training text and in another one, with new words and unknown units."""
    state = make_state(sentences, choices(seed), kinds=kinds)
    model = plain_model(state)
    for text, source in ((state.text, sentences), (encoded(state, others), others)):
        letters = [c for sentence in source for c in sentence if c in LETTERS]
        for run in range(len(text.left)):
            lattice, first, size = filled(state, text, run)
            units = "".join(letters[first : first + size])
            left, right = (symbol(state.known, side[run]) for side in (text.left, text.right))
            for t in range(1, size + 1):
                for k in range(1, min(4, t) + 1):
                    if lattice.word[t, k - 1] == NONE:
                        continue
                    w, start = units[t - k : t], t - k
                    before = (
                        [(0, left)] if start == 0 else [(j, units[start - j - 1 : start]) for j in range(min(4, start))]
                    )
                    for j, u in before:
                        if lattice.word[start, j] != NONE:
                            assert lattice.step[t, k - 1, j] == pytest.approx(model.p(w, u), rel=1e-11)
                    if t == size:
                        assert lattice.last[k - 1] == pytest.approx(model.p(right, w), rel=1e-11)


@settings(max_examples=150)
@given(texts, texts, st.integers(0, 10**6), bonuses, st.sampled_from([0, 3]))
def test_posteriors_are_those_of_all_segmentations(sentences, others, seed, bonus, kinds):
    state = make_state(sentences, choices(seed), bonus=bonus, kinds=kinds)
    model, lexicon = plain_model(state), set(spellings(state.known))
    text = encoded(state, others)
    letters = [c for sentence in others for c in sentence if c in LETTERS]
    for run in range(len(text.left)):
        lattice, first, size = filled(state, text, run)
        posteriors = np.zeros((first + size, 4), np.float32)
        add_posteriors(lattice, size, posteriors, first)
        units = "".join(letters[first : first + size])
        sides = [symbol(state.known, side[run]) for side in (text.left, text.right)]
        expected = np.zeros((size, 4))
        for words, p in enumerated(model, sides[0], units, sides[1], candidates_of(lexicon), bonus).items():
            place = 0
            for word in words:
                expected[place, len(word) - 1] += p
                place += len(word)
        assert np.allclose(posteriors[first:], expected, atol=2e-6)


def test_samples_follow_the_posterior():
    sentences = ["中国人民的中国", "中国人在中国", "人民的国人", "在人民中"]
    state = make_state(sentences, choices(3), bonus=0.3, kinds=3)
    lexicon = set(spellings(state.known))
    expected = enumerated(
        plain_model(state), ("symbol", "edge"), sentences[0], ("symbol", "edge"),
        candidates_of(lexicon), 0.3,
    )  # fmt: skip
    lattice, first, size = filled(state, state.text, 0)
    random, lengths, draws = np.array([11], np.uint64), np.zeros(size, np.int8), 40_000
    found: Counter = Counter()
    for _ in range(draws):
        sample(lattice, size, lengths, first, random)
        cuts = [t for t in range(size) if lengths[t]]
        assert sum(lengths) == size
        found[tuple(sentences[0][t : t + lengths[t]] for t in cuts)] += 1
    assert found.keys() <= expected.keys()
    common = [words for words, p in expected.items() if p * draws >= 10]
    rest = draws - sum(found[words] for words in common)
    observed = [*(found[words] for words in common), rest]
    wanted = [*(expected[words] * draws for words in common)]
    wanted.append(draws - sum(wanted))
    assert len(common) > 10
    assert chisquare(observed, wanted).pvalue > 1e-3


@settings(max_examples=60)
@given(texts, st.integers(0, 10**6), bonuses)
def test_counts_after_sweeps_equal_counts_from_scratch(sentences, seed, bonus):
    state = make_state(sentences, choices(seed), bonus=bonus)
    counts, lengths, random = state.counts, state.lengths, np.array([seed], np.uint64)
    order, lattice = np.arange(len(state.text.left)), make_lattice(64, 4)
    for _ in range(4):
        shuffle(order, random)
        assert sorted(order) == list(range(len(order)))
        where = (state.text, order, 0, lengths, state.known.symbol_count)
        done = sweep(*where, counts, state.parts, lattice, np.zeros((0, 4), np.float32), random)
        assert done == len(order)
        assert same_counts(counts, count(state.text, state.known, lengths))


def test_a_full_table_interrupts_a_sweep_and_changes_nothing():
    def swept(empty_pairs):
        """Lengths of words after one sweep, and how often the table was rebuilt."""
        letters = np.random.default_rng(0).choice(list("中国人民的在"), (300, 9))
        state = make_state(["".join(row) for row in letters], choices(1))
        order, lattice = np.arange(len(state.text.left)), make_lattice(16, 4)
        counts, random, done, times = state.counts, np.array([7], np.uint64), 0, 0
        while done < len(order):
            counts, _ = rebuilt(counts, np.zeros(len(counts.keys), np.float32), 5000)
            if empty_pairs and not times:
                while counts.totals[USED] < 0.6 * len(counts.keys) - 2:
                    key = key_of(10**6 + counts.totals[USED], 0)
                    counts.keys[find(counts.keys, key)] = key
                    counts.totals[USED] += 1
            where = (state.text, order, done, state.lengths, state.known.symbol_count)
            done = sweep(*where, counts, state.parts, lattice, np.zeros((0, 4), np.float32), random)
            times += 1
        assert same_counts(counts, count(state.text, state.known, state.lengths))
        return state.lengths.tolist(), times

    undisturbed, once = swept(False)
    disturbed, twice = swept(True)
    assert disturbed == undisturbed
    assert (once, twice) == (1, 2)


@pytest.mark.parametrize("bonus", [-20.0, 0.0, 20.0])
def test_long_runs_neither_underflow_nor_overflow(bonus):
    """Posteriors of the spans over each unit sum to one, in a run of many unknown units and in a repeated one."""
    state = make_state(["中国人民的中国人民"] * 3, choices(0), bonus=bonus)
    unknown = "".join(chr(0x4E2E + i) for i in range(LONGEST_RUN))
    for sentence in (unknown, "中国" * (LONGEST_RUN // 2)):
        text = encoded(state, [sentence])
        assert len(text.left) == 1
        lattice, first, size = filled(state, text, 0)
        posteriors = np.zeros((size, 4), np.float32)
        add_posteriors(lattice, size, posteriors, first)
        over = np.zeros(size)
        for k in range(1, 5):
            for offset in range(k):
                over[offset:] += posteriors[: size - offset, k - 1]
        assert np.abs(over - 1).max() < 1e-3  # negligible shares are dropped at each of 4,096 units


@settings(max_examples=100)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.integers(0, 10**6), st.sampled_from([0.3, 0.4, 0.6]))
def test_decoding_finds_the_largest_sum(sizes, seed, threshold):
    random = np.random.default_rng(seed)
    first = np.concatenate(([0], np.cumsum(sizes)))
    posteriors = (random.integers(0, 64, (first[-1], 3)) / 32).astype(np.float32)
    begins = decode(posteriors, 2, threshold, first)
    for a, b in pairwise(first):
        totals = {}
        for cuts in range(1 << (b - a - 1)):
            starts = [0] + [i for i in range(1, b - a) if cuts >> (i - 1) & 1]
            lengths = np.diff([*starts, b - a])
            allowed = lengths.max() <= 3 and all(
                n == 1 or posteriors[a + s, n - 1] > 0 for s, n in zip(starts, lengths, strict=True)
            )
            if allowed:
                totals[tuple(starts)] = sum(
                    posteriors[a + s, n - 1] / 2 - threshold for s, n in zip(starts, lengths, strict=True)
                )
        ours = tuple(np.flatnonzero(begins[a:b]).tolist())
        assert totals[ours] == pytest.approx(max(totals.values()), abs=1e-9)
