"""Texts of scripts with which a method can do nothing: the command says so."""

import pytest
from command import ended_here, tokenlab_here

NOTHING_TO_SEGMENT = {
    "English": "In the beginning God created.\n",
    "Arabic": "في البدء خلق الله السماوات والأرض\n",
    "emoji": "😀😃 🎉\n👍🏽\n",
    "digits": "123 456\n",
}


@pytest.mark.parametrize("text", NOTHING_TO_SEGMENT.values(), ids=NOTHING_TO_SEGMENT)
def test_no_script_without_spaces(text):
    ended = ended_here("segment", "-", stdin=text)
    assert ended.status == 0 and "standard input: no character of a script that is written without" in ended.said
    assert ended.said.count("\n") == 1
    assert ended_here("segment", "-", "--isolate", "punctuation", stdin=text).said == ""
    said = tokenlab_here("segment", "-", "--method", "words", stdin=text, status=2)
    assert "no character of a script written without spaces" in said
    measured = ended_here("bits", "measure", "-", stdin=text)
    assert measured.status == 0 and "bit-level codes change nothing here" in measured.said


@pytest.mark.parametrize("text", ["នៅដើមដំបូង ព្រះបានបង្កើត\n", "abc 共同\n"], ids=["Khmer", "mixed"])
def test_one_such_character_is_enough(text):
    assert ended_here("segment", "-", stdin=text).said == ""
    assert ended_here("bits", "measure", "-", stdin=text).said == ""


@pytest.mark.parametrize("kind", ["radical", "stroke"])
def test_a_code_of_components_for_a_text_without_any(tmp_path, kind):
    (tmp_path / "ids.txt").write_text("U+597D\t好\t⿰女子\n", encoding="utf-8")
    (tmp_path / "strokes.tsv").write_text("好\tznshhs\n", encoding="utf-8")
    command = ["codes", "learn", "-", "--code", kind, "--tables", tmp_path, "-o", tmp_path / "code.json"]
    said = tokenlab_here(*command, stdin="In the beginning\n", status=2)
    assert f"the table of the code `{kind}`" in said and "takes none of its characters apart" in said
    assert not (tmp_path / "code.json").exists()
    tokenlab_here(*command, stdin="In the 好\n")
