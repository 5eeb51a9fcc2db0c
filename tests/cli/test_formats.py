"""Commands read a corpus in any format, which they guess, and never take one format for another."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import ended_here, tokenlab_here

SENTENCES = ["共同创造美好的新世纪", "美好的世纪"]
VERSE = '<seg id="b.GEN.1.{}" type="verse">{}</seg>\n'
CES = '<?xml version="1.0"?>\n<cesDoc><text><body>\n{}</body></text></cesDoc>\n'


def content(form):
    """SENTENCES in a format."""
    if form == "text":
        return "".join(f"{sentence}\n" for sentence in SENTENCES).encode()
    if form == "sighan":
        return "".join(f"{'  '.join(sentence)}\n" for sentence in SENTENCES).encode()
    if form == "ces":
        verses = (VERSE.format(*numbered) for numbered in enumerate(SENTENCES, 1))
        return CES.format("".join(verses)).encode()
    if form == "jsonl":
        return "".join(json.dumps({"text": sentence}) + "\n\n" for sentence in SENTENCES).encode()
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": SENTENCES}), sink)
    return sink.getvalue().to_pybytes()


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """What `statistics` prints of SENTENCES."""
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_bytes(content("text"))
    return tokenlab_here("statistics", path)


@pytest.mark.parametrize("form", ["text", "ces", "jsonl", "parquet"])
def test_every_format_is_guessed(tmp_path, form, counted):
    ending = {"text": "txt", "ces": "xml"}.get(form, form)
    for name in (f"corpus.{ending}", "corpus", "corpus.txt"):
        (tmp_path / name).write_bytes(content(form))
        assert tokenlab_here("statistics", tmp_path / name) == counted, name
    assert tokenlab_here("statistics", "-", stdin=content(form)) == counted
    assert tokenlab_here("statistics", "-", "--format", form, stdin=content(form)) == counted
    if form != "parquet":
        for name, packed in (("c.gz", gzip.compress(content(form))), ("c.zst", pa.compress(content(form), "zstd"))):
            (tmp_path / name).write_bytes(packed if isinstance(packed, bytes) else packed.to_pybytes())
            assert tokenlab_here("statistics", tmp_path / name) == counted, name


def test_words_of_sighan_are_joined_and_its_lines_stay(tmp_path, counted):
    (tmp_path / "gold.utf8").write_bytes(content("sighan"))
    assert tokenlab_here("statistics", tmp_path / "gold.utf8", "--format", "sighan") == counted
    assert tokenlab_here("statistics", tmp_path / "gold.utf8") != counted
    lines = tokenlab_here("segment", "-", "--format", "sighan", stdin="美 好\n\n的　世\n").split("\n")
    assert [line.replace(" ", "") for line in lines] == ["美好", "", "的世", ""]


def test_every_command_reads_the_same_sentences(tmp_path):
    """Lines of documents are sentences; documents are texts."""
    document = tmp_path / "d.jsonl"
    document.write_text(json.dumps({"content": "美好\r\n的世"}) + "\n", encoding="utf-8")
    key = ["--text-key", "content"]
    assert tokenlab_here("segment", document, *key).count("\n") == 2
    for form in ("text", "ces"):  # A second text that has no keys is read without one.
        (tmp_path / form).write_bytes(content(form))
    by = [tokenlab_here("segment", document, *key, "--statistics-from", tmp_path / form) for form in ("text", "ces")]
    assert by[0] == by[1] and by[0].count("\n") == 2
    assert json.loads(tokenlab_here("bits", "measure", document, *key, "--json"))["lines"] == 2
    assert tokenlab_here("bits", "encode", document, *key).count("\n") == 1
    assert tokenlab_here("patches", "cut", document, *key, "--patcher", "character") == "美|好|\r|\\x0A|的|世\n"
    tokenlab_here("codes", "learn", document, *key, "--code", "byte", "-o", tmp_path / "code.json")
    atoms = tokenlab_here("codes", "encode", "--code", tmp_path / "code.json", document, *key)
    assert tokenlab_here("codes", "decode", "--code", tmp_path / "code.json", stdin=atoms) == "美好 的世\n"


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        ("<!DOCTYPE html>\n<p>text</p>\n", "standard input: a DOCTYPE"),
        ('<?xml version="1.0"?>\n<TEI>text</TEI>\n', "standard input: no verse"),
        ('{"body": "a"}\n', "standard input:1: no key 'text'"),
        ('{"a": [1,\n2]}\n', "standard input:1: not JSON"),
        ("<TEI><p>text</p></TEI>\n", "standard input: no verse"),
        ("{\n", "standard input:1: not JSON"),
        ("PAR1 and no more", "standard input: damaged"),
    ],
)
def test_what_is_no_text_is_not_cut_as_text(stdin, message):
    for command in (["segment", "-"], ["bits", "encode", "-"]):
        said = tokenlab_here(*command, stdin=stdin, status=2)
        assert message in said and "--format" in said and "/tokenlab-" not in said
    if not stdin.startswith("PAR1"):
        assert "".join(tokenlab_here("segment", "-", "--format", "text", stdin=stdin).split()) == "".join(stdin.split())


def test_text_that_begins_with_a_bracket_is_text():
    for text in ("[1] 新闻\n", "{a} b\n", "< 5 %\n", "<b>bold</b>\n"):
        assert ended_here("segment", "-", "--isolate", "none", stdin=text).status == 0


def test_a_name_tells_where_the_first_bytes_do_not(tmp_path):
    """A list of numbers is a footnote's mark in a text, and JSON in a file of that name."""
    for name, status in (("a.txt", 0), ("a.json", 2), ("a.jsonl", 2), ("a.xml", 2)):
        (tmp_path / name).write_text("[1, 2]\n", encoding="utf-8")
        assert ended_here("segment", tmp_path / name, "--isolate", "none").status == status, name


def test_gold_words_are_measured(tmp_path):
    from tiny_tokenizers import EXPRESSIONS, byte_level, train

    train(byte_level(EXPRESSIONS["gpt2"]), SENTENCES, 20).save(str(tmp_path / "t.json"))
    command = ["measure", "-", "--tokenizer", tmp_path / "t.json", "--json"]
    (plain,) = json.loads(tokenlab_here(*command, stdin=content("text")))
    (gold,) = json.loads(tokenlab_here(*command, "--format", "sighan", stdin=content("sighan")))
    assert (plain["words"], gold["words"]) == (None, 15) and plain["tokens"] == gold["tokens"]
