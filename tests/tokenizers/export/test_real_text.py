"""The bars of the export on a month of news, held out and not; on Thai, whose characters are clusters."""

import gzip
import itertools

import pytest

from tokenlab.ngrams import StatisticsOptions, ngram_statistics
from tokenlab.segment import Segmenter, SegmentOptions
from tokenlab.tokenizers.export import ExportOptions, HuggingFace, export_tokenizer, measure_agreement

pytestmark = pytest.mark.nightly

BEST = SegmentOptions(weight=1.25, vbe_weight=0.5)


def read_words(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [words for line in lines if (words := line.split())]


def agreement(training, words, size=None, unit="cluster"):
    lines = ["".join(line) for line in words]
    spans = [list(itertools.pairwise(itertools.accumulate(map(len, line), initial=0))) for line in words]
    statistics = ngram_statistics(training, StatisticsOptions(unit=unit))
    tokenizer = export_tokenizer(training, statistics, BEST, ExportOptions(vocabulary_size=size))
    return measure_agreement(HuggingFace(tokenizer), Segmenter(statistics, BEST), lines, spans)


@pytest.fixture(scope="module")
def news(mirror):
    words = read_words(mirror / "pku/pd199801_train.utf8.gz")
    return ["".join(line) for line in words], words


def test_of_text_that_was_held_out(news):
    raw, words = news
    cut = len(raw) * 9 // 10
    found = agreement(raw[:cut], words[cut:])
    assert found.restored == found.lines
    assert found.tokens.recall >= 0.99
    assert found.gold["words"].f1 >= found.gold["segments"].f1 - 0.001


def test_with_30000_entries(news):
    raw, words = news
    found = agreement(raw, words[len(raw) * 9 // 10 :], 30_000)
    assert found.restored == found.lines
    assert found.gold["tokens"].f1 >= found.gold["segments"].f1 - 0.003


@pytest.mark.parametrize("unit", ["cluster", "character"])
def test_thai(mirror, unit):
    words = read_words(mirror / "segmentation/ud_th.utf8.gz")
    found = agreement(["".join(line) for line in words], words, unit=unit)
    assert found.restored == found.lines
    assert found.tokens.recall >= 0.99
