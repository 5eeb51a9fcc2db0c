"""Fetching from a mirror folder, and the record of it. What comes over HTTP is in test_transfer.py."""

import gzip
import hashlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from archives import tarred, zipped

from tokenlab.core.errors import InputError, ParameterError, SourceError
from tokenlab.sources.catalogue import Alternative, Source, SourceFile
from tokenlab.sources.fetch import fetch
from tokenlab.sources.record import substitutes
from tokenlab.sources.transfer import HttpOptions

TRAINING, WORDS = "共同  创造\n".encode(), "共同\n创造\n".encode()
PATIENCE = HttpOptions(connect_timeout=1, retries=0, backoff=0)


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


OFFICIAL = Alternative("official", mirror="bakeoff/data.zip", member="data/training.utf8")
STAND_IN = Alternative("substitute", mirror="stand-in.gz", licence="CC BY 4.0", note="Half as long")
CORPUS = Source(
    name="corpus",
    title="A corpus",
    homepage="https://example.org",
    licence="research only",
    research_only=True,
    format="sighan",
    files=(
        SourceFile("training.utf8", "sighan", (OFFICIAL, STAND_IN)),
        SourceFile("test.utf8", "sighan", (replace(OFFICIAL, member="data/test.utf8"),), required=False),
        SourceFile("words.utf8", "words", (Alternative("official", mirror="words.utf8", sha256=sha(WORDS), size=14),)),
    ),
)


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    folder = tmp_path / "mirror"
    (folder / "bakeoff").mkdir(parents=True)
    (folder / "stand-in.gz").write_bytes(gzip.compress(TRAINING, mtime=0))
    (folder / "words.utf8").write_bytes(WORDS)
    return folder


def get(folder: Path, mirror: Path | None, source: Source = CORPUS) -> dict:
    return fetch("corpus", folder, mirror=mirror, catalogue={"corpus": source}, http=PATIENCE, progress=False)


def test_the_first_alternative_in_the_mirror_is_taken(tmp_path: Path, mirror: Path) -> None:
    members = {"data/training.utf8": b"official", "data/test.utf8": b"gold", "../../climb": b"evil"}
    (mirror / "bakeoff" / "data.zip").write_bytes(zipped(members))
    record = get(tmp_path / "corpus", mirror)
    assert (tmp_path / "corpus" / "training.utf8").read_bytes() == b"official"
    assert (tmp_path / "corpus" / "test.utf8").read_bytes() == b"gold"
    assert record["missing"] == [] and substitutes(tmp_path / "corpus") == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "mirror"]


def test_the_record(tmp_path: Path, mirror: Path) -> None:
    record = get(tmp_path / "corpus", mirror)
    packed = (mirror / "stand-in.gz").read_bytes()
    assert (record["licence"], record["research_only"], record["missing"]) == ("research only", True, ["test.utf8"])
    assert record["files"]["training.utf8"] == {
        "format": "sighan",
        "kind": "substitute",
        "mirror": "stand-in.gz",
        "licence": "CC BY 4.0",
        "note": "Half as long",
        "fetched": {"sha256": sha(packed), "size": len(packed)},
        "stored": {"sha256": sha(TRAINING), "size": len(TRAINING)},
    }
    assert record["files"]["words.utf8"]["licence"] == "research only"
    text = (tmp_path / "corpus" / "SOURCE.json").read_bytes()
    assert text == (json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
    assert substitutes(tmp_path / "corpus") == ["corpus, training.utf8: substitute. Half as long (stand-in.gz)"]


def test_equal_sources_give_equal_bytes_wherever_they_lie(tmp_path: Path, mirror: Path) -> None:
    get(tmp_path / "one", mirror)
    moved = mirror.rename(tmp_path / "elsewhere")
    get(tmp_path / "deep" / "two", moved)
    for name in ("SOURCE.json", "training.utf8", "words.utf8"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "deep" / "two" / name).read_bytes()


def test_a_second_call_needs_no_mirror_and_touches_nothing(tmp_path: Path, mirror: Path) -> None:
    first = get(tmp_path / "corpus", mirror)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "corpus").iterdir()}
    assert get(tmp_path / "corpus", None) == first
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "corpus").iterdir()} == before


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: (folder / "training.utf8").write_bytes(b"harmed"),
        lambda folder: (folder / "training.utf8").unlink(),
        lambda folder: (folder / "SOURCE.json").unlink(),
        lambda folder: (folder / "SOURCE.json").write_bytes(b"{"),
        lambda folder: (folder / "SOURCE.json").write_bytes(b"[]"),
        lambda folder: (folder / "SOURCE.json").write_bytes(b'{"files": {"training.utf8": 1}, "missing": []}'),
        lambda folder: (folder / ".training.utf8.x.tmp").write_bytes(b"left by a kill"),
    ],
)
def test_what_is_harmed_is_fetched_again(tmp_path: Path, mirror: Path, harm: Callable[[Path], object]) -> None:
    first = get(tmp_path / "corpus", mirror)
    harm(tmp_path / "corpus")
    assert get(tmp_path / "corpus", mirror) == first
    assert (tmp_path / "corpus" / "training.utf8").read_bytes() == TRAINING
    names = sorted(path.name for path in (tmp_path / "corpus").iterdir())
    assert names == ["SOURCE.json", "training.utf8", "words.utf8"]


