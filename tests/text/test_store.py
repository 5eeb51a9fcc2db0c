import random
from functools import partial
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interrupted import files
from memory import traced

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.text import store
from tokenlab.text.documents import Document, join_words
from tokenlab.text.store import SCHEMA, CorpusSummary, corpus_batches, read_corpus, write_corpus

DOCUMENTS = [
    Document("a:1", "上海东西", (2,), "news"),
    Document("a:2", "a b\u3000上\n", (1, 2), None),
    Document("a:3", "\U0001f600\x00\ufeff", None, "web"),
    Document("a:4", "", ()),
    Document("a:5", "ab", ()),
    Document("", "\u2028", None),
]

anything = st.text(st.characters(exclude_categories=["Cs"]))


@st.composite
def documents(draw):
    text = draw(anything)
    marked = draw(st.booleans())
    offsets = draw(st.sets(st.integers(1, len(text) - 1))) if len(text) > 1 else set()
    return Document(draw(anything), text, tuple(sorted(offsets)) if marked else None, draw(st.none() | anything))


def test_documents_come_back(tmp_path):
    summary = write_corpus(iter(DOCUMENTS), tmp_path / "corpus")
    assert list(read_corpus(tmp_path / "corpus")) == list(read_corpus(str(tmp_path / "corpus"))) == DOCUMENTS
    # a:1 has two words, a:2 "a", "b" between spaces and 上; a:4 none; a:5 one.
    assert summary == CorpusSummary(documents=6, characters=4 + 3 + 3 + 0 + 2 + 0, words=2 + 2 + 0 + 1)


@given(st.lists(documents(), min_size=1, max_size=20), st.integers(1, 30))
def test_any_documents_come_back_from_shards_of_any_size(tmp_path_factory, items, shard_characters):
    folder = tmp_path_factory.mktemp("store") / "corpus"
    summary = write_corpus(items, folder, shard_characters=shard_characters)
    assert list(read_corpus(folder)) == items
    assert summary.documents == len(items)
    assert summary.characters == sum(not character.isspace() for item in items for character in item.text)
    assert (summary.words is None) == all(item.boundaries is None for item in items)


@given(
    st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1), min_size=1), min_size=1)
)
def test_words_are_counted(tmp_path_factory, paragraphs):
    folder = tmp_path_factory.mktemp("store") / "corpus"
    items = [Document(str(number), *join_words(words)) for number, words in enumerate(paragraphs)]
    assert write_corpus(items, folder).words == sum(map(len, paragraphs))


def test_whitespace_slices_are_no_words(tmp_path):
    """ "甲 乙", cut on both sides of the space and before it: two words each time."""
    items = [Document("1", "甲 乙", (1, 2)), Document("2", "甲 乙", (1,)), Document("3", " 甲", (1,))]
    assert write_corpus(items, tmp_path / "corpus") == CorpusSummary(3, 5, 5)


def test_shards_end_once_they_are_full(tmp_path):
    items = [Document(str(number), "x" * size) for number, size in enumerate([3, 3, 3, 10, 1, 1])]
    write_corpus(items, tmp_path / "corpus", shard_characters=5)
    shards = {
        path.name: [len(text) for text in pq.read_table(path)["text"].to_pylist()]
        for path in (tmp_path / "corpus").iterdir()
    }
    assert shards == {"part-00000.parquet": [3, 3], "part-00001.parquet": [3, 10], "part-00002.parquet": [1, 1]}


def test_shards_are_bounded_in_documents_too(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_SHARD_ROWS", 4)
    items = [Document(str(number), "") for number in range(9)]
    write_corpus(items, tmp_path / "corpus")
    assert [pq.read_metadata(path).num_rows for path in sorted((tmp_path / "corpus").iterdir())] == [4, 4, 1]
    assert list(read_corpus(tmp_path / "corpus")) == items


def test_same_documents_same_bytes(tmp_path):
    for name in ("one", "two"):
        write_corpus(DOCUMENTS * 1000, tmp_path / name, shard_characters=5000)
    shards = files(tmp_path / "one")
    assert len(shards) > 2 and files(tmp_path / "two") == shards


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (Document("bad", "abc", (0,)), "word boundaries must ascend"),
        (Document("bad", "abc", (3,)), "word boundaries must ascend"),
        (Document("bad", "abc", (2, 1)), "word boundaries must ascend"),
        (Document("bad", "a", (1,)), "word boundaries must ascend"),
        (Document("bad", "a\ud800"), "a lone surrogate"),
        (Document("bad", "a", None, "\udfff"), "a lone surrogate"),
    ],
)
def test_a_bad_document_is_named_and_nothing_is_written(tmp_path, bad, message):
    with pytest.raises(InputError, match=f"^document 'bad': {message}"):
        write_corpus([*DOCUMENTS, bad], tmp_path / "corpus")
    assert not list(tmp_path.iterdir())


