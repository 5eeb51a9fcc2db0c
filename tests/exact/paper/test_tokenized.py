"""The tokenized model of a chain beside equation 23 by enumeration, and beside the paper's example (appendix F.3)."""

from itertools import product

import numpy as np
import pytest
from chain_vocabularies import byte_pair, maximum_prefix, paper, random_automaton

from tokenlab.core.errors import InputError
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.paper.chain import MarkovChain
from tokenlab.exact.paper.tokenized import TokenizedModel
from tokenlab.exact.vocabulary import Vocabulary


def by_enumeration(chain, automaton, tokens, future):
    """P(t_1^i) by equation 23, with futures of a given length."""
    text = b"".join(automaton.vocabulary.tokens[token] for token in tokens).decode()
    total = 0.0
    for letters in product(chain.alphabet, repeat=future):
        whole = text + "".join(letters)
        if automaton.encode(whole.encode())[: len(tokens)] == list(tokens):
            total += np.exp(chain.log_probability(whole))
    return total


def check_contexts(chain, automaton, generator, future, contexts=12):
    """Compare every row after random contexts, valid or not, with enumeration."""
    model = TokenizedModel(chain, automaton)
    for _ in range(contexts):
        letters = generator.choice(list(chain.alphabet), int(generator.integers(0, 6)))
        tokens = automaton.encode("".join(letters).encode())
        if generator.random() < 0.3:
            tokens = generator.integers(0, model.size, int(generator.integers(1, 3))).tolist()
        tree = model.tree()
        row = tree.extend(range(len(tokens)), tokens)[-1] if tokens else tree.root()
        whole = by_enumeration(chain, automaton, tokens, future)
        if whole == 0:
            assert np.isnan(row).all()
            continue
        assert np.isclose(np.exp(row).sum(), 1, rtol=0, atol=1e-12)
        for token in generator.integers(0, model.size, 3).tolist():
            wanted = by_enumeration(chain, automaton, [*tokens, token], future) / whole
            assert np.isclose(np.exp(row[token]), wanted, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("kind", ["mpe", "bpe"])
def test_the_vocabularies_of_the_paper(kind, order):
    check_contexts(MarkovChain.random(order, "AB", seed=order), paper(kind), np.random.default_rng(order), 8, 25)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_vocabularies(seed):
    alphabet, order, automaton = random_automaton(seed, longest=5 if seed % 6 < 2 else 3)
    chain = MarkovChain.random(order, alphabet, seed=seed)
    check_contexts(chain, automaton, np.random.default_rng(seed), {2: 9, 3: 6, 4: 5}[len(alphabet)], 6)


def test_the_example_of_the_paper():
    alpha, beta, gamma = 0.3, 0.8, 0.6
    chain = MarkovChain("AB", [[alpha, 1 - alpha], [beta, 1 - beta]], [gamma, 1 - gamma])
    tree = TokenizedModel(chain, maximum_prefix(["AA", "A", "B"])).tree()
    assert np.allclose(np.exp(tree.root()), [gamma * alpha, gamma * (1 - alpha), 1 - gamma], rtol=1e-13)
    after_aa = [alpha**2, alpha * (1 - alpha), 1 - alpha]  # equation 35
    after_b = [beta * alpha, beta * (1 - alpha), 1 - beta]
    rows = np.exp(tree.extend([0, 0, 0], [0, 1, 2]))
    assert np.allclose(rows, [after_aa, [0, 0, 1], after_b], rtol=1e-13, atol=1e-15)


def test_impossible_transitions_and_separate_futures():
    """A chain that stays with its first letter for ever: two classes that never meet."""
    chain = MarkovChain("AB", np.eye(2))
    check_contexts(chain, maximum_prefix(["A", "B", "AAA", "BB"]), np.random.default_rng(0), 8, 20)
    check_contexts(chain, byte_pair("AB", [("A", "A"), ("B", "B"), ("AA", "AA")]), np.random.default_rng(0), 8, 20)


def test_characters_of_several_bytes():
    """Tokens of whole characters and of parts of them spell the same texts."""
    pieces = ["中".encode(), "文".encode(), b"A", "中文".encode()]
    parts = ["中文"[0].encode()[:2], *(bytes([byte]) for byte in sorted({*"中文A".encode()}))]
    chain = MarkovChain.random(2, "中文A", seed=3)
    check_contexts(chain, MaximumPrefix(Vocabulary(pieces), has_end=False), np.random.default_rng(0), 5, 10)
    automaton = MaximumPrefix(Vocabulary([*parts, pieces[3]]), has_end=False)
    tree = TokenizedModel(chain, automaton).tree()
    first = np.exp(tree.root())
    inside = np.exp(tree.extend([0], [0])[0])  # two bytes of 中
    assert np.isclose(first.sum(), 1)
    assert np.isclose(inside.sum(), 1)
    last = 1 + [bytes([b]) for b in sorted({*"中文A".encode()})].index("中".encode()[2:])
    assert np.isclose(inside[last], 1)


class WithEnd:
    """Texts of A and B that end after each character with probability 0.3, in two states."""

    alphabet, has_end = "AB", True

    def start(self):
        return 0

    def step(self, state, character):
        return character

    def next(self, state):
        return np.array([[0.4, 0.3, 0.3], [0.1, 0.6, 0.3]][state])


def test_a_source_that_ends_texts():
    """Enumerates all texts up to a length beyond which little is left."""
    source, longest = WithEnd(), 14
    vocabulary = Vocabulary([b"A", b"B", b"AA", b"BA", None])
    automaton = BytePair(vocabulary, [(1, 0, 3), (0, 0, 2)])
    model = TokenizedModel(source, automaton, end=4)
    texts = [(b"", 0, 1.0)]
    mass = {}
    for text, state, p in texts:
        following = source.next(state)
        tokens = (*automaton.encode(text), 4)
        for length in range(len(tokens) + 1):
            mass[tokens[:length]] = mass.get(tokens[:length], 0.0) + p * following[2]
        if len(text) < longest:
            texts += [(text + bytes([65 + i]), i, p * following[i]) for i in range(2)]
    for tokens in [(), (0,), (1,), (2,), (3,), (0, 1), (2, 1), (3, 2), (1, 1, 3)]:
        tree = model.tree()
        row = tree.extend(range(len(tokens)), tokens)[-1] if tokens else tree.root()
        if tokens not in mass:
            assert np.isnan(row).all()
            continue
        assert np.isclose(np.exp(row).sum(), 1)
        wanted = [mass.get((*tokens, token), 0.0) / mass[tokens] for token in range(5)]
        assert np.allclose(np.exp(row), wanted, atol=0.7**longest * 10)
    with pytest.raises(InputError, match="give the id of EOS"):
        TokenizedModel(source, automaton)


def test_bad_input():
    chain = MarkovChain.random(1, "ABC", seed=0)
    with pytest.raises(InputError, match="no token begins with 'C'"):
        TokenizedModel(chain, maximum_prefix(["A", "B", "AB"]))
