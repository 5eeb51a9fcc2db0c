import gzip
import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from archives import zstd
from hypothesis import given
from hypothesis import strategies as st
from memory import traced

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.text.documents import Document, words
from tokenlab.text.readers import read_documents
from tokenlab.text.store import write_corpus


def bible(*verses: str) -> str:
    """A CES file; the first verse stands in line 6."""
    return (
        '<?xml version="1.0" ?>\n<cesDoc version="4">\n<cesHeader><title>No verse</title></cesHeader>\n'
        '<text><body id="Bible" lang="xx">\n<div id="b.GEN" type="book"><div id="b.GEN.1" type="chapter">\n'
        + "\n".join(verses)
        + "\n</div></div></body></text></cesDoc>\n"
    )


def verse(number: int, text: str) -> str:
    return f'<seg id="b.GEN.1.{number}" type="verse">{text}</seg>'


def write(path: Path, data: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def refused(path: Path, format: str, **options) -> str:
    with pytest.raises(InputError) as error:
        list(read_documents(path, format, **options))
    message = str(error.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


# sighan


@pytest.mark.parametrize("space", [" ", "  ", "\u3000", "\u3000\u3000", " \u3000  "])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd])
def test_segmented_text_however_it_is_laid_out(tmp_path, space, ending, bom, pack):
    lines = [space.join(["上海", "东西", "。"]) + space, "", space, space + space.join(["他", "说"])]
    path = write(tmp_path / "pku_training.utf8", pack((bom + ending.join(lines)).encode()))
    assert list(read_documents(path, "sighan")) == [
        Document("pku_training:1", "上海东西。", (2, 4)),
        Document("pku_training:4", "他说", (1,)),
    ]


@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"]), min_size=1), min_size=1),
        min_size=1,
    ),
    st.sampled_from([" ", "  ", "\u3000"]),
)
def test_segmented_words_come_back(tmp_path_factory, paragraphs, space):
    path = tmp_path_factory.mktemp("sighan") / "words.txt"
    # A BOM first: the reader takes away one, which may be part of a word here.
    write(path, "\ufeff" + "".join(space.join(paragraph) + "\n" for paragraph in paragraphs))
    documents = list(read_documents(path, "sighan"))
    assert [words(document.text, document.boundaries) for document in documents] == paragraphs
    assert [document.text for document in documents] == ["".join(paragraph) for paragraph in paragraphs]


# ces


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_verses(tmp_path, pack):
    text = bible(
        verse(1, "\n\t\t起初， 神  创造\n天地。\t"),
        verse(2, " <note>in</note>side &amp; <hi><hi>deep</hi></hi>er &#x4E0A; <![CDATA[<seg>]]> "),
        verse(3, " \n "),
        '<seg id="b.GEN.1.4" type="verse"/>',
        '<seg id="title" type="heading">No verse</seg>',
        '<seg type="verse" id="b.GEN.1.5">last</seg>',
    )
    path = write(tmp_path / "Test.xml", pack(text.encode()))
    assert list(read_documents(path, "ces")) == [
        Document("b.GEN.1.1", "起初， 神 创造 天地。"),
        Document("b.GEN.1.2", "inside & deeper 上 <seg>"),
        Document("b.GEN.1.5", "last"),
    ]


def test_xml_in_another_encoding_than_utf8(tmp_path):
    text = bible(verse(1, "Größe")).replace('"1.0"', '"1.0" encoding="iso-8859-1"')
    assert [verse.text for verse in read_documents(write(tmp_path / "a.xml", text.encode("latin-1")), "ces")] == [
        "Größe"
    ]


def test_verse_ids_are_unique_over_the_files_of_a_folder(tmp_path):
    write(tmp_path / "books" / "1.xml", bible(verse(1, "a")))
    write(tmp_path / "books" / "2.xml", bible(verse(2, "b")))
    assert [document.text for document in read_documents(tmp_path / "books", "ces")] == ["a", "b"]
    write(tmp_path / "books" / "3.xml", bible(verse(2, "c")))
    assert refused(tmp_path / "books", "ces").startswith("/3.xml: the verse id b.GEN.1.2 occurs twice;")


