import gzip
import io
import os
import random
import threading
from pathlib import Path

import pytest
from archives import zstd
from hypothesis import given
from hypothesis import strategies as st
from memory import traced

from tokenlab.core.errors import InputError
from tokenlab.text import lines
from tokenlab.text.lines import read_blocks, read_lines

COMPRESSIONS = {"plain": bytes, "gzip": gzip.compress, "zstd": zstd}
TEXT = "eins\nzwei drei\n\n 四五 \n\U0001f600"
LINES = ["eins", "zwei drei", "", " 四五 ", "\U0001f600"]


@pytest.fixture(params=COMPRESSIONS)
def compress(request):
    return COMPRESSIONS[request.param]


def expected_lines(data: bytes) -> list[str]:
    """The definition, on the whole text at once."""
    pieces = data.decode("utf-8").removeprefix("\ufeff").split("\n")
    if not pieces[-1]:
        pieces.pop()
    return [piece[:-1] if piece.endswith("\r") else piece for piece in pieces]


def test_lines_of_a_file(tmp_path, compress):
    path = tmp_path / "text.dat"  # The ending says nothing about the compression.
    path.write_bytes(compress(TEXT.encode()))
    assert list(read_lines(path)) == list(read_lines(str(path))) == LINES


def test_lines_of_a_stream_that_stays_open(compress):
    stream = io.BytesIO(compress(TEXT.encode()))
    assert list(read_lines(stream)) == LINES
    assert not stream.closed


def test_lines_of_standard_input(monkeypatch, compress):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(compress(TEXT.encode())), "ascii"))
    assert list(read_lines("-")) == LINES


def test_a_pipe_that_gives_a_byte_at_a_time(compress):
    read_end, write_end = os.pipe()
    data = compress(TEXT.encode())

    def write() -> None:
        with os.fdopen(write_end, "wb", buffering=0) as pipe:
            for byte in data:
                pipe.write(bytes([byte]))

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(read_end, "rb", buffering=0) as pipe:
        assert list(read_lines(pipe)) == LINES
    writer.join()


@given(
    text=st.text(
        st.sampled_from("\n\n\r\ufeffab é上\U0001f600\u2028\x85\x0c") | st.characters(exclude_categories=["Cs"])
    ),
    block=st.integers(1, 9),
    compress=st.sampled_from(sorted(COMPRESSIONS)),
)
def test_lines_are_those_of_the_whole_text_wherever_blocks_end(text, block, compress):
    data = text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK", block)
        assert list(read_lines(io.BytesIO(COMPRESSIONS[compress](data)))) == expected_lines(data)


@given(
    before=st.text(st.sampled_from("\n\rab上\U0001f600\ufeff")),
    bad=st.sampled_from([b"\xff", b"\xed\xa0\x80", b"\xc0\xaf", b"\xe4\xb8", b"\xf4\x90\x80\x80", b"\x80"]),
    after=st.sampled_from([b"", b"\n", b"abc\n"]),
    block=st.integers(1, 9),
)
def test_bad_bytes_are_named_with_line_and_column(before, bad, after, block):
    line = before.count("\n") + 1
    column = len(before.removeprefix("\ufeff").split("\n")[-1]) + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK", block)
        with pytest.raises(InputError) as error:
            list(read_lines(io.BytesIO(before.encode() + bad + after), "x.txt"))
    message = f"x.txt:{line}: not UTF-8 (byte 0x{bad[0]:02X} at column {column}); convert it by `iconv -f "
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("encoding", "named", "text"),
    [
        ("utf-16", "UTF-16", "文字"),
        ("shift_jis", "CP932", "東京の天気は晴れです。明日は雨が降るでしょう。"),
        ("gb18030", "GB18030", "abc\n国家主席今天发表新年讲话，回顾过去一年的工作。"),
        ("big5", "BIG5", "台北市政府今天宣布，新的捷運路線將於明年完工。"),
        ("euc_kr", "CP949", "대한민국의 수도는 서울입니다. 오늘은 날씨가 좋습니다."),
        ("latin-1", "CP1252", "Un café très joli, à côté de l'hôtel."),
    ],
)
def test_the_conversion_of_other_encodings_is_told(encoding, named, text):
    with pytest.raises(InputError, match=f"`iconv -f {named} -t UTF-8`"):
        list(read_lines(io.BytesIO(text.encode(encoding)), "x.txt"))


def test_no_encoding_is_guessed_for_damaged_utf8():
    with pytest.raises(InputError, match="`iconv -f ITS_ENCODING -t UTF-8`"):
        list(read_lines(io.BytesIO("文字".encode() + b"\xff"), "x.txt"))


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_members_and_frames_follow_each_other(pack):
    data = TEXT.encode()
    packed = b"".join(pack(data[start : start + 7]) for start in range(0, len(data), 7))
    assert list(read_lines(io.BytesIO(packed))) == LINES
    assert b"".join(read_blocks(io.BytesIO(packed))) == data
    assert b"".join(read_blocks(io.BytesIO(packed), decompress=False)) == packed


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
@pytest.mark.parametrize("damage", ["cut", "garbage behind", "header"])
def test_damaged_compressed_data(tmp_path, pack, damage):
    packed = pack(random.Random(0).randbytes(500_000).hex().encode())
    damaged = {"cut": packed[:-3], "garbage behind": packed + b"garbage", "header": packed[:4] + b"\xff" * 20}[damage]
    path = tmp_path / "text.packed"
    path.write_bytes(damaged)
    with pytest.raises(InputError, match=r"text\.packed: truncated or corrupt"):
        list(read_lines(path))


def test_gzip_with_a_flipped_bit_never_gives_another_text():
    data = "".join(f"{number * number}\n" for number in range(300)).encode()
    packed = bytearray(gzip.compress(data, mtime=0))
    refused = 0
    for position in range(10, len(packed)):  # Behind the header, of which most says nothing about the content.
        packed[position] ^= 4
        try:
            assert list(read_lines(io.BytesIO(packed))) == expected_lines(data)
        except InputError:
            refused += 1
        packed[position] ^= 4
    assert refused > 0.9 * len(packed)


def test_what_is_no_readable_file(tmp_path):
    with pytest.raises(InputError, match=r"missing.txt: no such file"):
        list(read_lines(tmp_path / "missing.txt"))
    with pytest.raises(InputError, match="a folder, not a file"):
        list(read_lines(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"below: .*Not a directory"):
        list(read_lines(tmp_path / "file" / "below"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path):
    path = tmp_path / "secret.txt"
    path.touch(mode=0)
    with pytest.raises(InputError, match=r"secret.txt: no permission"):
        list(read_lines(path))


def test_only_one_layer_of_compression_goes(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(gzip.compress(b"text")))
    for source in (path, io.BytesIO(path.read_bytes())):
        with pytest.raises(InputError, match=r":1: .*byte 0x8B at column 2"):
            list(read_lines(source))


def test_memory_is_flat(tmp_path):
    path = tmp_path / "big.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(500):
            file.write(("上" * 333 + "\n").encode() * 100)
    count, peak = traced(lambda: sum(1 for _ in read_lines(Path(path))))
    assert count == 50_000  # 50 MB of text
    assert peak < 4e6