def test_a_changed_catalogue_is_followed(tmp_path: Path, mirror: Path) -> None:
    get(tmp_path / "corpus", mirror)
    (mirror / "stand-in.gz").write_bytes(gzip.compress(b"corrected", mtime=0))
    data = (mirror / "stand-in.gz").read_bytes()
    corrected = replace(CORPUS.files[0], alternatives=(OFFICIAL, replace(STAND_IN, sha256=sha(data), size=len(data))))
    get(tmp_path / "corpus", mirror, replace(CORPUS, title="New title", files=(corrected, *CORPUS.files[1:])))
    assert (tmp_path / "corpus" / "training.utf8").read_bytes() == b"corrected"
    assert json.loads((tmp_path / "corpus" / "SOURCE.json").read_text())["title"] == "New title"


def test_wrong_bytes_in_the_mirror_are_an_error_not_a_reason_to_look_further(tmp_path: Path, mirror: Path) -> None:
    (mirror / "bakeoff" / "data.zip").write_bytes(zipped({"data/training.utf8": b"official"}))
    pinned = replace(CORPUS.files[0], alternatives=(replace(OFFICIAL, sha256="0" * 64), STAND_IN))
    with pytest.raises(SourceError) as caught:
        get(tmp_path / "corpus", mirror, replace(CORPUS, files=(pinned,)))
    found = sha((mirror / "bakeoff" / "data.zip").read_bytes())
    assert str(mirror / "bakeoff" / "data.zip") in str(caught.value)
    assert "0" * 64 in str(caught.value) and found in str(caught.value)
    assert list((tmp_path / "corpus").iterdir()) == []


def test_neither_mirror_nor_address_says_what_to_do(tmp_path: Path, mirror: Path) -> None:
    with pytest.raises(SourceError, match=r"\[no mirror folder is set\]; set TOKENLAB_MIRROR"):
        get(tmp_path / "corpus", None)
    (mirror / "stand-in.gz").unlink()
    with pytest.raises(SourceError, match=r"data\.zip: not there; .*stand-in\.gz"):
        get(tmp_path / "corpus", mirror)
    with pytest.raises(ParameterError, match=r"nowhere.* unset TOKENLAB_MIRROR"):
        get(tmp_path / "corpus", tmp_path / "nowhere")


@pytest.mark.parametrize("text", [None, "{", "[]", "{}", '{"source": "x", "files": {"a": {"kind": "substitute"}}}'])
def test_substitutes_of_no_record_is_an_input_error(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "SOURCE.json").write_text(text)
    with pytest.raises(InputError, match=r"SOURCE\.json"):
        substitutes(tmp_path)


def test_with_a_whole_mirror_no_address_is_asked(tmp_path: Path, mirror: Path) -> None:
    """An optional file that only an address has: the folder is the same with and without a network."""
    address = Alternative("official", url="http://127.0.0.1:9/test.utf8")
    files = (*CORPUS.files[::2], SourceFile("test.utf8", "sighan", (address,), required=False))
    record = get(tmp_path / "corpus", mirror, replace(CORPUS, files=files[::-1]))
    assert record["missing"] == ["test.utf8"]
    required = (*CORPUS.files[::2], SourceFile("test.utf8", "sighan", (address,)))
    with pytest.raises(SourceError, match=r"127\.0\.0\.1:9"):
        get(tmp_path / "other", mirror, replace(CORPUS, files=required))


