"""Isolation against the rule of methods.md written plainly, against the rule for Chinese alone, and on real text."""

import gzip
import unicodedata

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_segmentation import kinds_of, split_clusters
from unicode_text import SENTENCES, text

from tokenlab.core.errors import ParameterError
from tokenlab.metrics.words import UNSPACED_SCRIPTS
from tokenlab.ngrams import StatisticsOptions, ngram_statistics
from tokenlab.segment import BoundaryOptions, Segmenter, SegmentOptions, segment_by_entropy
from tokenlab.segment.isolation import ALONE, FREE, SPACE, WHOLE, CharacterClasses
from tokenlab.segment.words.model import WordModel
from tokenlab.segment.words.options import WordOptions
from tokenlab.text.code_points import code_points
from tokenlab.text.readers import read_documents


def class_of(kind, split_kana):
    names = ["Han", *(["kana"] if split_kana else []), "Thai", "Lao", "Khmer", "Myanmar", "Tibetan"]
    classes = {"space": SPACE, "alone": ALONE, "whole": WHOLE, "run": FREE} | {
        name: FREE + i for i, name in enumerate(names)
    }
    return classes[kind]


@settings(max_examples=400)
@given(text, st.sampled_from(["script", "punctuation", "none"]), st.booleans())
def test_equals_the_plain_rule_over_unicode(text, isolate, split_kana):
    split_kana = split_kana and isolate == "script"
    options = SegmentOptions(isolate=isolate, split_kana=split_kana)
    expected = []
    clusters = split_clusters(text)
    for cluster, kind in zip(clusters, kinds_of(clusters, options), strict=True):
        expected += [class_of(kind, split_kana)] * len(cluster)
    assert CharacterClasses(isolate, split_kana)(code_points(text)).tolist() == expected


def test_a_sign_inside_a_cluster_is_punctuation():
    flat = np.zeros(8, np.float32)
    assert segment_by_entropy(["手🏽中国(เ)ก"], [flat], BoundaryOptions(), "punctuation").text() == "手🏽 中国 ( เ) ก\n"


def test_splitting_kana_without_isolating_scripts_is_refused():
    with pytest.raises(ParameterError, match=r"split_kana .* isolate is `none`"):
        SegmentOptions(isolate="none", split_kana=True)
    with pytest.raises(ParameterError, match="isolate is 'scripts'"):
        segment_by_entropy([], [], BoundaryOptions(), "scripts")


def isolated(sentence, split_kana=False):
    """The segments where nothing but isolation puts a boundary."""
    flat = np.zeros(len(sentence), np.float32)
    return segment_by_entropy([sentence], [flat], BoundaryOptions(), "script", split_kana).text()


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Größe 1.5% x@y.org U.S. a..b", "Größe 1.5 % x@y.org U.S . a . . b"),
        ("5,000.00, 1,a a,1 3.14.", "5,000.00 , 1 , a a , 1 3.14 ."),
        ("don't 'e\u0301te\u0301'!", "don't ' e\u0301te\u0301 ' !"),
        ("可口可乐Coca‑Cola…（ＡＢ１２％）", "可口可乐 Coca ‑ Cola … （ ＡＢ１２ ％ ）"),
        ("私はコーヒーを①", "私はコーヒーを ①"),
        ("ｺｰﾋｰﾊﾟﾝ2ﾊﾟｯｸ", "ｺｰﾋｰﾊﾟﾝ 2 ﾊﾟｯｸ"),
        ("ที่นี่ບ່ອນນີ້ a๑๒", "ที่นี่ ບ່ອນນີ້ a ๑๒"),
        ("မြန်မာ၊ခ။ខ្មែរ។བོད་ཡིག།", "မြန်မာ ၊ ခ ။ ខ្មែរ ។ བོད་ཡིག །"),
        ("क्षत्रिय१२ \u1a20\u1a63\u1a3e", "क्षत्रिय१२ \u1a20\u1a63\u1a3e"),
        ("ʻOkina \u0301a", "ʻOkina \u0301 a"),
        ("👩‍👩‍👧‍👦👍🏽🇫🇷🇩🇪1️⃣", "👩‍👩‍👧‍👦 👍🏽 🇫🇷 🇩🇪 1️⃣"),
        ("\u06001٢ a\u200db\u200b", "\u06001٢ a\u200db \u200b"),
    ],
)
def test_by_hand(sentence, expected):
    assert isolated(sentence) == expected + "\n"


def test_split_kana():
    assert isolated("私はコーヒーが大好き") == "私はコーヒーが大好き\n"
    assert isolated("私はコーヒーが大好き", split_kana=True) == "私 はコーヒーが 大好 き\n"
    sentence = "天天地が天地が"
    for split_kana, word in ((False, "天地が"), (True, "天地")):
        options = SegmentOptions(tie="long", vbe_weight=0.0, split_kana=split_kana)
        segmenter = Segmenter(ngram_statistics(["天地が"]), options)
        assert word in [sentence[start:end] for start, end in segmenter.spans(sentence)]


