"""Bad input ends a stage with one line and status 2, and leaves no partial output."""

import pytest
from workspace import SMALL, make_workspace, run, set_parameters

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_workspace(tmp_path_factory.mktemp("bad") / "project", segmentation=SMALL)


def refused(folder, *arguments):
    before = sorted(path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    done = run(folder, "-m", *arguments)
    after = sorted(path for path in folder.rglob("*") if "__pycache__" not in path.parts and path.is_file())
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
    assert not set(after) - set(before)
    return done.stderr


@pytest.mark.parametrize(
    ("content", "gold", "message"),
    [("好\n好\udcff好\n", None, ":2: not UTF-8"), ("好\n", "words", "corpora.bad.gold")],
)
def test_bad_corpora(folder, content, gold, message):
    path = folder.parent / "corpus.bad"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    set_parameters(folder, "params.yaml", {"corpora": {"bad": {"path": str(path), "format": "text", "gold": gold}}})
    line = refused(folder, "tasks.corpora.prepare", "params.yaml", "bad")
    assert line.startswith("prepare bad: ") and message in line


def test_unknown_variant_missing_file_and_broken_yaml(folder):
    assert "corpora.other is missing" in refused(folder, "tasks.corpora.prepare", "params.yaml", "other")
    assert "nowhere.yaml" in refused(folder, "tasks.corpora.prepare", "nowhere.yaml", "zh")
    (folder.parent / "broken.yaml").write_text("a: [1", encoding="utf-8")
    said = refused(folder, "tasks.corpora.prepare", str(folder.parent / "broken.yaml"), "zh")
    assert "broken.yaml, line 2: " in said and "expected ',' or ']'" in said


def test_equal_sentences(folder):
    corpora = {"few": {"path": "few.txt", "format": "text", "gold": None}}
    set_parameters(folder, "params.yaml", {"corpora": corpora, "segmentation": SMALL})
    (folder / "few.txt").write_text("一样。\n" * 40, encoding="utf-8")
    assert run(folder, "-m", "tasks.corpora.prepare", "params.yaml", "few").returncode == 0
    assert "every sentence" in refused(folder, "tasks.segmentation.ngram_statistics", "params.yaml", "few")


def test_download_without_mirror_and_network(folder, monkeypatch):
    monkeypatch.delenv("TOKENLAB_MIRROR", raising=False)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    done = run(folder, "-m", "tasks.corpora.download", "amazon/nowhere")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "amazon/nowhere" in done.stderr
