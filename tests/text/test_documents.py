import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenlab.core.errors import ParameterError
from tokenlab.text.documents import Document, join_words, split_sentences, words


def split_words(segmented: str) -> list[list[str]]:
    """The sentences of a text given as words with spaces between, each as its words."""
    text, boundaries = join_words(segmented.split())
    sentences = split_sentences(Document("d", text, boundaries), "。！？")
    return [words(sentence.text, sentence.boundaries) for sentence in sentences]


def split_text(text: str, ends: str = "。！？") -> list[str]:
    return [sentence.text for sentence in split_sentences(Document("d", text), ends)]


def test_sentences_of_gold_words():
    document = Document("news:7", "今天好。你来吗？来", (2, 3, 4, 5, 6, 7, 8), "PKU")
    assert list(split_sentences(document)) == [
        Document("news:7.0", "今天好。", (2, 3), "PKU"),
        Document("news:7.1", "你来吗？", (1, 2, 3), "PKU"),
        Document("news:7.2", "来", (), "PKU"),
    ]


def test_an_end_inside_a_gold_word_ends_nothing():
    assert split_words("雅虎！网 好 。 再见") == [["雅虎！网", "好", "。"], ["再见"]]


def test_an_end_with_spaces_needs_whitespace_behind_it():
    text = "Pi is 3.14... Really?! Yes!no. (Sure.) End."
    assert split_text(text, ".!?") == ["Pi is 3.14...", "Really?!", "Yes!no.", "(Sure.) End."]
    assert split_text("One.\nTwo.\u3000Three.\u00a0\tFour", ".") == ["One.", "Two.", "Three.", "Four"]


@pytest.mark.parametrize("text", ["", " ", "\n\u3000\t"])
@pytest.mark.parametrize("boundaries", [None, ()])
def test_whitespace_is_no_sentence(text, boundaries):
    assert list(split_sentences(Document("d", text, boundaries))) == []


def test_ends_that_mean_something_in_a_pattern():
    assert split_text("a] b^ c- d\\ e", "]^-\\") == ["a]", "b^", "c-", "d\\", "e"]


@pytest.mark.parametrize("ends", ["", "。\n", " "])
def test_ends_without_meaning(ends):
    with pytest.raises(ParameterError, match=r"^ends: "):
        list(split_sentences(Document("d", "text"), ends))


texts = st.text(st.sampled_from("ab上。！？. \u3000\n”"), max_size=40)


@st.composite
def documents(draw):
    text = draw(texts)
    inside = st.integers(1, max(len(text) - 1, 1))
    boundaries = tuple(sorted(draw(st.sets(inside)))) if len(text) > 1 else ()
    return Document("d", text, draw(st.sampled_from([None, boundaries])), "s")


@given(documents())
def test_nothing_but_whitespace_is_lost_and_words_stay(document):
    sentences = list(split_sentences(document))
    assert "".join("".join(sentence.text for sentence in sentences).split()) == "".join(document.text.split())
    assert [sentence.id for sentence in sentences] == [f"d.{k}" for k in range(len(sentences))]
    assert all(sentence.text == sentence.text.strip() != "" and sentence.source == "s" for sentence in sentences)
    if document.boundaries is None:
        assert all(sentence.boundaries is None for sentence in sentences)
        return
    pieces = [words(sentence.text, sentence.boundaries) for sentence in sentences]
    assert [word for piece in pieces for word in piece] == words(document.text, document.boundaries)
    # The rule itself, read back from the result: ends stand last in a sentence and nowhere else.
    assert all(word[-1] not in "。！？" for piece in pieces for word in piece[:-1])
    assert all(piece[-1][-1] in "。！？" for piece in pieces[:-1])


@given(texts)
def test_character_sentences_are_those_of_a_plain_loop(text):
    sentences, sentence = [], ""
    for character, following in zip(text, f"{text[1:]} ", strict=False):
        sentence += character
        if (character == "。" and following not in "。.") or (character == "." and following.isspace()):
            sentences.append(sentence.strip())
            sentence = ""
    expected = [sentence for sentence in [*sentences, sentence.strip()] if sentence]
    assert split_text(text, "。.") == expected
