"""Counts by hand, and whole words against their definition."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from tokenlab.metrics import of_tokenizer
from tokenlab.metrics.counting import count_tokens, words_kept_whole
from tokenlab.metrics.words import texts_with_words
from tokenlab.text.documents import Document
from tokenlab.tokenizers.measured import HuggingFaceTokenizer


def word_pieces(*tokens):
    vocabulary = {token: id for id, token in enumerate(["[UNK]", *tokens])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return HuggingFaceTokenizer(tokenizer)


def test_counts_by_hand():
    """walk|ing walk UNK walk: five tokens of four words, two of them whole: UNK keeps none."""
    tokenizer = word_pieces("walk", "##ing", "##s", "talk")
    counts = count_tokens(tokenizer, texts_with_words([Document("1", "walking walk"), Document("2", "né walk")]))
    assert (counts.texts, counts.characters, counts.bytes, counts.tokens) == (2, 19, 20, 5)
    assert (sorted(counts.types), counts.vocabulary, counts.words, counts.whole_words) == ([1, 1, 3], 5, 4, 2)
    assert (counts.byte_tokens, counts.unknown_tokens) == (0, 1)
    assert counts.reference_tokens is None and counts.parallel_tokens is None


def test_nothing_is_undefined():
    values = of_tokenizer(count_tokens(word_pieces("a"), iter([])))
    assert values.pop("tokens") == 0 and values.pop("vocabulary_used") == 0
    assert set(values.values()) == {None}


@st.composite
def words_and_spans(draw):
    """Disjoint words, and tokens in order that may overlap as those of one character's bytes do."""
    length = draw(st.integers(1, 12))
    cuts = sorted(draw(st.sets(st.integers(0, length), min_size=2)))
    words = [(a, b) for a, b in itertools.pairwise(cuts) if draw(st.booleans())]
    edges = sorted(draw(st.lists(st.integers(0, length), min_size=2, max_size=14)))
    spans = [(a, b) for a, b in itertools.pairwise(edges)]
    repeated = [span for span in spans for _ in range(draw(st.integers(1, 2)) if span[1] - span[0] == 1 else 1)]
    return words, repeated, [draw(st.booleans()) for _ in repeated]


@settings(max_examples=300)
@given(words_and_spans())
def test_whole_words_equal_the_definition(case):
    words, spans, unknown = case
    expected = []
    for start, end in words:
        touching = [(a, b, no) for (a, b), no in zip(spans, unknown, strict=True) if a < end and start < b and a < b]
        one = len(touching) == 1 and touching[0][0] <= start and touching[0][1] >= end and not touching[0][2]
        others = [word for word in words if word != (start, end)]
        alone = one and not any(a < touching[0][1] and touching[0][0] < b for a, b in others)
        expected.append(alone)
    words, spans = (np.array(some, np.int32).reshape(-1, 2) for some in (words, spans))
    assert words_kept_whole(words, spans, np.array(unknown, bool)).tolist() == expected


def test_counts_do_not_depend_on_batches(monkeypatch):
    documents = [Document(str(i), f"walking walk {'talk ' * (i % 3)}") for i in range(50)]
    tokenizer = word_pieces("walk", "##ing", "talk")
    whole = count_tokens(tokenizer, texts_with_words(documents))
    monkeypatch.setattr("tokenlab.metrics.counting._TEXTS_AT_ONCE", 7)
    assert count_tokens(tokenizer, texts_with_words(documents)) == whole
