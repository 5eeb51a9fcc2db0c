"""The stage `own_text`: a text segmented by what it says itself."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workspace import SMALL

from tasks.corpora.concatenate import concatenate
from tasks.runtime.stage import Stage, write_json
from tasks.segmentation.evaluation.own_text import Slices, evaluate, slices
from tokenlab.core.errors import InputError
from tokenlab.generated import generate
from tokenlab.metrics.segmentation import score_segmentation
from tokenlab.ngrams import StatisticsOptions, ngram_statistics
from tokenlab.segment import Segmenter, SegmentOptions
from tokenlab.segment.description_length import segment_by_description_length
from tokenlab.segment.isolation import apply_slm_rules
from tokenlab.segment.words.model import WordModel
from tokenlab.segment.words.options import WordOptions
from tokenlab.text.documents import Document, words
from tokenlab.text.store import read_corpus, write_corpus

METHODS = SMALL["methods"] | {
    "words": {"by": "words", "model": "words"},
    "gpt2": {"by": "entropy", "rule": "maxima", "isolate": "none"},
}
OWN = {
    "whole": {"corpus": "zh", "methods": ["viterbi", "description-length", "words"], "seeds": [0, 1], "rules": "slm"},
    "sliced": {"corpus": "zh", "methods": ["viterbi"], "slices": {"count": 3, "characters": 500}},
    "further": {"corpus": "zh-and-more", "methods": ["viterbi"]},
    "unmarked": {"corpus": "more", "methods": ["viterbi"]},
    "too-long": {"corpus": "zh", "methods": ["viterbi"], "slices": {"count": 3, "characters": 10**6}},
}
SECTIONS = {
    "segmentation": SMALL | {"methods": METHODS, "own_text": OWN},
    "concatenated": {"zh-and-more": {"first": "zh", "second": "more", "sentences": 40}},
}


def stage(variant):
    return Stage("params.yaml", "sample", variant, SECTIONS)


@pytest.fixture(scope="module")
def folder(workdir):
    """The working directory of the tests: a corpus with gold words, another without, and both as one."""
    write_corpus(generate("zh", sentences=200, seed=0), "data/sample/corpora/zh")
    unmarked = (document._replace(boundaries=None) for document in generate("zh", sentences=60, seed=3))
    write_corpus(unmarked, "data/sample/corpora/more")
    facts = {"origin": "generated", "notes": []}
    for name in ("zh", "more"):
        write_json(stage(name).reports("corpora", f"{name}.json"), facts)
    concatenate(stage("zh-and-more"))
    return workdir


def scored(variant):
    evaluate(stage(variant))
    return pl.read_parquet(f"reports/sample/own_text/{variant}/scores.parquet")


def f1(documents, batches, rule=lambda text, at: at):
    spans = [spans for batch in batches for spans in batch.spans()]
    found = [[start for start, _ in of_sentence[1:]] for of_sentence in spans]
    pairs = [(doc, rule(doc.text, at)) for doc, at in zip(documents, found, strict=True) if doc.boundaries is not None]
    gold = [words(document.text, document.boundaries) for document, _ in pairs]
    return score_segmentation(gold, [words(document.text, at) for document, at in pairs]).words.f1


def by_statistics(documents, rule=lambda text, at: at):
    texts = [document.text for document in documents]
    statistics = ngram_statistics(texts, StatisticsOptions(n_max=SMALL["statistics"]["n_max"]))
    options = SegmentOptions(weight=METHODS["viterbi"]["weights"][0], vbe_weight=0)
    return f1(documents, Segmenter(statistics, options).segment(texts), rule)


def test_rows_are_what_the_library_says_of_the_text(folder):
    documents = list(read_corpus("data/sample/corpora/zh"))
    rows = scored("whole")
    assert rows["configuration"].to_list() == ["viterbi", "description-length", "words", "words"]
    assert rows["seed"].to_list() == [None, None, 0, 1]
    expected = [by_statistics(documents, apply_slm_rules)]
    texts = [document.text for document in documents]
    expected.append(f1(documents, [segment_by_description_length(texts)], apply_slm_rules))
    for seed in (0, 1):
        model = WordModel.fit(texts, WordOptions(sweeps=4, seed=seed))
        expected.append(f1(documents, [model.training], apply_slm_rules))
    assert rows["f1"].to_list() == pytest.approx(expected)


def test_each_slice_knows_itself_alone(folder):
    parts = slices(list(read_corpus("data/sample/corpora/zh")), Slices(count=3, characters=500))
    assert scored("sliced")["f1"].to_list() == pytest.approx([by_statistics(part) for part in parts])


def test_text_without_gold_words_adds_to_the_statistics_and_is_not_scored(folder):
    documents = list(read_corpus("data/sample/corpora/zh-and-more"))
    assert len(documents) == 240
    row = scored("further").row(0, named=True)
    assert row["f1"] == pytest.approx(by_statistics(documents))
    assert (row["sentences"], row["training_sentences"]) == (200, 240)


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("unmarked", "no gold words .*more"),
        ("too-long", "3 slices of 1,000,000"),
    ],
)
def test_what_cannot_be_is_one_line(folder, variant, message):
    with pytest.raises(InputError, match=message):
        evaluate(stage(variant))
    assert not (folder / stage(variant).reports("own_text", variant)).exists()


@given(st.lists(st.integers(1, 9), min_size=1, max_size=60), st.integers(1, 5), st.integers(1, 30))
def test_slices_are_whole_sentences_that_share_none_at_equal_distances(lengths, count, characters):
    corpus = [Document(str(number), "字" * length, None, None) for number, length in enumerate(lengths)]
    total = sum(lengths)
    try:
        found = slices(corpus, Slices(count=count, characters=characters))
    except InputError:
        assert count * (characters + 2 * max(lengths)) > total  # no room, at least not surely
        return
    numbers = [int(document.id) for part in found for document in part]
    assert len(found) == count and numbers == sorted(set(numbers))
    for index, part in enumerate(found):
        first, last = int(part[0].id), int(part[-1].id)
        assert [int(document.id) for document in part] == list(range(first, last + 1))
        size = sum(lengths[first : last + 1])
        assert size >= characters > size - lengths[last]
        before = sum(lengths[:first])
        assert index / count * total <= before < index / count * total + max(lengths)