@pytest.mark.parametrize("isolate", ["script", "punctuation", "none"])
def test_entropy_cuts_no_cluster_but_with_none(isolate):
    rising = [0.0, 9.0, 0.0, 9.0, 0.0, 0.0]
    (found,) = segment_by_entropy(["กำลัง" + "ก"], [np.array(rising, np.float32)], BoundaryOptions(), isolate).spans()
    assert found == ([(0, 1), (1, 3), (3, 6)] if isolate == "none" else [(0, 6)])


_UNSPACED = "".join(rf"\p{{Script={script}}}" for script in UNSPACED_SCRIPTS)
WORD = regex.compile(
    rf"(?V1)[\p{{L}}\p{{Nd}}--[ーｰ{_UNSPACED}]][\p{{L}}\p{{M}}\p{{Nd}}\u200c\u200d--[ーｰ{_UNSPACED}]]*"
)


def check_cuts(segmentation):
    """No segment begins inside a run of letters of spaced scripts or inside a cluster."""
    whole = regex.sub(r"[\s\x1C-\x1F]", "\n", segmentation.code_points.tobytes().decode("utf-32-le"))
    inside = np.zeros(len(whole) + 1, np.int64)
    for found in [*WORD.finditer(whole), *regex.finditer(r"\X", whole)]:
        inside[found.start() + 1] += 1
        inside[found.end()] -= 1
    cut = np.flatnonzero(segmentation.begins & (np.cumsum(inside)[:-1] > 0))
    assert not len(cut), [whole[place - 5 : place + 5] for place in cut[:5]]


@pytest.mark.parametrize("unit", ["cluster", "character"])
@pytest.mark.parametrize("options", [SegmentOptions(), SegmentOptions(decoder="greedy", vbe_weight=0.5)])
def test_no_word_and_no_cluster_is_cut(unit, options):
    sentences = [*SENTENCES.values()]
    for seen in (sentences, ["天地玄黄"]):
        (found,) = Segmenter(ngram_statistics(seen, StatisticsOptions(unit=unit)), options).segment(sentences)
        check_cuts(found)


_BEFORE = r"(THAI CHARACTER SARA (E|AE|O|AI \w+)|LAO VOWEL SIGN (E|EI|O|AY|AI)|\w+ SIGN (VIRAMA|COENG))"
_AFTER = r"(THAI CHARACTER (SARA AA?|SARA AM|LAKKHANGYAO)|LAO VOWEL SIGN (A|AA|AM)|(MYANMAR|KHMER|TIBETAN) .*)"
_SMALL = r"(HIRAGANA|KATAKANA|HALFWIDTH KATAKANA) LETTER SMALL .*|.*PROLONGED SOUND MARK"


def impossible(before, after):
    """Whether a reader of the script would not begin a segment between two characters, by their names."""
    one, other = unicodedata.name(before, ""), unicodedata.name(after, "")
    sign = unicodedata.category(after)[0] == "M" or other.startswith(("THAI", "LAO"))
    kana = one.startswith(("HIRAGANA LETTER", "KATAKANA LETTER", "CJK UNIFIED"))
    return bool(
        (regex.fullmatch(_BEFORE, one) and after.isalpha())
        or (regex.fullmatch(_AFTER, other) and sign)
        or (regex.fullmatch(_SMALL, other) and kana)
    )


WORDS = ("segmentation/ud_th.utf8.gz", "segmentation/ud_ja_first_half.utf8.gz")
BIBLES = ("bible/Japanese.xml.gz", "bible/Japanese-Bungo.xml.gz")


@pytest.mark.parametrize("part", [pytest.param(1, marks=pytest.mark.nightly), 40], ids=["whole", "part"])
@pytest.mark.parametrize("name", WORDS + BIBLES)
def test_no_impossible_boundary(mirror, name, part):
    """By statistics and by the word model; the rule is written apart from the library's."""
    sentences = [*SENTENCES.values()]
    if name in BIBLES:
        sentences += [document.text for document in read_documents(mirror / name, "ces")][::part]
    else:
        with gzip.open(mirror / name, "rt", encoding="utf-8") as lines:
            sentences += ["".join(line.split()) for line in lines][: None if part == 1 else 400]
    for unit in ("cluster", "character"):
        statistics = ngram_statistics(sentences, StatisticsOptions(unit=unit))
        check_boundaries(Segmenter(statistics).segment(sentences))
    check_boundaries([WordModel.fit(sentences, WordOptions(sweeps=4)).training])


def check_boundaries(segmentations):
    checked = 0
    for segmentation in segmentations:
        whole = segmentation.code_points.tobytes().decode("utf-32-le")
        places = [place for place in np.flatnonzero(segmentation.begins).tolist() if place]
        found = [whole[place - 3 : place + 2] for place in places if impossible(whole[place - 1], whole[place])]
        assert not found, found[:5]
        checked += len(places)
    assert checked > 1000
