"""`tokenlab measure` on small texts and tokenizers."""

import json

import pytest
import small_bases
from command import ended_here
from command import tokenlab_here as tokenlab
from tiny_tokenizers import EXPRESSIONS, byte_level, train
from tokenizers import Tokenizer, models, pre_tokenizers

from tokenlab.metrics import gini

LINES = ["In the beginning God created the heaven and the earth.", "", "né, naïve", "神"]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    for merges in (0, 30):
        train(byte_level(EXPRESSIONS["gpt2"]), LINES, merges).save(str(tmp_path / f"{merges}.json"))
    return tmp_path


def test_parity_and_gini_of_parallel_texts(files):
    """Lines that are blank in one text are left out of all."""
    (files / "de.txt").write_text("Am Anfang schuf Gott Himmel und Erde.\n\n\nGott\n", encoding="utf-8")
    chinese = ["起初神创造天地", "", "x", "神"]
    (files / "zh.jsonl").write_text("".join(json.dumps({"text": text}) + "\n\n" for text in chinese))
    texts = [files / name for name in ("text.txt", "de.txt", "zh.jsonl")]
    parallel = [argument for text in texts[1:] for argument in ("--parallel", text)]
    chosen = ["--tokenizer", files / "0.json", "--tokenizer", files / "30.json", "--reference", files / "0.json"]
    rows = json.loads(tokenlab("measure", texts[0], *parallel, *chosen, "--json"))
    assert [(row["tokenizer"], row["text"]) for row in rows] == [
        (str(files / name), str(text)) for name in ("0.json", "30.json") for text in texts
    ]
    kept = [[LINES[0], LINES[3]], ["Am Anfang schuf Gott Himmel und Erde.", "Gott"], ["起初神创造天地", "神"]]
    for name, measured in (("0.json", rows[:3]), ("30.json", rows[3:])):
        tokenizer = Tokenizer.from_file(str(files / name))
        tokens = [sum(len(tokenizer.encode(text).ids) for text in texts) for texts in kept]
        assert [row["tokens"] for row in measured] == tokens
        assert [row["parity"] for row in measured] == [count / tokens[0] for count in tokens]
        assert {row["gini"] for row in measured} == {gini([count / 2 for count in tokens])}
    relative = [one["tokens"] / of_reference["tokens"] for one, of_reference in zip(rows[3:], rows[:3], strict=True)]
    assert [row["normalised_length"] for row in rows[3:]] == relative
    table = tokenlab("measure", texts[0], *parallel, *chosen)
    assert table.count("\nparity ") == table.count("\ngini ") == 3 and f"\n{texts[2]}\n" in table
    assert tokenlab("measure", texts[0], *parallel, *chosen, "--workers", "2") == table


def test_verses_are_parallel_by_their_ids(files):
    verse = '<seg id="b.GEN.1.{}" type="verse">{}</seg>\n'
    for name, verses in (("en", {1: "God", 2: "the heaven", 3: "light"}), ("de", {2: "der Garten", 3: "", 4: "Tag"})):
        body = "".join(verse.format(*item) for item in verses.items())
        (files / f"{name}.xml").write_text(f"<cesDoc><text><body>\n{body}</body></text></cesDoc>\n")
    rows = json.loads(
        tokenlab("measure", files / "en.xml", "--parallel", files / "de.xml", "--tokenizer", files / "0.json", "--json")
    )
    assert [row["tokens"] for row in rows] == [len("the heaven"), len("der Garten")] and rows[1]["parity"] == 1
    (files / "lines.txt").write_text("one\ntwo\nthree\n")
    ended = ended_here("measure", files / "en.xml", "--parallel", files / "lines.txt", "--tokenizer", files / "0.json")
    assert ended.status == 2 and "is read as text" in ended.said


def test_a_normalising_model_is_named_and_unknown_tokens_are_warned_of(files):
    pytest.importorskip("sentencepiece")
    options = {"normalization_rule_name": "nmt_nfkc", "remove_extra_whitespaces": True}
    (files / "a.model").write_bytes(small_bases.sentencepiece_model("unigram", **options))
    chosen = ["--tokenizer", files / "a.model", "--tokenizer", files / "0.json"]
    ended = ended_here("measure", files / "text.txt", *chosen)
    assert ended == ended_here("measure", files / "text.txt", *chosen, "--workers", "2")
    assert ended.out.startswith(f"[1] {files / 'a.model'} (normalises texts: nmt_nfkc, spaces")
    assert f"\n[2] {files / '0.json'}\n" in ended.out and ended.status == 0 and not ended.said
    words = Tokenizer(models.WordLevel({"[UNK]": 0, "the": 1}, "[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.save(str(files / "words.json"))
    ended = ended_here("measure", files / "text.txt", "--tokenizer", files / "words.json", "--json")
    (row,) = json.loads(ended.out)
    assert (row["words_kept_whole"], row["unknown_rate"], row["normalises"]) == (3 / 13, 10 / 13, [])
    assert ended.said.startswith(f"tokenlab: {files / 'words.json'}: 76.9 %") and str(files / "text.txt") in ended.said
