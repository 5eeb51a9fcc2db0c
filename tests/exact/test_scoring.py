"""Bits of texts: by definition, in windows, and what has none."""

from itertools import pairwise

import numpy as np
import pytest
from hashed_model import ByDefinition, character_model
from hypothesis import given
from hypothesis import strategies as st

from tokenlab.core.errors import InputError
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.interface import Cost
from tokenlab.exact.scoring import character_starts, score_text, score_texts, windows
from tokenlab.exact.vocabulary import Vocabulary

END = 8
AUTOMATON = MaximumPrefix(Vocabulary([b"A", b"B", b"AA", b"BAAB", b"BBAA", b"BBBA", b"BA", b"BBA", None]))
ACCENTS = MaximumPrefix(Vocabulary([b"a", b"\xc3", b"\xa9", b"\xc3\xa9", b"aa", b"a\xc3", b"\xa9a", None]))
LONG = "ABBABAABBBABABAABBAABABBBBABA"


def naive_nats(model, tokens):
    """-log P of tokens by a softmax over all ids."""
    found = 0.0
    for place, token in enumerate(tokens):
        p = np.exp(model.logits(tuple(tokens[:place])))
        found -= np.log(p[token] / p.sum())
    return found


@pytest.mark.parametrize("encodings", ["valid", "all"])
@pytest.mark.parametrize("text", ["", "A", "BBA", "ABBABAAB"])
def test_scores_by_definition(encodings, text):
    model = character_model(AUTOMATON, END, encodings=encodings)
    truth = ByDefinition(model.model, model.automaton)
    score = score_text(model, text)
    starts = truth.starts_with(text.encode())
    assert score.exact == pytest.approx(-np.log(starts), abs=1e-12)
    assert score.end == pytest.approx(-np.log(truth.is_text(text.encode()) / starts), abs=1e-12)
    tokens = AUTOMATON.encode(text.encode())
    assert score.naive == pytest.approx(naive_nats(model.model, tokens), abs=1e-12)
    assert score.naive_end == pytest.approx(
        naive_nats(model.model, [*tokens, END]) - naive_nats(model.model, tokens), abs=1e-12
    )
    naive = character_model(AUTOMATON, END, encodings=encodings, estimator="naive").log_probability(text)
    assert (score.naive, score.naive_end) == pytest.approx((-naive.log_probability, -naive.end), abs=1e-12)
    assert (score.characters, score.bytes, score.tokens, score.windows) == (len(text), len(text), len(tokens), 1)


def test_a_text_that_ends_inside_a_character_has_no_encoding():
    model = character_model(ACCENTS, 7)
    score = score_text(model, b"aa\xc3")
    assert score.characters == 3 and np.isnan(score.naive)
    truth = ByDefinition(model.model, model.automaton)
    assert score.exact == pytest.approx(-np.log(truth.starts_with(b"aa\xc3")))


def test_a_model_without_eos():
    score = score_text(character_model(AUTOMATON, None), "ABBA")
    assert np.isnan(score.naive_end) and score.end == np.inf and np.isfinite(score.exact)


@pytest.mark.parametrize("encodings", ["valid", "all"])
def test_texts_that_share_a_tree_score_as_alone(encodings):
    model = character_model(AUTOMATON, END, encodings=encodings)
    texts = ["ABBA", "", "ABBAB", "ABBA", "B", "BAABBA", "AA"]
    found = [*score_texts(model, texts)]
    for score, text in zip(found, texts, strict=True):
        alone = score_text(model, text)._replace(cost=None)
        assert score._replace(cost=None) == pytest.approx(alone, abs=1e-12, nan_ok=True)
    assert (found[0].cost.passes, [score.cost.passes for score in found[1:]]) == (2, [0] * 6), "the root, and the rest"
    assert found[1].cost.contexts == found[3].cost.contexts == 0 and found[5].cost.contexts > 0
    tree = sum((score.cost for score in found), Cost())
    assert 1 < tree.contexts == tree.tokens < sum(score_text(model, text).cost.contexts for text in texts)


def test_the_scores_before_a_bad_text_come_first():
    stream = score_texts(character_model(AUTOMATON, END), ["ABBA", "B", "AxB", "A"], where="line ")
    assert [next(stream).bytes, next(stream).bytes] == [4, 1]
    with pytest.raises(InputError, match="line 3: the text has byte 0x78"):
        next(stream)


