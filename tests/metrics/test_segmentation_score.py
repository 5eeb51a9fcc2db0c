import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenlab.core.errors import InputError
from tokenlab.metrics import of_segmentation, score_segmentation


def test_worked_by_hand():
    # gold: 共同 创造 美好 的 新 世纪; predicted: 共同 创 造 美好 的新 世纪
    gold = [["共同", "创造", "美好", "的", "新", "世纪"], ["是"]]
    predicted = [["共同", "创", "造", "美好", "的新", "世纪"], ["是"]]
    score = score_segmentation(gold, predicted, known_words={"共同", "美好", "的", "是"})
    assert score.words == (7, 7, 4)  # 共同 美好 世纪 是
    assert score.boundaries == (5, 5, 4)
    assert score.unknown == (3, 3, 1)  # 创造 新 世纪, of which 世纪
    assert score.known == (4, 4, 3)  # 共同 美好 的 是, of which 的 is lost
    figures = of_segmentation(score)
    assert figures["precision"] == figures["recall"] == figures["f1"] == pytest.approx(4 / 7)
    assert figures["oov_rate"] == pytest.approx(3 / 7)
    assert figures["boundary_f1"] == pytest.approx(4 / 5)


def test_words_of_han_alone():
    gold = [["一九九八年", "１２月", "的", "二○○一", "ＡＢ", "型", "，", "カナ"]]
    predicted = [["一九九八", "年", "１２月", "的", "二○○一", "ＡＢ型", "，", "カナ"]]
    score = score_segmentation(gold, predicted)
    assert score.han_words == (4, 4, 2)  # 一九九八年 的 二○○一 型; 一九九八 年 的 二○○一
    assert of_segmentation(score)["han_f1"] == pytest.approx(0.5)
    assert of_segmentation(score_segmentation([["ab"]], [["ab"]]))["han_f1"] is None


def test_undefined_figures_are_none():
    figures = of_segmentation(score_segmentation([["ab"]], [["ab"]], known_words={"ab"}))
    assert figures["boundary_f1"] is None and figures["oov_recall"] is None
    assert of_segmentation(score_segmentation([["ab"]], [["ab"]]))["iv_recall"] is None


cuts = st.lists(st.booleans(), min_size=7, max_size=7)


def cut(text, marks):
    words = [text[0]]
    for character, new in zip(text[1:], marks, strict=True):
        if new:
            words.append(character)
        else:
            words[-1] += character
    return words


@given(cuts, cuts)
def test_counts_equal_sets_of_spans(gold_marks, our_marks):
    gold, ours = cut("abcdefgh", gold_marks), cut("abcdefgh", our_marks)
    score = score_segmentation([gold], [ours])
    # The text has no letter twice, so a word is its span.
    assert score.words == (len(gold), len(ours), len(set(gold) & set(ours)))
    both = sum(a and b for a, b in zip(gold_marks, our_marks, strict=True))
    assert score.boundaries == (sum(gold_marks), sum(our_marks), both)


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ([["ab"], ["cd"]], [["ab"], ["c", "e"]], r"sentence 2: .*character 2"),
        ([["ab"]], [["abc"]], "character 3"),
        ([["ab"], ["c"]], [["ab"]], "prediction ends before sentence 2"),
        ([["ab"]], [["ab"], ["c"]], "gold ends before sentence 2"),
    ],
)
def test_other_text_is_an_error(gold, predicted, message):
    with pytest.raises(InputError, match=message):
        score_segmentation(gold, predicted)
