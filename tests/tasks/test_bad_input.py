"""Bad input ends a stage with one line and status 2, and leaves no partial output."""

import pytest
from workspace import SMALL, make_workspace, run, set_parameters

from tokenlab.generated import generate

pytestmark = pytest.mark.slow

OWN = SMALL | {"corpora": {"own": {}}}
VITERBI = SMALL["methods"]["viterbi"]
PEAKS = {"by": "entropy", "rule": "maxima", "isolate": "none"}


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


CES = '<?xml version="1.0"?>\n<cesDoc>\n<seg id="b.GEN.1.1" type="verse">好</seg>\n{}</cesDoc>\n'
CORPORA = [
    ("text", "", "no document"),
    ("text", "好\n好\udcff好\n", ":2: not UTF-8"),
    ("ces", CES.format("<seg>"), ":"),
    ("ces", '<!DOCTYPE x [<!ENTITY a "b">]>\n<cesDoc/>', "entit"),
    ("ces", CES.format('<seg id="b.GEN.1.1" type="verse">人</seg>'), "b.GEN.1.1"),
    ("jsonl", '{"text": "好"}\n{"text": 3}\n', ":2"),
    ("jsonl", '{"title": "好"}\n', ":1"),
    ("parquet", "PAR1", "corpus"),
]


@pytest.mark.parametrize(("form", "content", "message"), CORPORA)
def test_bad_corpora(folder, form, content, message):
    path = folder.parent / "corpus.bad"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    set_parameters(folder, "params.yaml", {"corpora": {"bad": {"path": str(path), "format": form, "gold": None}}})
    line = refused(folder, "tasks.corpora.prepare", "params.yaml", "bad")
    assert line.startswith("prepare bad: ") and message in line and "corpus.bad" in line


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ({"path": "nowhere", "format": "text", "gold": None}, "nowhere"),
        ({"path": "README.md", "format": "text", "gold": "words"}, "gold"),
        ({"path": "README.md", "format": "csv"}, "corpora.bad.format"),
        ({"path": "README.md", "format": "text", "golden": None}, "corpora.bad.golden"),
        ({"format": "text"}, "corpora.bad.path"),
        ("README.md", "corpora.bad"),
    ],
)
def test_bad_corpus_parameters(folder, corpus, message):
    set_parameters(folder, "params.yaml", {"corpora": {"bad": corpus}})
    assert message in refused(folder, "tasks.corpora.prepare", "params.yaml", "bad")


def test_unknown_variant_missing_file_and_broken_yaml(folder):
    assert "corpora.other is missing" in refused(folder, "tasks.corpora.prepare", "params.yaml", "other")
    assert "nowhere.yaml" in refused(folder, "tasks.corpora.prepare", "nowhere.yaml", "zh")
    (folder.parent / "broken.yaml").write_text("a: [1", encoding="utf-8")
    assert "broken.yaml: not YAML" in refused(folder, "tasks.corpora.prepare", str(folder.parent / "broken.yaml"), "zh")


@pytest.mark.parametrize(
    ("stage", "section", "value", "message"),
    [
        ("ngram_statistics", "statistics", SMALL["statistics"] | {"n_max": 0}, "segmentation.statistics: n_max is 0"),
        ("ngram_statistics", "statistics", SMALL["statistics"] | {"edge": "wrap"}, "segmentation.statistics.edge"),
        ("ngram_statistics", "split", SMALL["split"] | {"train": 1.5}, "segmentation.split.train"),
        ("ngram_statistics", "split", SMALL["split"] | {"validation": 10**6, "sentences": 10}, "for training"),
        ("ngram_statistics", "seeds", [], "seeds is []"),
        ("ngram_statistics", "seeds", [1, 1], "seeds is [1, 1]"),
        ("segment", "methods", {"viterbi": {"decoder": "viterbi"}}, "segmentation.methods.viterbi.by is None"),
        ("segment", "methods", {"viterbi": VITERBI | {"decoder": "beam"}}, "segmentation.methods.viterbi.decoder"),
        ("segment", "methods", {"viterbi": VITERBI | {"weight": 1}}, "list the values of lambda under weights"),
        ("segment", "methods", {"viterbi": VITERBI | {"entropy_only": True}}, "grid gives one row"),
        ("segment", "methods", {"peaks": PEAKS | {"rule": "rise"}}, "the rule `rise` needs a number"),
        ("segment", "methods", {"peaks": PEAKS | {"threshold": 1.0}}, "no meaning with the rule `maxima`"),
        ("segment", "methods", {"peaks": PEAKS | {"grid": [1.0]}}, "no meaning with the rule `maxima`"),
        ("segment", "corpora", {"zh": {}}, "segmentation.corpora.own is missing"),
        ("segment", "corpora", {"own": {"entropy": True}}, "signals/own/entropy"),
        ("tokenizer", "bpe", {"vocabulary_size": 10**12, "inference": ["raw"]}, "segmentation.bpe: vocabulary_size"),
        ("tokenizer", "bpe", {"vocabulary_size": 5, "inference": ["raw"]}, "vocabulary_size is 5"),
        ("export", "export", {"unigram": {"vocabulary_size": 5}}, "segmentation.export.unigram: vocabulary_size is 5"),
    ],
)
def test_bad_segmentation_parameters(prepared, stage, section, value, message):
    set_parameters(prepared, "params.yaml", {"segmentation": OWN | {section: value}})
    assert message in refused(prepared, f"tasks.segmentation.{stage}", "params.yaml", "own")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A workspace in which the stages up to `segment` have run."""
    folder = make_workspace(tmp_path_factory.mktemp("prepared") / "project", segmentation=OWN)
    text = "\n".join(document.text for document in generate("zh", sentences=300, seed=9))
    (folder / "own.txt").write_text(text, encoding="utf-8")
    set_parameters(folder, "params.yaml", {"corpora": {"own": {"path": "own.txt", "format": "text", "gold": None}}})
    for stage in ("corpora.prepare", "segmentation.ngram_statistics", "segmentation.segment"):
        done = run(folder, "-m", f"tasks.{stage}", "params.yaml", "own")
        assert done.returncode == 0, done.stderr
    return folder


def test_too_few_sentences(folder):
    (folder / "few.txt").write_text("一。二。三。\n", encoding="utf-8")
    corpora = {"few": {"path": "few.txt", "format": "text", "gold": None}}
    set_parameters(folder, "params.yaml", {"corpora": corpora, "segmentation": SMALL})
    assert run(folder, "-m", "tasks.corpora.prepare", "params.yaml", "few").returncode == 0
    assert "3 sentences" in refused(folder, "tasks.segmentation.ngram_statistics", "params.yaml", "few")
    (folder / "few.txt").write_text("一样。\n" * 40, encoding="utf-8")
    assert run(folder, "-m", "tasks.corpora.prepare", "params.yaml", "few").returncode == 0
    assert "every sentence" in refused(folder, "tasks.segmentation.ngram_statistics", "params.yaml", "few")


def test_download_without_mirror_and_network(folder, monkeypatch):
    monkeypatch.delenv("TOKENLAB_MIRROR", raising=False)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    done = run(folder, "-m", "tasks.corpora.download", "amazon/nowhere")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "amazon/nowhere" in done.stderr
