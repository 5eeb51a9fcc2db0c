"""Agreement by hand on a segmenter and a tokenizer that are known."""

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.metrics.segmentation import Counts
from tokenlab.ngrams import ngram_statistics
from tokenlab.segment import Segmenter, SegmentOptions
from tokenlab.tokenizers.export import ExportOptions, HuggingFace, measure_agreement, parse_special_tokens

LINES = ["甲乙，丙12.5 丁", "", "甲乙"]


@pytest.fixture
def segmenter():
    """Segments: characters, and 12.5 whole."""
    return Segmenter(ngram_statistics(["甲乙丙丁"]), SegmentOptions(single_character=1e6))


@pytest.fixture
def exported():
    """Tokens: 甲乙 together, digits apart; the space is unknown."""
    tokenizer = Tokenizer(
        models.WordLevel({token: number for number, token in enumerate(["甲乙", *"，丙12.5丁?"])}, "?")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("甲乙|."), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return HuggingFace(tokenizer)


def test_counts(segmenter, exported):
    assert segmenter.spans(LINES[0]) == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 8), (9, 10)]
    found = measure_agreement(exported, segmenter, LINES)
    assert (found.lines, found.restored, found.characters) == (3, 2, 12)
    assert found.tokens == Counts(6 + 2, 8 + 1, 3)  # equal: ， 丙 丁
    assert found.words == Counts(6 + 2, 5 + 1, 4)  # and 12.5
    assert found.gold == {}
    assert found.characters_per_second > 0
    assert found.figures()["segments_equal_to_a_word"] == 4 / 8


def test_gold(segmenter, exported):
    gold = [[(0, 2), (2, 3), (3, 4), (4, 8), (9, 10)], [], [(0, 2)]]
    found = measure_agreement(exported, segmenter, LINES, gold)
    assert found.gold == {"segments": Counts(6, 8, 4), "words": Counts(6, 6, 6), "tokens": Counts(6, 9, 5)}
    assert found.figures()["f1_of_words"] == 1.0
    for wrong in (gold[:2], [*gold, []]):
        with pytest.raises(InputError, match="gold words for"):
            measure_agreement(exported, segmenter, LINES, wrong)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["pad="], "not empty"),
        ([" <x>"], "whitespace at its ends"),
        (["pad=<a>", "pad=<b>"], "two tokens for pad"),
    ],
)
def test_bad_special_tokens(given, message):
    with pytest.raises(ParameterError, match=message):
        ExportOptions(special_tokens=given)


def test_special_tokens_are_read():
    read = parse_special_tokens(["pad=<e>", "eos=<e>", "x=1", "unk=<u>", "bos=a=b"])
    assert read.tokens == ("<u>", "<e>", "x=1", "a=b")
    assert read.roles == {"pad": "<e>", "eos": "<e>", "unk": "<u>", "bos": "a=b"}
    assert parse_special_tokens([]).tokens == ("<|unk|>",)
