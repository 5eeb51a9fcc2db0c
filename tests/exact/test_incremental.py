"""Growing texts: what is evaluated, what copies share, and what pruning drops."""

import numpy as np
import pytest
from brute_probabilities import TableModel

from tokenlab.core.errors import ParameterError
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.encoders.every import EveryEncoding
from tokenlab.exact.incremental import Incremental, evaluate
from tokenlab.exact.options import ExactOptions
from tokenlab.exact.vocabulary import Vocabulary

TOKENS = [None, b"A", b"B", b"BA", b"BAA", b"BBAA", b"AA", b"BABA", b"BB"]
MERGES = [(2, 1, 3), (3, 1, 4), (2, 4, 5), (1, 1, 6), (3, 3, 7), (2, 2, 8)]
TEXT = b"ABBABAABBAABABBBBAAAAB" * 8


@pytest.fixture
def model():
    return TableModel(9, 0, seed=3)


@pytest.fixture(scope="module")
def automaton():
    return BytePair(Vocabulary(TOKENS), MERGES)


def test_a_byte_takes_one_context_and_forgotten_nodes_are_not_needed(model, automaton):
    """The probability of the text is the product of those of its bytes, and that of the text read at once."""
    text, log_probability = Incremental(model, automaton), 0.0
    for byte in TEXT:
        log_probability += text.next_bytes().log_probability[byte]
        text.advance(byte)
        cost = text.next_bytes().cost
        assert cost.contexts <= 1 and cost.passes <= 1
    assert text.text == TEXT and len(text.evaluator.tree.nodes) < len(TEXT) - 16
    assert text.log_probability() == pytest.approx(log_probability, rel=1e-13)
    fresh = Incremental(model, automaton)
    fresh.extend(TEXT)
    assert text.log_probability() == pytest.approx(fresh.log_probability(), rel=1e-14)
    assert text.next_bytes().log_probability == pytest.approx(fresh.next_bytes().log_probability, rel=1e-12)


def test_copies_grow_apart_and_share_passes(model, automaton):
    first = Incremental(model, automaton)
    first.extend(b"ABBA")
    copies = [first.copy() for _ in range(8)]
    for i, copy in enumerate(copies):
        copy.extend(bytes(b"AB"[(i >> k) & 1] for k in range(3)))
    evaluate(copies)
    assert first.evaluator.cost().passes == 2
    for copy in copies:
        fresh = Incremental(model, automaton)
        fresh.extend(copy.text)
        assert copy.next_bytes().log_probability == pytest.approx(fresh.next_bytes().log_probability, rel=1e-13)
        copy.extend(TEXT[:40])
        copy.next_bytes()
    assert first.text == b"ABBA"
    assert first.next_bytes().total == pytest.approx(0, abs=1e-12)


def test_pruning_drops_less_than_it_says(model, automaton):
    every = EveryEncoding(Vocabulary(TOKENS), automaton.encode)
    exact = Incremental(model, every, ExactOptions(max_contexts=1 << 20))
    pruned = Incremental(model, every, ExactOptions(prune=1e-3, max_contexts=1 << 20))
    for byte in TEXT[:16]:
        exact.advance(byte)
        pruned.advance(byte)
    assert len(pruned.covers) < len(exact.covers) / 2
    assert 0 < pruned.pruned < 0.1
    assert pruned.log_probability() < exact.log_probability()
    some = list(b"AB")
    lost = exact.next_bytes().log_probability[some] - pruned.next_bytes().log_probability[some]
    assert np.abs(lost).max() < 0.05
    assert pruned.next_bytes().total == pytest.approx(0, abs=1e-12)
    scored = CharacterModel(model, every, pruned.options).log_probability(TEXT[:16])
    assert scored.log_probability == pytest.approx(pruned.log_probability(), rel=1e-13)
    assert scored.pruned == pytest.approx(pruned.pruned, rel=1e-12)


def test_options_that_a_text_does_not_fit(model, automaton):
    with pytest.raises(ParameterError, match="set a smaller prune"):
        Incremental(model, automaton, ExactOptions(prune=0.4)).extend(TEXT)
    with pytest.raises(ParameterError, match="more than 100 contexts"):
        every = EveryEncoding(Vocabulary(TOKENS), automaton.encode)
        Incremental(model, every, ExactOptions(max_contexts=100)).extend(TEXT)


def test_longer_texts_go_on_from_the_last_ones(model, automaton):
    chars = CharacterModel(model, automaton, ExactOptions())
    for end in range(len(TEXT)):
        assert chars.next_byte(TEXT[:end]).cost.contexts <= 1
    assert chars.next_byte(TEXT[:end] + b"A").cost.contexts <= 1
    assert chars.next_byte(b"BB").cost.contexts > 1
