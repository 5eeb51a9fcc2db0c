"""The stage `export` on small corpora: `zh` with entropies of a random model, and a user's text without gold words."""

import contextlib
import hashlib
import json
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from tiny_models import save_characters
from tokenizers import Tokenizer
from workspace import SMALL

from tasks.corpora.prepare import prepare
from tasks.runtime.stage import Stage
from tasks.segmentation.entropy import score
from tasks.segmentation.export import cut_at, export, gold_spans
from tasks.segmentation.ngram_statistics import count
from tasks.segmentation.segment import segment
from tasks.segmentation.word_model import fit
from tokenlab.core.errors import InputError, ParameterError, one_line
from tokenlab.generated import generate
from tokenlab.text.documents import Document
from tokenlab.text.store import read_corpus, write_corpus

pytestmark = pytest.mark.slow

VITERBI = SMALL["methods"]["viterbi"]
METHODS = {
    "viterbi": VITERBI,
    "greedy": {**SMALL["methods"]["literal"], "weights": [1], "entropy_only": False},
    "words": {"by": "words", "model": "words"},
    "gpt2": {"by": "entropy", "rule": "maxima", "isolate": "none"},
    "combined": {"by": "both", "statistics": "viterbi", "grid": [1]},
}
EXPORTS = {
    "unigram": {},
    "large": {"vocabulary_size": 10**6},
    "small": {"vocabulary_size": 1300, "special_tokens": ["eos=</s>"]},
    "bpe": {"model": "bpe", "vocabulary_size": 1300},
    "tiny": {"vocabulary_size": 300},
}
MADE = ["unigram", "large", "small", "bpe"]
CONFIGURATIONS = ["viterbi", "greedy-1", "words", "gpt2", "combined"]
SEGMENTATION = SMALL | {
    "corpora": {"zh": {"entropy": True}, "mine": {}},
    "methods": METHODS,
    "full": {"methods": list(METHODS), "vocabulary_size": 1000},
    "export": EXPORTS,
}


