"""The texts of patch models: parts, joined documents, words in bytes, and passages, against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unicode_text import character

from tasks.patches.texts import (
    Text,
    Texts,
    joined,
    part_documents,
    passages_of,
    read_texts,
    whitespace_words,
    words_of,
    write_texts,
)
from tokenlab.core.errors import InputError
from tokenlab.text.documents import Document, words
from tokenlab.text.store import write_corpus

PARTS = ("training", "validation", "test")
SPACES = st.sampled_from(" \n\t\u3000\u2028\x1f\x85")


@st.composite
def documents(draw):
    """Text with much whitespace, and gold words or none."""
    text = draw(st.text(st.one_of(character, SPACES), max_size=24))
    places = st.integers(1, max(1, len(text) - 1))
    boundaries = draw(st.none() | st.sets(places, max_size=8)) if len(text) > 1 else None
    return Document("d", text, None if boundaries is None else tuple(sorted(boundaries)))


def texts(**changes):
    values = {"join": None, "validation": 0.2, "test": 0.1, "training": None, "seed": 3}
    return Texts(**(values | changes))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts") / "corpus"
    write_corpus((Document(str(number), f"text {number} é") for number in range(2000)), folder)
    return folder


def ids(corpus, part, **changes):
    return [document.id for document in part_documents(corpus, texts(**changes), part)]


def test_parts_are_disjoint_and_complete(corpus):
    found = [ids(corpus, part) for part in PARTS]
    assert sorted(int(id) for part in found for id in part) == list(range(2000))
    assert all(sorted(part, key=int) == part for part in found)
    for part, share in zip(found, (0.7, 0.2, 0.1), strict=True):  # within five standard deviations
        assert abs(len(part) - 2000 * share) < 5 * (2000 * share * (1 - share)) ** 0.5


def test_the_seed_alone_decides_the_parts(corpus):
    assert ids(corpus, "test") == ids(corpus, "test")
    assert ids(corpus, "test", seed=4) != ids(corpus, "test")
    # A bound on training, or joining nothing, moves no document to another part.
    assert ids(corpus, "test", training=50) == ids(corpus, "test")
    assert ids(corpus, "validation", join=1) == ids(corpus, "validation")


@pytest.mark.parametrize("limit", [1, 100, 5000])
def test_training_stops_at_its_limit(corpus, limit):
    everything = list(part_documents(corpus, texts(), "training"))
    limited = list(part_documents(corpus, texts(training=limit), "training"))
    sizes = [len(document.text.encode()) for document in limited]
    assert limited == everything[: len(limited)]
    assert sum(sizes) >= limit > sum(sizes[:-1])


def test_an_empty_part_is_refused(tmp_path):
    write_corpus([Document("one", "text")], tmp_path / "corpus")
    with pytest.raises(InputError, match="no document"):
        for part in PARTS:
            ids(tmp_path / "corpus", part)


def test_documents_are_joined_up_to_a_size():
    given = [Document(str(n), "x" * n) for n in (3, 2, 6, 1, 9, 2)]
    found = list(joined(given, 6))
    # The size counts the texts, without the spaces between them.
    assert [(document.id, document.text) for document in found] == [
        ("3", "xxx xx xxxxxx"),
        ("1", "x xxxxxxxxx"),
        ("2", "xx"),
    ]
    assert list(joined(given, None)) == given
    # Spaces stand between words alone.
    pieces = [Document(str(n), text) for n, text in enumerate(["a b", "c.", "日本", "語", "x"])]
    assert list(joined(pieces, 100)) == [Document("0", "a b c. 日本語x")]


@given(st.lists(documents(), min_size=1, max_size=5), st.integers(1, 60))
def test_joining_keeps_text_and_gold_words(given, size):
    found = list(joined(given, size))
    assert "".join("".join(d.text for d in found).split()) == "".join("".join(d.text for d in given).split())
    if all(document.boundaries is not None for document in given):
        assert [w for d in found for w in words(d.text, d.boundaries)] == [
            w for d in given for w in words(d.text, d.boundaries)
        ]
    assert all(len(document.text.encode()) >= size for document in found[:-1])


@given(documents())
def test_words_in_bytes(document):
    """Runs without whitespace, cut at gold boundaries, character by character."""
    expected, begin, cuts = [], None, set(document.boundaries or ())
    for place in range(len(document.text) + 1):
        space = place == len(document.text) or document.text[place].isspace()
        if begin is not None and (space or place in cuts):
            expected.append((len(document.text[:begin].encode()), len(document.text[:place].encode())))
            begin = None
        if not space and begin is None:
            begin = place
    assert [tuple(word) for word in words_of(document).tolist()] == expected


@given(documents())
def test_words_of_whitespace_are_those_of_split(document):
    data = document.text.encode()
    assert [data[begin:end].decode() for begin, end in whitespace_words(data)] == document.text.split()


@given(documents(), st.integers(4, 20))
def test_passages_have_the_words_that_lie_in_them(document, context):
    passages = list(passages_of(document, context))
    assert b"".join(passage.data for passage in passages) == document.text.encode()
    offset, spans = 0, words_of(document).tolist()
    for number, passage in enumerate(passages):
        end = offset + len(passage.data)
        inside = [[a - offset, b - offset] for a, b in spans if offset <= a and b <= end]
        assert passage.id == f"d:{number}" and passage.words.tolist() == inside
        assert 0 < len(passage.data) <= context
        offset = end


def test_stored_texts(tmp_path):
    given = [text for n in range(3) for text in passages_of(Document(f"é{n}", "zwei Wörter, 日本"), 12)]
    given.append(Text("none", b"\xff\x00", np.zeros((0, 2), np.int64)))
    write_texts(given, tmp_path / "texts.parquet")
    found = read_texts(tmp_path / "texts.parquet")
    assert [(text.id, text.data, text.words.tolist()) for text in found] == [
        (text.id, text.data, text.words.tolist()) for text in given
    ]
    assert all(text.words.shape[1:] == (2,) and text.words.dtype == np.int64 for text in found)
