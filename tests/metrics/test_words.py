import numpy as np
import pytest

from tokenlab.metrics.words import texts_with_words, word_rule, word_spans
from tokenlab.text.documents import Document, words


def words_of(document, rule):
    return [document.text[start:end] for start, end in word_spans(document, rule)]


def test_gold_words_are_those_of_the_document():
    for text, boundaries in [("新世纪 好。", (1, 3, 4, 5)), (" It's here .", (3, 5, 10)), ("", ()), ("  ", ())]:
        document = Document("1", text, boundaries)
        assert words_of(document, "gold") == words(text, boundaries)


def test_whitespace_words():
    document = Document("1", " In the\tbeginning,  God ")
    assert words_of(document, "whitespace") == ["In", "the", "beginning,", "God"]
    assert word_spans(Document("1", " "), "whitespace").shape == (0, 2)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("In the beginning", "whitespace"),
        ("태초에 하나님이 천지를 창조하시니라", "whitespace"),
        ("起初神创造天地。", "none"),
        ("はじめに", "none"),
        ("ในปฐมกาล", "none"),
        ("He said 好 and went on to the city", "whitespace"),
        ("123 !?", "whitespace"),
    ],
)
def test_the_script_decides(text, rule):
    assert word_rule([Document("1", text)]) == rule
    assert word_rule([Document("1", text, (1,))]) == "gold"
    assert word_rule([Document("1", text, (1,)), Document("2", text)]) == rule


def test_one_rule_for_all_texts():
    documents = [Document(str(i), "起初神创造天地") for i in range(3)] + [Document("3", "God created")]
    assert [text.words for text in texts_with_words(documents)] == [None] * 4
    spans = [text.words for text in texts_with_words([Document("1", "God created"), Document("2", "a")])]
    assert np.array_equal(spans[0], [[0, 3], [4, 11]]) and spans[0].dtype == np.int32