def stage(variant="zh", **segmentation):
    corpora = {
        "zh": {"path": "data/raw/builtin/zh", "format": "parquet", "gold": "words"},
        "mine": {"path": "mine.txt", "format": "text", "gold": None},
    }
    scored = {"zh": {"model": "foreign", "device": "cpu", "dtype": "float32", "threads": 1}}
    sections = {"corpora": corpora, "segmentation": SEGMENTATION | segmentation, "entropy": {"scored": scored}}
    return Stage("params.yaml", "sample", variant, sections)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder in which all stages have run for `zh` and `mine`; it is the working directory of the tests."""
    folder = tmp_path_factory.mktemp("export")
    with contextlib.chdir(folder):
        write_corpus(generate("zh", sentences=300, seed=0), "data/raw/builtin/zh")
        own = [f"{document.text} ok" for document in generate("zh", sentences=300, seed=9)]
        (folder / "mine.txt").write_text("\n".join(own), encoding="utf-8")
        save_characters(folder / "foreign")
        for work in (prepare, count, fit, score, segment, export):
            work(stage())
        for work in (prepare, count, fit, segment, export):
            work(stage("mine"))
        yield folder


@pytest.fixture(scope="module")
def scores(built):
    return pl.read_parquet("reports/sample/export/zh/scores.parquet")


def exported(configuration, name, corpus="zh"):
    return Path("models/sample/exported", corpus, configuration, name, "tokenizer.json")


def sentences_of(split, configuration, seed=None):
    """The documents of a split, and the boundaries of their segments."""
    documents = list(read_corpus("data/sample/corpora/zh"))
    rows = pl.read_parquet("data/sample/segments/zh/full.parquet").filter(split=split, configuration=configuration)
    rows = rows if seed is None else rows.filter(seed=seed)
    return [(documents[number], at) for number, at in rows.select("sentence", "boundaries").iter_rows()]


def spans(text, boundaries):
    return set(pairwise((0, *boundaries, len(text))))


def test_there_is_a_row_for_each_tokenizer_and_seed(scores):
    expected = [(row, name, seed) for row in CONFIGURATIONS for name in MADE for seed in (0, 1)]
    assert scores.select("configuration", "export", "seed").rows() == expected
    assert (scores["restored"] == 1.0).all() and (scores["sentences"] == 45).all()


@pytest.mark.parametrize("name", ["unigram", "small", "bpe"])
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_figures_are_those_of_the_file(scores, configuration, name):
    """Counted here from the tokens that the library tokenizers gives; the generated text has no whitespace."""
    tokenizer = Tokenizer.from_file(str(exported(configuration, name)))
    found, gold, segments = set(), set(), set()
    for number, (document, boundaries) in enumerate(sentences_of("test", configuration, seed=1)):
        found |= {(number, *span) for span in tokenizer.encode(document.text).offsets}
        gold |= {(number, *span) for span in spans(document.text, document.boundaries)}
        segments |= {(number, *span) for span in spans(document.text, boundaries)}
    (row,) = scores.filter(configuration=configuration, export=name, seed=1).to_dicts()
    assert (row["tokens"], row["segments"]) == (len(found), len(segments))
    assert row["precision"] == pytest.approx(len(found & gold) / len(found))
    assert row["recall"] == pytest.approx(len(found & gold) / len(gold))
    assert row["f1"] == pytest.approx(2 * len(found & gold) / (len(found) + len(gold)))
    assert row["f1_of_segments"] == pytest.approx(2 * len(segments & gold) / (len(segments) + len(gold)))
    assert row["segments_equal_to_a_token"] == pytest.approx(len(found & segments) / len(segments))
    assert row["segments_equal_to_a_word"] >= row["segments_equal_to_a_token"]
    assert row["bytes"] == exported(configuration, name).stat().st_size
    assert row["vocabulary"] == len(tokenizer.get_vocab())


def test_statistics_are_exported_by_their_own_objective(built):
    tokenizer = Tokenizer.from_file(str(exported("viterbi", "unigram")))
    for document, boundaries in sentences_of("train", "viterbi"):
        assert set(tokenizer.encode(document.text).offsets) == spans(document.text, boundaries)


@pytest.mark.parametrize("configuration", ["greedy-1", "words", "gpt2", "combined"])
def test_other_methods_are_exported_by_their_words(built, configuration):
    vocabulary = Tokenizer.from_file(str(exported(configuration, "unigram"))).get_vocab()
    training = sentences_of("train", configuration)
    words = {document.text[a:b] for document, boundaries in training for a, b in spans(document.text, boundaries)}
    first = vocabulary["<0xFF>"] + 1
    pieces = {piece for piece, number in vocabulary.items() if number >= first and not piece.isspace()}
    assert {piece for piece in pieces if len(piece) > 1} == {word for word in words if len(word) > 1}


def test_a_vocabulary_smaller_than_the_alphabet_is_left_out_and_noted(built):
    left_out = json.loads(Path("reports/sample/export/zh/left_out.json").read_text(encoding="utf-8"))
    assert list(left_out) == ["tiny"] and left_out["tiny"].startswith("vocabulary_size is 300, but ")
    assert not exported("viterbi", "tiny").exists()


def test_a_vocabulary_larger_than_the_pieces_holds_them_all(scores):
    for configuration in CONFIGURATIONS:
        assert exported(configuration, "large").read_bytes() == exported(configuration, "unigram").read_bytes()
    assert scores.filter(export="large")["vocabulary"].max() < 10**6
    assert set(scores.filter(export="small")["vocabulary"]) == {1300}


def test_rows_name_methods_and_options(scores):
    rows = {row["configuration"]: row for row in scores.filter(export="small", seed=0).to_dicts()}
    assert {name: row["signal"] for name, row in rows.items()} == {
        "viterbi": "statistics",
        "greedy-1": "statistics",
        "words": "words",
        "gpt2": "entropy",
        "combined": "both",
    }
    assert rows["viterbi"]["lambda"] in (0.5, 1) and rows["combined"]["nu"] == 1
    assert rows["viterbi"]["param.export.vocabulary_size"] == 1300
    assert rows["viterbi"]["param.export.special_tokens"] == "eos=</s>"
    assert rows["gpt2"]["param.decoder"] is None and rows["viterbi"]["param.decoder"] == "viterbi"
    assert rows["words"]["param.split.sentences"] == 150


def test_metrics_are_means_over_the_seeds(scores):
    metrics = json.loads(Path("reports/sample/export/zh/metrics.json").read_text(encoding="utf-8"))
    assert list(metrics) == sorted(CONFIGURATIONS) and set(metrics["words"]) == set(MADE)
    expected = scores.filter(configuration="words", export="bpe")["f1"].mean()
    assert metrics["words"]["bpe"]["f1"] == pytest.approx(expected, abs=1e-6)


def test_without_gold_words_there_are_only_figures_of_agreement(built, scores):
    own = pl.read_parquet("reports/sample/export/mine/scores.parquet")
    assert own["f1"].null_count() == own["f1_of_segments"].null_count() == len(own) == 3 * len(MADE) * 2
    assert (own["restored"] == 1.0).all()
    assert own["segments_equal_to_a_token"].is_between(0.5, 1).all()
    named = [name for name in scores.columns if not name.startswith("param.")]
    assert [name for name in own.columns if not name.startswith("param.")] == named


_LOAD = """
import json, sys
sys.modules["tokenlab"] = sys.modules["tasks"] = None
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
ids = tokenizer(sys.argv[2])["input_ids"]
print(json.dumps([tokenizer.convert_ids_to_tokens(ids), tokenizer.decode(ids)]))
"""


def test_a_tokenizer_loads_where_this_project_cannot_be_imported(built):
    text = "我们今天 test 🙂\n"
    path = exported("words", "unigram")
    done = subprocess.run(
        [sys.executable, "-I", "-c", _LOAD, path.parent, text], capture_output=True, text=True, check=True
    )
    tokens, decoded = json.loads(done.stdout)
    assert decoded == text
    assert tokens == Tokenizer.from_file(str(path)).encode(text).tokens


def test_again_gives_the_same_bytes(built, tmp_path):
    def digests():
        files = [path for name in ("models", "reports") for path in Path(name, "sample").rglob("*") if path.is_file()]
        return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files if "export" in str(path)}

    before = digests()
    shutil.rmtree("models/sample/exported/zh")
    export(stage())
    assert digests() == before and len(before) == 2 * (5 + 3) * len(MADE) + 2 * 3


@pytest.mark.parametrize(
    ("exports", "message"),
    [
        ({"a": {"to": "onnx"}}, "segmentation.export.a.to: "),
        ({"a": {"size": 3}}, "segmentation.export.a.size: "),
        ({"a": {"vocabulary_size": 0}}, "segmentation.export: vocabulary_size is 0"),
        ({"a": {"special_tokens": ["pad="]}}, "segmentation.export: special_tokens"),
        ({"a": {"vocabulary_size": 300}}, "segmentation.export.a: vocabulary_size is 300, but"),
        ({"a": {"model": "bpe", "vocabulary_size": 300}}, "segmentation.export.a: vocabulary_size is 300, but"),
        (["unigram"], "segmentation.export: "),
    ],
)
def test_bad_parameters(built, exports, message):
    before = exported("viterbi", "unigram").read_bytes()
    with pytest.raises(ParameterError) as raised:
        export(stage(export=exports))
    assert one_line(raised.value).startswith(f"params.yaml: {message}")
    assert exported("viterbi", "unigram").read_bytes() == before
    assert not list(Path("models/sample/exported").glob(".*"))


def test_no_exports_leave_an_empty_table(built):
    export(stage("mine", export={}))
    table = pl.read_parquet("reports/sample/export/mine/scores.parquet")
    assert table.is_empty() and "f1" in table.columns
    export(stage("mine"))


def test_segments_of_other_splits_are_refused(built):
    with pytest.raises(InputError, match="run the stage `segment` again"):
        export(stage(seeds=[5]))


def test_sentences_are_cut_at_boundaries_and_whitespace():
    cut = cut_at([" ab cd", "", "efg "], [[2, 4], [], [1, 3]])
    assert cut.spans() == [[(1, 2), (2, 3), (4, 6)], [], [(0, 1), (1, 3)]]
    assert cut.text() == "a b cd\n\ne fg\n"
    assert gold_spans(Document("1", " ab  cd ", (4, 7))) == [(1, 3), (5, 7)]
