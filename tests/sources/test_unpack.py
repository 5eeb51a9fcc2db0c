"""Unpacking against archives written by the standard library and pyarrow, whole, damaged and hostile."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from archives import tarred, zipped, zstd

from tokenlab.core.errors import SourceError
from tokenlab.sources.unpack import is_packed, unpacked

TEXT = "共同 创造 美好 的 新 世纪\n".encode() * 8


def unpack(folder: Path, data: bytes, place: str, member: str | None = None, limit: int = 1 << 20) -> bytes:
    path = folder / "fetched"
    path.write_bytes(data)
    return b"".join(unpacked(path, place, member, "training.utf8", limit))


MEMBERS = {"other.utf8": b"other", "deep/training.utf8": TEXT}
PACKED = {
    "training.utf8": (TEXT, None),
    "training.utf8.gz": (gzip.compress(TEXT, mtime=0), None),
    "training.utf8.zst": (zstd(TEXT), None),
    "data.zip": (zipped(MEMBERS), "deep/training.utf8"),
    "data.tar": (tarred(MEMBERS), "deep/training.utf8"),
    "data.tar.gz": (gzip.compress(tarred(MEMBERS), mtime=0), "deep/training.utf8"),
    "data.tgz": (gzip.compress(tarred(MEMBERS), mtime=0), "deep/training.utf8"),
    "gz-in.zip": (zipped({"training.utf8.gz": gzip.compress(TEXT, mtime=0)}), "training.utf8.gz"),
}
UNCHECKED = ("data.tar", "training.utf8.zst")  # no checksum over the contents; pyarrow writes zstd without one


@pytest.mark.parametrize("place", PACKED)
def test_every_packing_gives_the_same_bytes(tmp_path: Path, place: str) -> None:
    data, member = PACKED[place]
    assert unpack(tmp_path, data, place, member) == TEXT
    assert is_packed(place, "training.utf8") == (place != "training.utf8")


def test_concatenated_gzip_and_zstd_frames_are_one_file(tmp_path: Path) -> None:
    assert unpack(tmp_path, gzip.compress(b"a") + gzip.compress(b"b"), "x.gz") == b"ab"
    frames = b"".join(zstd(piece) for piece in (b"a", b"b"))
    assert unpack(tmp_path, frames, "x.zst") == b"ab"


def test_a_compressed_name_that_is_wanted_stays_compressed(tmp_path: Path) -> None:
    path = tmp_path / "fetched"
    path.write_bytes(gzip.compress(TEXT))
    assert b"".join(unpacked(path, "a.gz", None, "b.gz", 1 << 20)) == path.read_bytes()


@pytest.mark.parametrize("place", [place for place in PACKED if place != "training.utf8"])
def test_a_flipped_byte_is_a_source_error_or_harmless(tmp_path: Path, place: str) -> None:
    data, member = PACKED[place]
    refused = 0
    for position in range(0, len(data), max(1, len(data) // 300)):
        damaged = bytearray(data)
        damaged[position] ^= 0x41
        try:
            got = unpack(tmp_path, bytes(damaged), place, member)
        except SourceError:
            refused += 1
        else:
            assert got == TEXT or place in UNCHECKED
    assert refused > 0


@pytest.mark.parametrize("place", [place for place in PACKED if place != "training.utf8"])
def test_a_truncated_file_is_a_source_error_or_lost_nothing(tmp_path: Path, place: str) -> None:
    data, member = PACKED[place]
    for length in range(0, len(data), max(1, len(data) // 60)):
        try:
            got = unpack(tmp_path, data[:length], place, member)
        except SourceError:
            continue
        assert got == TEXT  # a tar ends in padding that may be missing


@pytest.mark.parametrize(
    ("place", "member"),
    [("b.gz", None), ("b.zst", None), ("b.zip", "m"), ("b.tar", "m"), ("b.tar.gz", "m"), ("c.tar.gz", "m")],
)
def test_bombs_stop_at_the_limit(tmp_path: Path, place: str, member: str | None) -> None:
    zeros = bytes(3 << 20)
    data = {
        "b.gz": gzip.compress(zeros),
        "b.zst": zstd(zeros),
        "b.zip": zipped({"m": zeros}),
        "b.tar": tarred({"m": zeros}),
        "b.tar.gz": gzip.compress(tarred({"before": zeros, "m": b"small"})),
        "c.tar.gz": gzip.compress(tarred({"m": b"small", "after": zeros})),
    }[place]
    with pytest.raises(SourceError, match="more than 2097152 bytes"):
        unpack(tmp_path, data, place, member, limit=2 << 20)


def test_a_zip_that_lies_about_its_size_is_damaged(tmp_path: Path) -> None:
    data = bytearray(zipped({"m": bytes(1 << 16)}))
    directory = data.index(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = (16).to_bytes(4, "little")
    with pytest.raises(SourceError, match="damaged"):
        unpack(tmp_path, bytes(data), "b.zip", "m")
    data[directory + 24 : directory + 28] = (2 << 30).to_bytes(4, "little")
    with pytest.raises(SourceError, match="more than 1048576 bytes"):
        unpack(tmp_path, bytes(data), "b.zip", "m")


def test_climbing_members_are_never_written(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    members = {"../evil": b"evil", "/tmp/evil": b"evil", "training.utf8": TEXT}
    assert unpack(inside, zipped(members), "data.zip", "training.utf8") == TEXT
    assert unpack(inside, tarred(members), "data.tar", "training.utf8") == TEXT
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["fetched", "inside"]


def test_a_link_in_a_tar_is_not_followed(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        link = tarfile.TarInfo("training.utf8")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(SourceError, match=r"no file training\.utf8 inside"):
        unpack(tmp_path, out.getvalue(), "data.tar", "training.utf8")


def test_a_missing_member_and_an_empty_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"data\.zip: .*no file training\.utf8"):
        unpack(tmp_path, zipped({"other": TEXT}), "data.zip", "training.utf8")
    with pytest.raises(SourceError, match=r"x\.gz: is empty"):
        unpack(tmp_path, gzip.compress(b""), "x.gz")
