"""Questions over generated paragraphs: formats, answers that can be found, reproducible files."""

import json
from collections import Counter
from itertools import chain, pairwise

import pytest
from interrupted import files

from tokenlab.core.errors import ParameterError
from tokenlab.generated.corpora import generate
from tokenlab.generated.questions import FILES, endings, last_words, write_questions


@pytest.mark.parametrize("kind", [endings, last_words])
def test_a_question_does_not_depend_on_their_number(kind):
    assert list(kind(questions=3, seed=4)) == list(kind(questions=9, seed=4))[:3]
    assert list(kind(questions=3, seed=4)) != list(kind(questions=3, seed=5))
    with pytest.raises(ParameterError, match="-1"):
        kind(questions=-1, seed=0)


def test_true_ending_is_the_next_sentence_of_the_same_paragraph():
    # Names are drawn per paragraph from many thousands, so a name that the context and an ending share points to
    # the true ending.
    shared = Counter()
    for question in endings(questions=200, seed=1):
        names = _names(question["ctx"])
        for index, ending in enumerate(question["endings"]):
            shared["true" if index == question["label"] else "wrong"] += bool(names & _names(ending))
    assert shared["true"] >= 15
    assert shared["wrong"] == 0


def test_last_word_occurs_in_an_earlier_sentence():
    for question in last_words(questions=100, seed=3):
        *before, last = question["text"].split(" ")
        sentence = next(index for index, word in enumerate(reversed(before)) if word[-1] in ".?!”")
        earlier = before[: len(before) - sentence]
        assert last.isalpha()
        assert last in {word.strip(".,:!?“”") for word in earlier}


def test_no_question_is_in_a_corpus_of_the_same_seed():
    corpus = {document.text for document in generate("en", sentences=1500, seed=0) if len(document.text) > 60}
    asked = chain.from_iterable(question["endings"] for question in endings(questions=150, seed=0))
    assert not corpus & set(asked)


def test_files(tmp_path):
    write_questions(tmp_path / "bench", questions=5, seed=0)
    rows = [json.loads(line) for line in (tmp_path / "bench" / FILES["hellaswag"]).read_text().splitlines()]
    assert rows == list(endings(questions=5, seed=0))
    rows = [json.loads(line) for line in (tmp_path / "bench" / FILES["lambada_openai"]).read_text().splitlines()]
    assert rows == list(last_words(questions=5, seed=0))
    write_questions(tmp_path / "again", questions=5, seed=0)
    assert files(tmp_path / "bench") == files(tmp_path / "again")


def _names(text: str) -> set[str]:
    """Surnames and the like: capitalised words that follow a capitalised word."""
    words = [word.strip(".,:!?“”").removesuffix("'s") for word in text.split()]
    return {f"{a} {b}" for a, b in pairwise(words) if a.istitle() and b.istitle()}
