"""The stage `export` on small corpora: `zh` with entropies of a random model, and a user's text without gold words."""

import json
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
from tasks.segmentation.export import cut_at, export
from tasks.segmentation.ngram_statistics import count
from tasks.segmentation.segment import segment
from tasks.segmentation.splits import Splitting, read_splits
from tasks.segmentation.word_model import fit
from tokenlab.core.errors import InputError, ParameterError, one_line
from tokenlab.generated import generate
from tokenlab.metrics.words import word_spans
from tokenlab.segment.words.model import WordModel
from tokenlab.segment.words.options import WordOptions
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
def built(workdir):
    """A folder in which all stages have run for `zh` and `mine`; it is the working directory of the tests."""
    write_corpus(generate("zh", sentences=300, seed=0), "data/raw/builtin/zh")
    own = [f"{document.text} ok" for document in generate("zh", sentences=300, seed=9)]
    (workdir / "mine.txt").write_text("\n".join(own), encoding="utf-8")
    save_characters(workdir / "foreign")
    for work in (prepare, count, fit, score, segment, export):
        work(stage())
    for work in (prepare, count, fit, segment, export):
        work(stage("mine"))
    return workdir


@pytest.fixture(scope="module")
def scores(built):
    return pl.read_parquet("reports/sample/export/zh/scores.parquet")


def exported(configuration, name):
    return Path("models/sample/exported/zh", configuration, name, "tokenizer.json")


def sentences_of(split, configuration, seed=None):
    """The documents of a split, and the boundaries of their segments."""
    documents = list(read_corpus("data/sample/corpora/zh"))
    rows = pl.read_parquet("data/sample/segments/zh/full.parquet").filter(split=split, configuration=configuration)
    rows = rows if seed is None else rows.filter(seed=seed)
    return [(documents[number], at) for number, at in rows.select("sentence", "boundaries").iter_rows()]


def spans(text, boundaries):
    return set(pairwise((0, *boundaries, len(text))))


@pytest.mark.parametrize("name", ["unigram", "bpe"])
@pytest.mark.parametrize("configuration", ["viterbi", "words", "gpt2"])
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


def test_vocabularies_that_are_too_large_and_too_small(scores):
    """One larger than the pieces holds them all; one smaller than the alphabet is left out and noted."""
    for configuration in CONFIGURATIONS:
        assert exported(configuration, "large").read_bytes() == exported(configuration, "unigram").read_bytes()
    assert set(scores.filter(export="small")["vocabulary"]) == {1300}
    left_out = json.loads(Path("reports/sample/export/zh/left_out.json").read_text(encoding="utf-8"))
    assert list(left_out) == ["tiny"] and not exported("viterbi", "tiny").exists()
    expected = [(row, name, seed) for row in CONFIGURATIONS for name in MADE for seed in (0, 1)]
    assert scores.select("configuration", "export", "seed").rows() == expected


def test_without_gold_words_there_are_only_figures_of_agreement(built, scores):
    own = pl.read_parquet("reports/sample/export/mine/scores.parquet")
    assert own["f1"].null_count() == own["f1_of_segments"].null_count() == len(own) == 3 * len(MADE) * 2
    assert (own["restored"] == 1.0).all()
    assert (scores["restored"] == 1.0).all() and own["segments_equal_to_a_token"].is_between(0.5, 1).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"export": {"a": {"size": 3}}}, "segmentation.export.a.size: "),
        ({"export": {"a": {"vocabulary_size": 300}}}, "segmentation.export.a: vocabulary_size is 300"),
        ({"seeds": [5]}, "stage `segment`"),
    ],
)
def test_bad_parameters_leave_the_files_as_they_were(built, changed, message):
    before = exported("viterbi", "unigram").read_bytes()
    with pytest.raises((InputError, ParameterError)) as raised:
        export(stage(**changed))
    assert message in one_line(raised.value)
    assert exported("viterbi", "unigram").read_bytes() == before
    assert not list(Path("models/sample/exported").glob(".*"))


def test_word_models_are_fitted_to_the_training_sentences(built, tmp_path):
    corpus = read_splits(Path("data/sample/corpora/zh"), Splitting(seeds=SMALL["seeds"], split=SMALL["split"]))
    sentences = [document.text for document in corpus.select(corpus.of_seed[1].train.tolist())]
    WordModel.fit(sentences, WordOptions(sweeps=4)).save(tmp_path / "model")
    stored = Path("models/sample/word_models/zh/words/subset-1.safetensors")
    assert (tmp_path / "model").read_bytes() == stored.read_bytes()


def test_sentences_are_cut_at_boundaries_and_whitespace():
    cut = cut_at([" ab cd", "", "efg "], [[2, 4], [], [1, 3]])
    assert cut.spans() == [[(1, 2), (2, 3), (4, 6)], [], [(0, 1), (1, 3)]]
    assert cut.text() == "a b cd\n\ne fg\n"
    words = word_spans(Document("1", " ab  cd ", (4, 7)), "gold")
    assert words is not None and words.tolist() == [[1, 3], [5, 7]]
