"""Counts by hand, and whole words against their definition."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_tokenizers import EXPRESSIONS, byte_level, train
from tokenizers import Tokenizer, models, pre_tokenizers

from tokenlab.core.shards import ClusterOptions, open_cluster
from tokenlab.formats.hugging_face import LibraryTokenizer
from tokenlab.metrics import of_tokenizer
from tokenlab.metrics.counting import count_tokens, words_kept_whole
from tokenlab.metrics.words import texts_with_words
from tokenlab.text.documents import Document
from tokenlab.tokenizers.measured import HuggingFaceTokenizer, SpellingTokenizer

LINES = ["a </s> b", "", "né <s>", "walking", "神 </s>"] * 20


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


def with_special_tokens():
    """The special tokens in these lines are text."""
    trained = train(byte_level(EXPRESSIONS["gpt2"]), LINES, 30)
    trained.add_special_tokens(["<s>", "</s>"])
    return trained


@pytest.mark.parametrize(
    "make",
    [
        lambda: HuggingFaceTokenizer(with_special_tokens()),
        lambda: SpellingTokenizer(LibraryTokenizer(with_special_tokens())),
        lambda: word_pieces("walk", "##ing", "a"),
    ],
    ids=["library", "spelling", "unknown"],
)
def test_shards_give_the_same_counts(monkeypatch, make):
    texts = list(texts_with_words(Document(str(number), line) for number, line in enumerate(LINES)))
    tokenizer = make()
    whole = count_tokens(tokenizer, texts)
    ids = np.concatenate([tokens.ids for tokens in tokenizer.encode_batch(LINES)])
    names = [tokenizer.tokenizer.id_to_token(id) for id in ids] if isinstance(tokenizer, HuggingFaceTokenizer) else []
    assert not {"<s>", "</s>"} & {*names} and (whole.unknown_tokens == 0) == (tokenizer.unknown is None)
    assert (np.sort(whole.types) == np.sort(np.unique(ids, return_counts=True)[1])).all()
    with open_cluster(ClusterOptions(2), tokenizer) as cluster:
        for characters in (1, 90):
            monkeypatch.setattr("tokenlab.metrics.counting._CHARACTERS", characters)
            for counts in (count_tokens(tokenizer, texts), count_tokens(tokenizer, texts, cluster)):
                assert counts == whole and (counts.types == whole.types).all()


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