class TestPackageIndex:
    """A file out of an archive that pip finds: in a folder that is its index, as everything here is without network."""

    name = "some_words-1.0-py3-none-any.whl"
    tagged = "中国/ns  人民/n\n１/２/m  ／/w\n".encode()
    plain = "中国  人民\n１/２  ／\n".encode()

    def source(self, data: bytes, **changes: Any) -> Source:
        packed = Alternative(
            "substitute",
            package="Some_Words",
            version="1.0",
            archive=self.name,
            member="words/tagged.txt",
            size=len(data),
            sha256=sha(data),
            tagged=True,
            note="Tagged",
        )
        packed = replace(packed, **changes)
        return replace(CORPUS, files=(SourceFile("training.utf8", "sighan", (OFFICIAL, packed)),))

    @pytest.fixture
    def index(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        folder = tmp_path / "index"
        folder.mkdir()
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
        return folder

    def publish(self, index: Path, words: bytes) -> bytes:
        """Put a wheel into the index; its bytes."""
        facts = {"METADATA": b"Metadata-Version: 2.1\nName: some-words\nVersion: 1.0\nRequires-Python: <3\n"}
        facts["WHEEL"] = b"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        members = {f"some_words-1.0.dist-info/{name}": data for name, data in facts.items()}
        data = zipped({"words/tagged.txt": words, **members})
        (index / self.name).write_bytes(data)
        return data

    def test_fetched_and_stored_without_tags(
        self, tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """Into a relative folder, as the pipeline's stages name theirs; pip runs in another folder."""
        data, folder = self.publish(index, self.tagged), Path("corpus")
        monkeypatch.chdir(tmp_path)
        record = get(folder, None, self.source(data))
        assert capfd.readouterr() == ("", "")
        assert (folder / "training.utf8").read_bytes() == self.plain
        assert sorted(path.name for path in folder.iterdir()) == ["SOURCE.json", "training.utf8"]
        taken = record["files"]["training.utf8"]
        assert [taken[key] for key in ("package", "version", "archive")] == ["Some_Words", "1.0", self.name]
        assert taken["fetched"] == {"sha256": sha(data), "size": len(data)}
        assert substitutes(folder) == [f"corpus, training.utf8: substitute. Tagged ({self.name})"]
        monkeypatch.setattr(sys, "executable", "no Python: nothing is fetched again")
        assert get(folder, None, self.source(data)) == record

    def test_a_source_archive(self, tmp_path: Path, index: Path) -> None:
        """It is chosen though there is a wheel of the same version."""
        self.publish(index, b"of the wheel/n\n")
        backend = (
            b"def prepare_metadata_for_build_wheel(folder, *_):\n"
            b"    import pathlib\n"
            b"    facts = pathlib.Path(folder, 'some_words-1.0.dist-info')\n"
            b"    facts.mkdir()\n"
            b"    facts.joinpath('METADATA').write_text('Metadata-Version: 2.1\\nName: some-words\\nVersion: 1.0\\n')\n"
            b"    return facts.name\n"
        )
        build = b"[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
        members = {"pyproject.toml": build, "backend.py": backend, "words.txt": self.tagged}
        data = gzip.compress(tarred({f"some_words-1.0/{name}": member for name, member in members.items()}))
        (index / "some_words-1.0.tar.gz").write_bytes(data)
        packed = {"archive": "some_words-1.0.tar.gz", "member": "some_words-1.0/words.txt"}
        get(tmp_path / "corpus", None, self.source(data, **packed))
        assert (tmp_path / "corpus" / "training.utf8").read_bytes() == self.plain

    def test_what_the_index_lacks_is_named(self, tmp_path: Path, index: Path) -> None:
        with pytest.raises(SourceError, match=r"Some_Words 1\.0: .* not have some_words-1"):
            get(tmp_path / "corpus", None, self.source(b"", size=None))

    def test_no_network(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_INDEX_URL", "http://user:secret@127.0.0.1:9/simple")
        with pytest.raises(SourceError, match="index does not answer") as caught:
            get(tmp_path / "corpus", None, self.source(b""))
        assert "\n" not in str(caught.value) and "secret" not in str(caught.value)

    def test_no_pip(self, tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        without = tmp_path / "python"
        without.write_text(f'#!/bin/sh\nshift; exec {sys.executable} -S "-m$@"\n')
        without.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(without))
        with pytest.raises(SourceError, match="no pip; run `python -m ensurepip`"):
            get(tmp_path / "corpus", None, self.source(b""))

    def test_words_without_tags_are_an_error(self, tmp_path: Path, index: Path) -> None:
        data = self.publish(index, b"word/n other\n")
        with pytest.raises(SourceError, match="words without part-of-speech tags"):
            get(tmp_path / "corpus", None, self.source(data))
        assert list((tmp_path / "corpus").iterdir()) == []

    @pytest.mark.slow
    def test_a_real_archive_of_the_public_index(self, tmp_path: Path) -> None:
        try:
            record = fetch("tokenizers/whisper-gpt2", tmp_path / "it", mirror=None, http=PATIENCE, progress=False)
        except SourceError as error:
            pytest.skip(f"no package index here: {error}")
        taken = record["files"]["gpt2.tiktoken"]
        assert (taken["package"], taken["version"], taken["licence"]) == ("openai-whisper", "20250625", "MIT")
        lines = (tmp_path / "it" / "gpt2.tiktoken").read_bytes().splitlines()
        assert len(lines) == 50256 and lines[0] == b"IQ== 0"
