"""`tokenlab score`, also where the two texts are not the same."""

import json

import pytest
from command import ended_here, tokenlab_here

GOLD = ["共同 创造", "美好 的", "", "新 世纪", "１２ 月"]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "gold").write_text("\n".join(GOLD) + "\n", encoding="utf-8")
    ours = ["共同 创造", "美好 地", "", "新世 纪", "12 月"]
    (tmp_path / "ours").write_text("\n".join(ours) + "\n", encoding="utf-8")
    return tmp_path / "gold", tmp_path / "ours"


def test_score(tmp_path):
    gold, ours, words = tmp_path / "gold", tmp_path / "ours", tmp_path / "words"
    gold.write_text("共同  创造　美好\r\n的\r\n", encoding="utf-8")
    ours.write_text("共同 创 造 美好\n的\n", encoding="utf-8")
    words.write_text("共同 美好\n\n", encoding="utf-8")
    figures = json.loads(tokenlab_here("score", gold, ours, "--words", words, "--json"))
    assert figures["precision"] == pytest.approx(3 / 5) and figures["recall"] == pytest.approx(3 / 4)
    assert figures["oov_recall"] == pytest.approx(1 / 2) and figures["iv_recall"] == 1.0
    shown = tokenlab_here("score", gold, "-", stdin="共同 创 造 美好\n的\n")
    assert "60.00 %" in shown and "oov" not in shown


def test_lines_that_differ_are_counted_and_the_first_are_named(files, tmp_path):
    said = tokenlab_here("score", *files, status=2)
    assert "2 of 5 lines: 2, 5" in said and "character 3" in said and "'的'" in said and "'地'" in said
    (tmp_path / "gold").write_text("甲\n" * 40 + "乙\n", encoding="utf-8")
    (tmp_path / "ours").write_text("丙\n" * 40 + "乙\n", encoding="utf-8")
    said = tokenlab_here("score", tmp_path / "gold", tmp_path / "ours", status=2)
    assert "40 of 41 lines: 1, 2, 3" in said and "19, 20 ...;" in said


def test_lines_that_differ_are_left_out(files, tmp_path):
    ended = ended_here("score", *files, "--skip-differing", "--json")
    assert ended.said.startswith("tokenlab: left out 2 of 5 lines") and ended.said.endswith(": 2, 5\n")
    found = json.loads(ended.out)
    assert found["skipped_lines"] == [2, 5] and found["recall"] == pytest.approx(2 / 4)
    (tmp_path / "one").write_text("共同 创造\n\n新 世纪\n", encoding="utf-8")
    (tmp_path / "two").write_text("共同 创造\n\n新世 纪\n", encoding="utf-8")
    same = json.loads(tokenlab_here("score", tmp_path / "one", tmp_path / "two", "--json"))
    assert {name: found[name] for name in same} == same
    assert json.loads(tokenlab_here("score", files[0], files[0], "--skip-differing", "--json"))["skipped_lines"] == []
