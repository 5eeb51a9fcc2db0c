"""Labelled texts: every format gives the same, bad rows are named, and no passage is in two parts."""

import json

import numpy as np
import polars as pl
import pytest

from tokenlab.classification.labelled import (
    BOOKS,
    bible_groups,
    in_common,
    labelled_texts,
    read_labelled,
    split_passages,
)
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.text.documents import Document

REVIEWS = [
    {"stars": 5, "review_body": 'Sehr gut, "wirklich"\n  gut', "language": "de"},
    {"stars": 1, "review_body": "不好", "language": "zh"},
    {"stars": 1, "review_body": "Nie wieder", "language": "de"},
    {"stars": 5, "review_body": " \n", "language": "de"},
]


def written(folder, format):
    path = folder / f"reviews.{format}"
    if format == "jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in REVIEWS))
    elif format == "csv":
        pl.DataFrame(REVIEWS).write_csv(path)
    else:
        pl.DataFrame(REVIEWS).write_parquet(path)
    return path


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_reviews_of_a_language_in_every_format(tmp_path, format):
    path = written(tmp_path, format)
    found = read_labelled(path, format, only={"language": "de"})
    assert found.texts == ['Sehr gut, "wirklich" gut', "Nie wieder"]
    assert found.classes == ("1", "5") and found.labels.tolist() == [1, 0]
    assert found.passages == found.texts
    assert found.ids == [f"{path}:1", f"{path}:3"]
    assert len(read_labelled(path, format).texts) == 3


def test_a_folder_with_a_file_for_each_class(tmp_path):
    (tmp_path / "neg.txt").write_text("bad\n\nworse\n")
    (tmp_path / "pos.txt").write_text("good\n")
    (tmp_path / "SOURCE.json").write_text("{}")
    found = read_labelled(tmp_path, "text")
    assert found.ids == ["neg:1", "neg:3", "pos:1"] and found.texts == ["bad", "worse", "good"]
    assert found.classes == ("neg", "pos") and found.labels.tolist() == [0, 0, 1]


BAD = [
    ("jsonl", '{"stars": 1}', "no column 'review_body', only stars"),
    ("jsonl", '{"stars": 1, "review_body": 2}', "'review_body' has values of type Int64"),
    ("jsonl", '{"stars": true, "review_body": "a"}', "'stars' has values of type Boolean"),
    (
        "jsonl",
        '{"stars": 2, "review_body": "a"}\n{"stars": 1, "review_body": "b\\ud800c"}',
        ":2: NUL or a lone surrogate",
    ),
    ("jsonl", '{"stars": 1, "review_body": "a"}', "texts of 1 classes"),
    ("csv", "stars,review_body\n1,a\n2", ":2: no value for 'review_body'"),
    ("csv", "stars,review_body\n1,a\n,b", ":2: no value for 'stars'"),
    ("csv", "", "cannot be read as csv (empty CSV)"),
    ("parquet", "PAR1", "cannot be read as parquet"),
]


@pytest.mark.parametrize(("format", "content", "message"), BAD)
def test_a_bad_file_is_one_line_that_names_the_place(tmp_path, format, content, message):
    path = tmp_path / "reviews"
    path.write_text(content)
    with pytest.raises(InputError) as error:
        read_labelled(path, format)
    assert str(error.value).startswith(str(path)) and message in str(error.value) and "\n" not in str(error.value)


def test_a_label_outside_the_classes_and_an_empty_class(tmp_path):
    path = written(tmp_path, "jsonl")
    with pytest.raises(InputError, match=r"reviews.jsonl:2: the label '1'"):
        read_labelled(path, "jsonl", classes=("5", "4"))
    with pytest.raises(InputError, match="no text of the class '4'"):
        read_labelled(path, "jsonl", classes=("1", "4", "5"))


def bible(without=()):
    """Chapters of different lengths, some verses of which are left out."""
    books = [(book, chapter) for group in BOOKS.values() for book in group.split() for chapter in range(1, 12)]
    ids = [f"b.{book}.{c}.{v}" for book, c in books for v in range(1, 2 + (c * 5 + len(book)) % 9)]
    return bible_groups([Document(id, f"text of {id}") for id in ids if id not in without])


def test_verses_have_the_group_of_their_book():
    texts = bible()
    by_id = dict(zip(texts.ids, [texts.classes[label] for label in texts.labels], strict=True))
    assert by_id["b.DEU.1.1"] == "law" and by_id["b.EST.1.1"] == "history" and by_id["b.SON.1.1"] == "poetry"
    assert by_id["b.ISA.1.1"] == "prophets" and by_id["b.REV.1.1"] == "new testament"
    assert sum(len(books.split()) for books in BOOKS.values()) == 66
    assert texts.passages[texts.ids.index("b.DEU.2.3")] == "b.DEU.2"


@pytest.mark.parametrize("id", ["b.XYZ.1.1", "b.GEN.1", "line:7"])
def test_an_id_of_no_verse_is_an_error(id):
    with pytest.raises(InputError, match=f"{id}: no verse"):
        bible_groups([Document(id, "text")])


def test_no_chapter_is_in_two_parts_and_parts_have_their_shares():
    texts = bible()
    parts = split_passages(texts, validation=0.1, test=0.2, seed=3)
    passages = [set(part.passages) for part in parts]
    assert not passages[0] & passages[1] and not passages[0] & passages[2] and not passages[1] & passages[2]
    assert sorted(id for part in parts for id in part.ids) == sorted(texts.ids)
    whole = np.bincount(texts.labels)
    for part, share in zip(parts, (0.7, 0.1, 0.2), strict=True):
        assert np.bincount(part.labels) / whole == pytest.approx(share, abs=0.05)
    assert split_passages(texts, validation=0.1, test=0.2, seed=4).test.ids != parts.test.ids


def test_shared_verses_are_split_alike_in_every_language():
    one, other = bible(without={"b.GEN.1.1"}), bible(without={"b.GEN.1.2", "b.REV.3.1"})
    other = other.take(reversed(range(len(other.ids))))
    shared = in_common([one, other])
    assert shared[0].ids == shared[1].ids and len(shared[0].ids) == len(bible().ids) - 3
    with pytest.raises(InputError, match="no corpora"):
        in_common([])
    splits = [split_passages(texts, validation=0.1, test=0.1, seed=0) for texts in shared]
    assert [part.ids for part in splits[0]] == [part.ids for part in splits[1]]


def test_copies_of_a_text_stay_together():
    texts = labelled_texts([(str(n), "x" * (n % 40 + 1), str(n % 2), "x" * (n % 40)) for n in range(400)], None, "x")
    parts = split_passages(texts, validation=0.2, test=0.2, seed=0)
    assert sum(len(set(part.texts)) for part in parts) == 40


def test_a_part_without_a_class_is_an_error():
    texts = labelled_texts([("1", "a", "a", "1"), ("2", "b", "b", "2"), ("3", "c", "b", "3")], None, "x")
    with pytest.raises(InputError, match=r"part for .*: no text of the class 'a'"):
        split_passages(texts, validation=0.2, test=0.2, seed=0)
    for shares in ({"validation": 0.0, "test": 0.5}, {"validation": 0.5, "test": 0.5}):
        with pytest.raises(ParameterError, match="shares above 0"):
            split_passages(texts, **shares, seed=0)
