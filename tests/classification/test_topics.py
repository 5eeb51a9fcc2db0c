"""Topics of the built-in corpora: the sentences of `generate`, the same classes in every language, whole paragraphs."""

from itertools import groupby, islice

import pytest

from tokenlab.classification import labelled_topics
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.generated import LANGUAGES, generate
from tokenlab.generated.lexicon import load_lexicon
from tokenlab.generated.meanings import paragraphs


def test_texts_are_those_of_the_corpora_and_labels_those_of_all_languages():
    found = {language: labelled_topics(language, sentences=200, seed=2) for language in LANGUAGES}
    for language, texts in found.items():
        documents = list(generate(language, sentences=200, seed=2))
        assert texts.ids == [document.id for document in documents]
        assert texts.texts == [document.text for document in documents]
        assert texts.labels.tolist() == found["en"].labels.tolist() and texts.classes == found["en"].classes


def test_sentences_of_a_paragraph_have_its_topic():
    texts = labelled_topics("en", sentences=300, seed=0)
    runs = [
        [texts.classes[label] for label, _ in run]
        for _, run in groupby(zip(texts.labels.tolist(), texts.passages, strict=True), key=lambda pair: pair[1])
    ]
    drawn = list(islice(paragraphs(load_lexicon(), 0), len(runs)))
    expected = [[paragraph.topic] * len(list(paragraph.sentences())) for paragraph in drawn]
    assert runs[:-1] == expected[:-1] and set(runs[-1]) == set(expected[-1])


def test_bad_parameters():
    with pytest.raises(ParameterError, match="'fr' is not built in"):
        labelled_topics("fr", sentences=10, seed=0)
    with pytest.raises(InputError, match="texts of 0 classes"):
        labelled_topics("en", sentences=0, seed=0)