def test_an_error_leaves_the_old_corpus(tmp_path):
    def failing():
        yield from DOCUMENTS * 10
        raise InputError("x.txt:3: not UTF-8")

    folder = tmp_path / "corpus"
    write_corpus(DOCUMENTS, folder)
    for bad in (failing(), iter(())):
        with pytest.raises(InputError):
            write_corpus(bad, folder, shard_characters=3)
        assert list(read_corpus(folder)) == DOCUMENTS
    assert list(tmp_path.iterdir()) == [folder]


def test_nothing_to_write(tmp_path):
    with pytest.raises(InputError, match=r"corpus: no document to write"):
        write_corpus([], tmp_path / "corpus")
    with pytest.raises(ParameterError, match=r"^shard_characters: 0"):
        write_corpus(DOCUMENTS, tmp_path / "corpus", shard_characters=0)
    assert not list(tmp_path.iterdir())


def test_batches_of_columns(tmp_path):
    write_corpus(DOCUMENTS * 4000, tmp_path / "corpus", shard_characters=30_000)
    batches = list(corpus_batches(tmp_path / "corpus", ["boundaries", "id"]))
    assert all(batch.schema.equals(pa.schema([SCHEMA.field("boundaries"), SCHEMA.field("id")])) for batch in batches)
    assert max(batch.num_rows for batch in batches) <= 16_384
    table = pa.Table.from_batches(batches)
    assert table["id"].to_pylist() == [item.id for item in DOCUMENTS] * 4000
    assert table["boundaries"][:4].to_pylist() == [[2], [1, 2], None, []]
    with pytest.raises(ParameterError, match=r"^columns is 'word'; use one of id, text, "):
        corpus_batches(tmp_path / "corpus", ["id", "word"])


def test_what_is_no_corpus(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match=r"no corpus \(no part-00000.parquet"):
            list(read_corpus(folder))
    write_corpus(DOCUMENTS, tmp_path / "corpus", shard_characters=1)
    (tmp_path / "corpus" / "part-00001.parquet").unlink()
    with pytest.raises(InputError, match=r"part-00001.parquet is missing"):
        list(read_corpus(tmp_path / "corpus"))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"boundaries": None}, "no column 'boundaries', only id, text, source"),
        ({"id": [1]}, "the column 'id' is int64"),
        ({"text": [None]}, "row 1: no value in the column 'text'"),
        ({"boundaries": [["x"]]}, "damaged"),
        ({"boundaries": [[5]]}, "'a': word boundaries must ascend"),
        ({"text": pa.array([b"\xff"]).view(pa.string())}, "damaged"),
    ],
)
def test_foreign_parquet(tmp_path, columns, message):
    good = {"id": ["a"], "text": ["text"], "boundaries": [[1]], "source": ["b"]}
    present = {name: values for name, values in (good | columns).items() if values is not None}
    pq.write_table(pa.table(present), tmp_path / "part-00000.parquet")
    with pytest.raises(InputError) as error:
        list(read_corpus(tmp_path))
    assert message in str(error.value)
    assert "part-00000.parquet" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_corpus_rewritten_by_polars(tmp_path):
    """Other tools widen the types and change the order of the columns; nothing may get lost silently."""
    polars = pytest.importorskip("polars")
    write_corpus(DOCUMENTS, tmp_path / "corpus")
    path = tmp_path / "corpus" / "part-00000.parquet"
    table = polars.read_parquet(path).select("source", "boundaries", polars.lit(1).alias("more"), "text", "id")
    table.with_columns(polars.col("boundaries").cast(polars.List(polars.Int64))).write_parquet(path)
    assert list(read_corpus(tmp_path / "corpus")) == DOCUMENTS


def test_damage_is_an_error_and_never_another_text(tmp_path):
    write_corpus(DOCUMENTS * 20, tmp_path / "corpus")
    path = tmp_path / "corpus" / "part-00000.parquet"
    whole = path.read_bytes()
    draw = random.Random(0)
    refused = 0
    for position in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << draw.randrange(8)
        for data in (damaged, whole[:position]):
            path.write_bytes(data)
            try:
                assert list(read_corpus(tmp_path / "corpus")) == DOCUMENTS * 20
            except InputError as error:
                assert "\n" not in str(error)
                refused += 1
    assert refused > len(whole) / 7


def test_memory_does_not_grow_with_the_corpus(tmp_path):
    """Python's own memory; twenty shards cost hardly more than four."""
    paragraph = Document("id", *join_words(["上海", "东西", "南"] * 100))

    def write_and_read(count):
        fresh = (paragraph._replace(boundaries=tuple(int(str(b)) for b in paragraph.boundaries)) for _ in range(count))
        write_corpus(fresh, tmp_path / "corpus", shard_characters=20_000)
        assert sum(1 for _ in read_corpus(tmp_path / "corpus")) == count
        assert len(list(islice(read_corpus(tmp_path / "corpus"), 3))) == 3

    few, many = (traced(partial(write_and_read, count))[1] for count in (160, 800))
    assert many < 1.3 * few