def test_memory_is_flat_for_xml(tmp_path):
    path = tmp_path / "Big.xml.gz"
    filling = "x" * 500
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write(bible(*(verse(number, filling) for number in range(20_000))))
    count, peak = traced(lambda: sum(1 for _ in read_documents(path, "ces")))
    assert count == 20_000
    assert peak < 6e6  # Of 11 MB of XML; most of it are the 20,000 ids that must be unique.


# jsonl


def test_json_lines(tmp_path):
    rows = [
        {"text": "one\n\ntwo", "meta": {"redpajama_set_name": "RedPajamaBook"}},
        {"text": "上"},
        {"text": "  \n"},
        {"meta": {}, "text": "c", "more": [1, {"text": 2}]},
        {"meta": "{}", "text": "\U0001f600"},
        {"meta": {"redpajama_set_name": "RedPajamaC4"}, "text": "é"},
    ]
    text = "\n".join(json.dumps(row, ensure_ascii=number % 2 == 0) for number, row in enumerate(rows)) + "\n\n"
    expected = [
        Document("chunk:1", "one\n\ntwo", None, "RedPajamaBook"),
        Document("chunk:2", "上"),
        Document("chunk:4", "c"),
        Document("chunk:5", "\U0001f600"),
        Document("chunk:6", "é", None, "RedPajamaC4"),
    ]
    data = text.encode()
    for path in (
        write(tmp_path / "chunk.jsonl", data),
        write(tmp_path / "chunk.jsonl.gz", gzip.compress(data)),
        write(tmp_path / "chunk.jsonl.zst", zstd(data)),
    ):
        assert list(read_documents(path, "jsonl")) == expected
        assert list(read_documents(path, "jsonl", sources=["RedPajamaC4", "x"])) == expected[-1:]
        assert refused(path, "jsonl", sources=["A", "B"]).startswith(": no document from the sources A, B;")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])).filter(str.strip), min_size=1), st.booleans())
def test_any_text_comes_back_from_json(tmp_path_factory, texts, ensure_ascii):
    path = tmp_path_factory.mktemp("jsonl") / "a.jsonl"
    write(path, "".join(json.dumps({"text": text}, ensure_ascii=ensure_ascii) + "\n" for text in texts))
    assert [document.text for document in read_documents(path, "jsonl")] == texts


def with_declaration(declaration: str, text: str = "a") -> str:
    return bible(verse(1, text)).replace("?>", f"?>\n{declaration}", 1)


def after_a_line(line: str) -> str:
    return '{"text": "fine"}\n\n' + line + "\n"