@given(st.integers(0, 200), st.integers(1, 40))
def test_windows_score_every_unit_once_after_half_a_window(length, room):
    found = [*windows(length, room)]
    assert [w.scored for w in found[1:]] == [w.end for w in found[:-1]]
    assert (found[0].scored, found[-1].end) == (0, length) if length else found == []
    for window in found:
        assert window.end - window.first <= room and window.first <= window.scored < window.end
    for _, window in pairwise(found):
        assert window.scored - window.first >= room / 2 or room == 1


def test_tokens_begin_at_characters():
    text = "a你b".encode()
    assert character_starts(text, [1, 2, 2], 0) == [0, 1, 1, 5]
    assert character_starts(text, [1, 1, 2, 2], 1) == [0, 0, 1, 1, 5]
    assert character_starts(text + b"\xe4", [1, 2, 2], 0) == [0, 1, 1, 5, 6]


def test_a_long_text_goes_through_windows_of_bytes():
    model = character_model(AUTOMATON, END, limit=8, encodings="all")
    unlimited = character_model(AUTOMATON, END, encodings="all")
    score = score_text(model, LONG)
    expected, end = 0.0, 0.0
    for window in windows(len(LONG), 8):
        whole, before = (unlimited.log_probability(LONG[window.first : e]) for e in (window.end, window.scored))
        expected -= whole.log_probability - before.log_probability
        end = -whole.end
    assert score.exact == pytest.approx(expected, abs=1e-9) and score.end == pytest.approx(end, abs=1e-9)
    assert score.windows == len([*windows(len(LONG), 8)]) > 3


@pytest.mark.parametrize("limit", [3, 4, 6, 9])
def test_a_long_text_goes_through_windows_of_tokens(limit):
    model = character_model(AUTOMATON, END, limit=limit)
    unlimited = character_model(AUTOMATON, END)
    tokens = AUTOMATON.encode(LONG.encode())
    score = score_text(model, LONG)
    assert score.windows > 1 and score.tokens == len(tokens) > limit
    places = character_starts(LONG.encode(), [len(AUTOMATON.vocabulary.tokens[t]) for t in tokens], 0)
    possible = []
    for room in range(1, limit + 1):
        expected = 0.0
        for window in windows(len(tokens), room):
            first, scored, end = (places[place] for place in window)
            whole, before = (unlimited.log_probability(LONG[first:e]) for e in (end, scored))
            expected -= whole.log_probability - before.log_probability
        possible.append(expected)
    assert np.isclose(possible, score.exact, atol=1e-9).any()


def test_the_encoding_of_a_long_text_goes_through_windows():
    limit = 4
    model = character_model(AUTOMATON, END, limit=limit)
    tokens = AUTOMATON.encode(LONG.encode())
    expected = 0.0
    for window in windows(len(tokens), limit):
        expected += naive_nats(model.model, tokens[window.first : window.end])
        expected -= naive_nats(model.model, tokens[window.first : window.scored])
    assert score_text(model, LONG).naive == pytest.approx(expected, abs=1e-9)


def test_many_tokens_are_scored_in_parts():
    model, text = character_model(AUTOMATON, END), LONG * 16
    tokens = AUTOMATON.encode(text.encode())
    assert len(tokens) > 128
    assert score_text(model, text).naive == pytest.approx(naive_nats(model.model, tokens), rel=1e-12)


def test_bad_texts():
    model = character_model(AUTOMATON, END)
    for text, message in [("A\ud800", "lone surrogate at character 2"), (b"A\xffA", "not UTF-8"), ("AxB", "'x'")]:
        with pytest.raises(InputError, match=message):
            score_text(model, text)


def test_a_context_of_one_token():
    """A | B | CD covers ABC with two tokens before its last: too many, and no window is left out instead."""
    vocabulary = Vocabulary([b"A", b"B", b"C", b"D", b"CD", b"BC", b"ABC", None])
    model = character_model(BytePair(vocabulary, [(2, 3, 4), (1, 2, 5), (0, 5, 6)]), 7, limit=1)
    with pytest.raises(InputError, match="tokens"):
        score_text(model, "ABCABC")
