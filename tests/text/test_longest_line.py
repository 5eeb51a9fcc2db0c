"""A line, verse or document longer than the limit is an error in one line, and memory stays near the limit."""

import gzip
import subprocess

import memory
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from archives import zstd
from tiny_tokenizers import EXPRESSIONS, byte_level, train

from tokenlab.core.errors import InputError
from tokenlab.text.lines import read_lines, read_whole
from tokenlab.text.readers import read_documents

MIB = 1 << 20


def text_of(form: str, size: int) -> bytes:
    """A file whose second text has so many bytes, in any format but Parquet."""
    long = b"\xe4\xb8\x8a" * (size // 3) + b"x" * (size % 3)
    match form:
        case "jsonl":
            return b'{"text": "a"}\n{"text": "' + long[12:] + b'"}\n{"text": "b"}\n'
        case "ces":
            verses = b'<seg id="1" type="verse">a</seg>\n<seg id="2" type="verse">' + long + b"</seg>"
            return b"<cesDoc>\n" + verses + b"</cesDoc>"
    return b"a\n" + long + b"\nb\n"


@pytest.mark.parametrize("form", ["text", "sighan", "jsonl", "ces"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd])
def test_the_limit_is_exact_in_every_format(tmp_path, form, pack):
    path = tmp_path / "text"
    fits = MIB if form != "ces" else MIB // 3  # Verses are counted in characters.
    path.write_bytes(pack(text_of(form, fits)))
    assert [*read_documents(path, form, longest_line=1)]
    path.write_bytes(pack(text_of(form, 4 * MIB)))
    assert len([*read_documents(path, form, longest_line=4)]) == (2 if form == "ces" else 3)
    with pytest.raises(InputError) as error:
        [*read_documents(path, form, longest_line=1)]
    assert str(error.value).startswith(f"{path}:{3 if form == 'ces' else 2}: a ")
    assert " of more than 1 MiB; " in str(error.value)


@pytest.mark.parametrize("ending", [b"", b"\n", b"\nb"])
def test_one_byte_too_many(tmp_path, ending):
    path = tmp_path / "text"
    path.write_bytes(b"a\n" + b"x" * MIB + ending)
    assert max(map(len, read_lines(path, longest_line=1))) == MIB
    path.write_bytes(b"a\n" + b"x" * (MIB + 1) + ending)
    with pytest.raises(InputError, match=r"text:2: a line .* 1 MiB"):
        [*read_lines(path, longest_line=1)]


def test_a_value_of_parquet(tmp_path):
    path = tmp_path / "text.parquet"
    pq.write_table(pa.table({"text": ["a"] * 200 + ["x" * MIB, "x" * (MIB + 1)]}), path)
    assert len([*read_documents(path, "parquet")]) == 202
    with pytest.raises(InputError, match=r"text.parquet: row 202: .* 1 MiB"):
        [*read_documents(path, "parquet", longest_line=1)]


@pytest.mark.parametrize("inside", [b"<b x='%s'/>", b"<!--%s-->", b"<%s/>"])
def test_a_tag_without_end(tmp_path, inside):
    path = tmp_path / "bible.xml"
    path.write_bytes(b"<a>\n" + inside % (b"y" * 2 * MIB) + b"</a>")
    with pytest.raises(InputError, match=r"bible.xml:2: a tag or comment"):
        [*read_documents(path, "ces", longest_line=1)]


def test_elements_without_end(tmp_path):
    path = tmp_path / "bible.xml"
    path.write_bytes(b"<a>" * 1_000_000)
    with pytest.raises(InputError, match=r"bible.xml:1: 1000 elements"):
        [*read_documents(path, "ces")]


def test_a_text_in_one_piece(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(zstd(b"x" * (64 * MIB + 1)))
    with pytest.raises(InputError, match=r"text: .* 64 MiB"):
        read_whole(path)


COMMANDS = """
segment -
bits encode bomb --on-error replace
bits decode bomb
score bomb bomb
segment bomb.jsonl
segment bomb.parquet --longest-line 40
segment bomb.xml
exact next --model none --file bomb
patches cut small --patcher bpe --tokenizer t.json --summary --merges bomb
codes show /dev/zero
"""


@pytest.fixture(scope="module")
def bombs(tmp_path_factory):
    """Files of some 30 kB that unpack to a gigabyte in one line, verse or document."""
    folder = tmp_path_factory.mktemp("bombs")
    beginnings = {"bomb": b"", "bomb.jsonl": b'{"text": "', "bomb.xml": b'<cesDoc><seg id="1" type="verse">'}
    for name, beginning in beginnings.items():
        with pa.CompressedOutputStream(str(folder / name), "zstd") as file:
            file.write(beginning)
            for _ in range(1024):
                file.write(b"x" * MIB)
    table = pa.table({"text": pa.DictionaryArray.from_arrays([0] * 1000, ["x" * 60 * MIB])})
    pq.write_table(table, folder / "bomb.parquet", compression="zstd", dictionary_pagesize_limit=1 << 30)
    assert all(path.stat().st_size < 100_000 for path in folder.iterdir())
    (folder / "small").write_text("ab")
    train(byte_level(EXPRESSIONS["gpt2"]), ["abc abc"], 5).save(str(folder / "t.json"))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS.strip().splitlines())
def test_a_bomb_is_one_line_within_bounded_memory(bombs, command):
    with (bombs / "bomb").open("rb") as given:
        done = subprocess.run(
            [*memory.COMMAND, *command.split()], stdin=given, capture_output=True, text=True, cwd=bombs
        )
    said, peak = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, ""), done
    assert " of more than " in said, said
    assert int(peak.split()[1]) < 900, peak