BOMB = '<!DOCTYPE cesDoc [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
REFUSED = [
    ("ces", "", ":1: malformed XML ("),
    ("ces", "no xml", ":1: malformed XML ("),
    ("ces", bible(verse(1, "a"), verse(2, "b</sog>")), ":7: malformed XML ("),
    ("ces", bible(verse(1, "a"), verse(2, "a < b")), ":7: malformed XML ("),
    ("ces", bible(verse(1, "a"), verse(2, "&nbsp;")), ":7: malformed XML ("),
    ("ces", bible(verse(1, "a"), verse(2, "&#xD800;")), ":7: malformed XML ("),
    ("ces", bible(verse(1, "a"))[:-30], ":7: malformed XML ("),
    ("ces", bible(verse(1, "a")) + "<more/>", ":8: malformed XML ("),
    ("ces", bible(verse(1, "a")).encode().replace(b">a<", b">\xff<"), ":6: malformed XML ("),
    ("ces", bible(verse(1, "a")).replace('"1.0"', '"1.0" encoding="klingon"'), ": XML in an encoding that is not"),
    ("ces", with_declaration(BOMB, "&b;"), ": a DOCTYPE or an entity"),
    ("ces", with_declaration('<!DOCTYPE cesDoc SYSTEM "file:///etc/passwd">'), ": a DOCTYPE or an entity"),
    (
        "ces",
        with_declaration('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>', "&b;"),
        ": a DOCTYPE or an entity",
    ),
    ("ces", with_declaration('<!DOCTYPE a [<!ENTITY % b SYSTEM "http://localhost/x.dtd"> %b;]>'), ": a DOCTYPE or an"),
    ("ces", with_declaration("<!DOCTYPE cesDoc>"), ": a DOCTYPE or an entity"),
    ("ces", bible('<seg id="x" type="heading">Title</seg>'), ": no verse ("),
    ("ces", bible(verse(1, " ")), ": no document;"),
    ("ces", bible(verse(1, "a"), verse(2, "b"), verse(1, "c")), ": the verse id b.GEN.1.1 occurs twice;"),
    ("ces", bible(verse(1, "a"), '<seg type="verse">without</seg>'), ": a verse without an id ('without');"),
    ("jsonl", after_a_line('{"text": "a"'), ":3: not JSON ("),
    ("jsonl", after_a_line("[" * 100_000), ":3: not JSON ("),
    ("jsonl", after_a_line('{"text": ' + "1" * 5000 + "}"), ":3: not JSON ("),
    ("jsonl", after_a_line('["text"]'), ":3: JSON, but not an object"),
    ("jsonl", after_a_line('{"content": "a", "id": 1}'), ":3: no key 'text', only content, id"),
    ("jsonl", after_a_line('{"text": null}'), ":3: the value of 'text' is not a string"),
    ("jsonl", after_a_line('{"text": "a", "meta": {"redpajama_set_name": 1}}'), ":3: the value of 'meta.redpajama_set"),
    ("jsonl", after_a_line(r'{"text": "a\ud800"}'), ":3: 'text' holds a lone surrogate"),
    (
        "jsonl",
        after_a_line(r'{"text": "a", "meta": {"redpajama_set_name": "\udfff"}}'),
        ":3: 'meta.redpajama_set_name'",
    ),
    ("sighan", "", ": no document;"),
    ("jsonl", "\n \r\n\u3000\n", ": no document;"),
    ("text", "\ufeff", ": no document;"),
]


@pytest.mark.parametrize(("format", "content", "message"), REFUSED)
def test_what_cannot_be_read_is_one_line_that_names_the_place(tmp_path, format, content, message):
    assert refused(write(tmp_path / "file", content), format).startswith(message)


# text


def test_text_lines_stay_as_they_are(tmp_path):
    path = write(tmp_path / "notes.v2.txt.gz", gzip.compress("\ufeff a  b \r\n\n\u3000\r\n上\u2028海".encode()))
    assert list(read_documents(path, "text")) == [
        Document("notes.v2:1", " a  b "),
        Document("notes.v2:4", "上\u2028海"),
    ]


# parquet


def test_parquet_of_this_project(tmp_path):
    documents = [Document("a", "上海。", (2,), "news"), Document("b", "b b", None, "web"), Document("c", "c", ())]
    write_corpus([*documents, Document("blank", " \n")], tmp_path / "corpus", shard_characters=3)
    assert list(read_documents(tmp_path / "corpus", "parquet")) == documents
    assert list(read_documents(tmp_path / "corpus" / "part-00000.parquet", "parquet")) == documents[:1]
    assert list(read_documents(tmp_path / "corpus", "parquet", sources={"web"})) == documents[1:2]


