from collections import Counter
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenlab.codes.codebook import Codebook, smallest_K
from tokenlab.codes.corpus import CharacterCorpus, character_corpus
from tokenlab.codes.latom.refine import LARGEST_CODES, Schedule, _rows, _state, character_bigrams, refine_codes
from tokenlab.codes.latom.refine_kernels import swap, swap_gain, xlog2x_table
from tokenlab.core.errors import ParameterError

TEXTS = ["the cat sat on the mat", "a hat", "that is the hat of the cat", "x", "tea at ten"]
SHAPES = [(1, None), (2, None), (2, 6), (3, None), (4, None), (5, 2), (5, 3)]


def random_texts(seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    letters, shares = list("abcdefghijk"), random.dirichlet(np.full(11, 0.5))
    return ["".join(random.choice(letters, length, p=shares)) for length in random.integers(1, 40, 30)]


def codes_of(corpus: CharacterCorpus, N: int, K: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(K**N)[: len(corpus.characters)]


def entropy_of(counts: Counter) -> float:
    shares = np.array(list(counts.values())) / counts.total()
    return float(-(shares * np.log2(shares)).sum())


def entropies(corpus: CharacterCorpus, assigned: np.ndarray, N: int, K: int) -> tuple[float, float]:
    """Counted on the encoded text."""
    code = Codebook("random", N, K, corpus.characters, assigned)
    encoded = [code.encode(text) for text in corpus.texts()]
    pairs = Counter(pair for atoms in encoded for pair in pairwise(atoms))
    return entropy_of(pairs), entropy_of(Counter("".join(encoded)))


def atom_entropy(corpus: CharacterCorpus, assigned: np.ndarray, N: int, K: int) -> tuple[float, float]:
    """As the refinement counts it."""
    return refine_codes(corpus, assigned, N, K, schedule=Schedule(0)).before


def test_bigrams_stay_inside_sequences():
    corpus = character_corpus(TEXTS)
    expected = Counter(pair for text in TEXTS for pair in pairwise(text))
    counts = character_bigrams(corpus).tocoo()
    found = {
        (corpus.characters[row], corpus.characters[column]): count
        for row, column, count in zip(counts.row, counts.col, counts.data, strict=True)
    }
    assert found == expected


@pytest.mark.parametrize(("N", "K"), SHAPES)
def test_entropies_are_those_of_the_encoded_text(N, K):
    corpus = character_corpus(TEXTS)
    K = K or smallest_K(len(corpus.characters), N)
    for seed in range(5):
        assigned = codes_of(corpus, N, K, seed)
        assert atom_entropy(corpus, assigned, N, K) == pytest.approx(entropies(corpus, assigned, N, K), abs=1e-12)


@settings(max_examples=25)
@given(st.sampled_from([(2, 4), (2, 5), (3, 3), (4, 2), (5, 2)]), st.integers(0, 100), st.sampled_from([0.0, 1.0, 2.0]))
def test_gains_and_tables_are_those_of_counting_anew(shape, seed, balance):
    N, K = shape
    corpus = character_corpus(random_texts(seed))
    assigned, bigrams, counts = codes_of(corpus, N, K, seed), character_bigrams(corpus), np.append(corpus.counts, 0)
    following, preceding = _rows(bigrams), _rows(bigrams.T.tocsr())
    state, random = _state(assigned, N, K, counts, bigrams), np.random.default_rng(seed)
    for _ in range(30):
        c, place = int(random.integers(len(assigned))), int(random.integers(K**N))
        if assigned[c] == place:
            continue
        d = int(state.owner[place])
        target = np.array(np.unravel_index(place, (K,) * N), np.int32)
        before = objective(state, balance)
        gain = swap_gain(c, d, target, state, following, counts, balance, xlog2x_table(5))
        swap(c, place, target, state, following, preceding, counts)
        if d < len(assigned):
            assigned[d] = assigned[c]
        assigned[c] = place
        anew = _state(assigned, N, K, counts, bigrams)
        assert gain == pytest.approx(objective(anew, balance) - before, abs=1e-8)
        for name, table in anew._asdict().items():
            end = None if name != "digits" else -1  # What stands in the row of "no character" has no meaning.
            assert np.array_equal(getattr(state, name)[:end], table[:end]), name


def objective(state, balance: float) -> float:
    tables = [state.within, state.across]
    pairs = sum(m * np.log2(m) for table in tables for m in table[table > 0].tolist())
    return pairs - balance * sum(m * np.log2(m) for m in state.atoms[state.atoms > 0].tolist())


@pytest.mark.parametrize(("N", "K"), [(2, 3), (3, 2)])
def test_it_finds_the_best_of_all_mappings(N, K):
    corpus = character_corpus(["abacabada", "bad", "cab", "abba"])
    size = len(corpus.characters)
    every = [atom_entropy(corpus, np.array(assigned), N, K) for assigned in permutations(range(K**N), size)]
    for balance in (0.0, 2.0):
        lowest = min(bigram - balance * atom for bigram, atom in every)
        found = refine_codes(corpus, np.arange(size), N, K, balance=balance, schedule=Schedule(1000, 0.3, 1e-4))
        for bigram, atom in (found.after, atom_entropy(corpus, found.assigned, N, K)):
            assert bigram - balance * atom == pytest.approx(lowest, abs=1e-12)


@pytest.mark.parametrize(("N", "K"), SHAPES)
@pytest.mark.parametrize("schedule", [Schedule(50), Schedule(3, 1.0, 1.0)])
def test_it_is_injective_says_what_it_did_and_never_harms(N, K, schedule):
    corpus = character_corpus(TEXTS)
    K = K or smallest_K(len(corpus.characters), N)
    for seed in range(5):
        start = codes_of(corpus, N, K, seed)
        kept = start.copy()
        found = refine_codes(corpus, start, N, K, seed, schedule=schedule)
        assert np.array_equal(start, kept)
        Codebook("latom", N, K, corpus.characters, found.assigned)  # Checks that codes differ and are below K^N.
        assert found.before == pytest.approx(entropies(corpus, start, N, K), abs=1e-12)
        assert found.after == pytest.approx(entropies(corpus, found.assigned, N, K), abs=1e-12)
        assert found.after.mutual_information >= found.before.mutual_information
        again = refine_codes(corpus, start, N, K, seed, schedule=schedule)
        assert again.assigned.tobytes() == found.assigned.tobytes()
        if N == 1:
            assert np.array_equal(found.assigned, start)


def test_a_corpus_without_pairs():
    corpus = character_corpus(["a", "b"])
    assert refine_codes(corpus, np.array([0, 1]), 1, 2).after == (0.0, 1.0)
    assert refine_codes(corpus, np.array([0, 3]), 2, 2).after == (1.0, 2.0)


def test_too_many_codes():
    corpus = character_corpus(["ab"])
    with pytest.raises(ParameterError, match=f"at most {LARGEST_CODES:,}"):
        refine_codes(corpus, np.array([0, 1]), 2, 20_000)
