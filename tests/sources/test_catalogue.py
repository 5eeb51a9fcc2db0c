"""The catalogue that ships, and what a catalogue may not say."""

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from tokenlab.core.errors import InputError, SourceError
from tokenlab.sources.catalogue import Alternative, find_source, load_catalogue

CATALOGUE = load_catalogue()


def test_mirror_files_are_what_the_catalogue_says(mirror: Path) -> None:
    files = [file for source in CATALOGUE.values() for file in source.files]
    checked = 0
    for alternative in (each for file in files for each in file.alternatives if each.mirror is not None):
        path = mirror / (alternative.mirror or "")
        if path.is_file():
            data = path.read_bytes()
            assert alternative.size in (None, len(data)), path
            assert alternative.sha256 in (None, hashlib.sha256(data).hexdigest()), path
            checked += 1
    assert checked > 0


def test_upstream_addresses_and_compressed_copies_are_the_same_text(mirror: Path) -> None:
    compared = 0
    for source in CATALOGUE.values():
        for file in source.files:
            addresses = [each for each in file.alternatives if each.url and not each.mirror and each.sha256]
            kinds = {each.kind for each in addresses}
            copies = [each for each in file.alternatives if each.kind in kinds and each.place.endswith(".gz")]
            for address, copy in zip(addresses, copies, strict=True):
                data = gzip.decompress((mirror / (copy.mirror or "")).read_bytes())
                assert (address.sha256, address.size) == (hashlib.sha256(data).hexdigest(), len(data))
                compared += 1
    assert compared == 9  # four New Testaments, two lists of words, the table of components, a byte map, a tokenizer


def test_addresses_are_pinned_or_the_publishers_own() -> None:
    for source in CATALOGUE.values():
        for file in source.files:
            for alternative in file.alternatives:
                url = alternative.url or ""
                assert alternative.package is None or alternative.sha256
                if url.startswith("https://raw.githubusercontent.com/"):
                    assert len(url.split("/")[5]) == 40, f"{url} moves with its branch"


GOOD = """
sources:
  corpus:
    title: A corpus
    homepage: https://example.org
    licence: CC0
    research_only: false
    format: text
    files:
      a.txt:
        alternatives:
          - {kind: official, mirror: c/a.txt, url: "https://example.org/a.txt", size: 3}
          - {kind: substitute, mirror: c/b.zip, member: a.txt, note: another text}
"""


def load(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text, encoding="utf-8")
    source = load_catalogue(path)["corpus"]
    assert source.files[0].alternatives[0] == Alternative("official", "c/a.txt", "https://example.org/a.txt", size=3)
    assert source.files[0].alternatives[1].member == "a.txt"
    assert source.files[0].format == "text"


def test_a_good_catalogue_loads(tmp_path: Path) -> None:
    load(tmp_path, GOOD)


BAD = [
    ("licence: CC0", "licence: CC0\n    license: CC0", r"corpus: unknown field 'license'"),
    ("licence: CC0\n", "\n", "corpus: licence is missing"),
    ("licence: CC0", "licence: 7", "corpus: licence must be str, not 7"),
    ("licence: CC0", "licence: CC0\n    title: Again", "title twice"),
    ("format: text", "format: xml", "format must be one of .*, not xml"),
    ("a.txt:\n", "../a.txt:\n", "a file's name is"),
    ("official", "officious", "a.txt, alternative 1: kind .* officious"),
    ("size: 3", "sha256: abc", "sha256 must be 64"),
    ("mirror: c/a.txt", "mirror: ../a.txt", "inside the mirror folder"),
    ("mirror: c/a.txt", "mirror: c/a.txt.gz", "packed differently"),
    ("https://example.org/a.txt", "file:///etc/passwd", "url must be"),
    ('mirror: c/a.txt, url: "https://example.org/a.txt", ', "", "needs mirror, url or both"),
    (", member: a.txt", "", "member is needed"),
    (", note: another text", "", "needs a note"),
    ("  corpus:", "\tcorpus:", "not YAML"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD)
def test_a_bad_field_is_one_line_that_names_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError, match=message) as caught:
        load(tmp_path, GOOD.replace(old, new))
    assert str(caught.value).startswith(str(tmp_path / "c.yaml")) and "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "sources: []", "sources: {}", "sources: {corpus: 1}", "? [1]\n: 2"])
def test_other_shapes_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        load(tmp_path, text)


def test_bytes_that_are_no_utf8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_bytes(b"sources: \xff")
    with pytest.raises(InputError, match="not UTF-8 at byte 9"):
        load_catalogue(tmp_path / "c.yaml")


def test_a_merged_mapping_takes_over_what_it_does_not_set_itself(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    merged = "- <<: *a\n            member: two"
    path.write_text(
        GOOD.replace("- {kind: official, mirror: c/a.txt", "- &a {kind: official, member: one, mirror: c/a.zip")
        .replace('/a.txt"', '/a.zip"')
        .replace("- {kind: substitute, mirror: c/b.zip, member: a.txt, note: another text}", merged)
    )
    first, second = load_catalogue(path)["corpus"].files[0].alternatives
    assert (first.member, second.member) == ("one", "two")
    assert replace(second, member="one") == first


def test_an_unknown_source_names_the_nearest() -> None:
    with pytest.raises(SourceError, match="did you mean bible/English"):
        find_source("bible/Englsh", CATALOGUE)
    with pytest.raises(SourceError, match=r"bible/English, .*pku"):
        find_source("zzz", CATALOGUE)