@pytest.mark.parametrize("type", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_parquet_of_others(tmp_path, type):
    texts = [f"text {number % 100}" for number in range(300)]
    table = pa.table({"url": texts[::-1], "content": pa.array(texts).cast(type)})
    pq.write_table(table, tmp_path / "web.parquet", row_group_size=70)
    documents = read_documents(tmp_path / "web.parquet", "parquet", text_key="content")
    assert list(documents) == [Document(f"web:{row}", text) for row, text in enumerate(texts, 1)]


def test_parquet_that_holds_no_texts(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": [1, 2], "s": ["a", None], "b": pa.array([b"\xff", b"a"]).view(pa.binary())}), path)
    assert refused(path, "parquet").startswith(": no column 'text', only n, s, b;")
    assert refused(path, "parquet", text_key="n").startswith(": the column 'n' is int64,")
    assert refused(path, "parquet", text_key="b").startswith(": the column 'b' is binary,")
    assert refused(path, "parquet", text_key="s").startswith(": row 2: no value in the column 's';")
    pq.write_table(pa.table({"text": pa.array([b"\xff"]).view(pa.string())}), path)
    assert refused(path, "parquet").startswith(": a text that is not UTF-8;")
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), path)
    assert refused(path, "parquet").startswith(": no document;")
    assert "not the Parquet expected" in refused(write(path, b"PAR1 and nothing more"), "parquet")


# files and folders


def test_a_folder_is_read_in_sorted_order(tmp_path):
    write(tmp_path / "b.txt", "b\n")
    write(tmp_path / "a" / "z.utf8.gz", gzip.compress(b"z\n"))
    write(tmp_path / "a" / "c.txt.zst", zstd(b"c\n"))
    write(tmp_path / "README.md", b"\xff")
    write(tmp_path / ".hidden.txt", b"\xff")
    write(tmp_path / ".git" / "c.txt", b"\xff")
    (tmp_path / "folder.txt").mkdir()
    assert [document.id for document in read_documents(tmp_path, "sighan")] == ["a/c:1", "a/z:1", "b:1"]
    assert [document.id for document in read_documents(tmp_path, "text")] == ["a/c:1", "b:1"]


def test_folders_that_cannot_be_read(tmp_path):
    write(tmp_path / "a.md", "a")
    assert refused(tmp_path, "sighan").startswith(": no file in this folder ends in .utf8 or .txt;")
    write(tmp_path / "b.txt", "b\n")
    write(tmp_path / "b.txt.gz", gzip.compress(b"b\n"))
    assert refused(tmp_path, "text").startswith("/b.txt.gz: its documents would have the same ids")


@pytest.mark.parametrize("format", ["text", "parquet"])
def test_a_file_that_is_not_there(tmp_path, format):
    assert refused(tmp_path / "missing", format).startswith(": no such file;")


@pytest.mark.parametrize(
    ("format", "options", "message"),
    [
        ("csv", {}, "format is 'csv'; use one of sighan, "),
        ("ces", {"text_key": "text"}, "text_key: the format ces"),
        ("text", {"sources": ["a"]}, "sources: the format text"),
        ("jsonl", {"sources": "RedPajamaC4"}, "sources: 'RedPajamaC4'"),
    ],
)
def test_parameters_are_checked_at_once(tmp_path, format, options, message):
    with pytest.raises(ParameterError, match=message):
        read_documents(tmp_path, format, **options)


# The real corpora, against the counts published with them


def test_the_pku_corpus(mirror, tmp_path):
    path = mirror / "pku" / "pd199801_train.utf8.gz"
    types = Counter(
        word for document in read_documents(path, "sighan") for word in words(document.text, document.boundaries)
    )
    assert len(types) == 55_419
    assert write_corpus(read_documents(path, "sighan"), tmp_path / "corpus") == (19_484, 1_841_735, 1_120_721)


@pytest.mark.parametrize(
    ("name", "verses", "characters", "distinct"),
    [("Chinese", 31_103, 1_069_340, 3_054), ("English", 31_102, 4_106_715, 62), ("Swahili-NT", 7_853, None, None)],
)
def test_the_bibles(mirror, name, verses, characters, distinct):
    texts = [document.text for document in read_documents(mirror / "bible" / f"{name}.xml.gz", "ces")]
    assert len(texts) == verses
    if characters is not None:
        assert sum(map(len, texts)) == characters
        assert len(set().union(*texts)) == distinct
