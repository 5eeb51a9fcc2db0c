"""Verses of two corpora with the same ids, their split, and both codes over one base vocabulary."""

import numpy as np
import pytest

from tasks.bits.evaluate_translation import Output, scores
from tasks.bits.translation import (
    BITS,
    BYTES,
    END_ID,
    NEVER,
    PADDING_ID,
    BaseVocabulary,
    PairSplit,
    Verse,
    align,
    copied_rows,
    encode_verses,
    fallback_ratio,
    read_codes,
    split_verses,
    train_base,
)
from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.bits.symbols import RESET
from tokenlab.core.errors import InputError
from tokenlab.generated import generate
from tokenlab.text.documents import Document
from tokenlab.text.store import write_corpus
from tokenlab.translation.generation import Translation
from tokenlab.translation.model import MEAN

SPLIT = PairSplit(training=None, validation=2, test=3, seed=0)


def corpora(folder, first, second):
    for name, texts in (("one", first), ("two", second)):
        write_corpus((Document(id, text) for id, text in texts), folder / name)
    return folder / "one", folder / "two"


@pytest.fixture(scope="module")
def parallel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora")
    return align(
        *corpora(folder, *([(d.id, d.text) for d in generate(x, sentences=120, seed=0)] for x in ("en", "zh")))
    )


@pytest.fixture(scope="module")
def codes(parallel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    train_base(parallel.verses, BaseVocabulary(size=450, characters=70), folder)
    return read_codes(folder, BitOptions())


def test_verses_of_one_corpus_are_left_out_and_counted(tmp_path):
    aligned = align(*corpora(tmp_path, [("a", "A"), ("b", "B"), ("c", "C")], [("c", "丙"), ("d", "丁"), ("a", "甲")]))
    assert [tuple(verse) for verse in aligned.verses] == [("a", "A", "甲"), ("c", "C", "丙")]
    assert (aligned.only_in_source, aligned.only_in_target) == (1, 1)
    for second, message in (([("b", "B")], "no id is in both"), ([("a", "B"), ("a", "C")], "id a .*twice")):
        with pytest.raises(InputError, match=message):
            align(*corpora(tmp_path, [("a", "A")], second))


def test_parts_are_disjoint_and_those_of_the_seed(parallel):
    parts = split_verses(parallel.verses, SPLIT)
    assert [len(part) for part in parts[:3]] == [115, 2, 3]
    assert sorted(verse for part in parts[:3] for verse in part) == sorted(parallel.verses)
    fewer = split_verses(parallel.verses, SPLIT.model_copy(update={"training": 10}))
    assert fewer == (parts.training[:10], parts.validation, parts.test, 0, 0)
    assert split_verses(parallel.verses, SPLIT.model_copy(update={"seed": 1})).test != parts.test


def test_held_out_verses_with_a_side_of_training_are_left_out_and_counted():
    alone = [Verse(f"alone {n}", f"source {n}", f"target {n}") for n in range(40)]
    source = [Verse(f"source {n}", "And he died.", f"他死了 {n}") for n in range(40)]
    target = [Verse(f"target {n}", f"So he died {n}.", "他就死了。") for n in range(40)]
    parts = split_verses(alone + source + target, PairSplit(training=None, validation=20, test=30, seed=0))
    drawn = np.random.default_rng(0).permutation(120)
    for part, left_out, numbers in (
        (parts.test, parts.test_in_training, drawn[:30]),
        (parts.validation, parts.validation_in_training, drawn[30:50]),
    ):
        assert part == [alone[number] for number in numbers if number < 40]
        assert left_out == sum(numbers >= 40) > 0
    assert len(parts.training) == 70
    for verses, message in ((source, "in training, too"), (alone[:5], "5 pairs, .* 5 are held out")):
        with pytest.raises(InputError, match=message):
            split_verses(verses, SPLIT)


def test_both_codes_are_lossless_over_one_vocabulary(parallel, codes):
    base, by_name = codes
    assert by_name[BYTES].size == base.size == 450 and by_name[BITS].size == 450 + 261
    texts = [verse.target for verse in parallel.verses]
    for name in (BYTES, BITS):
        encoded = by_name[name].encode_batch(texts)
        assert [by_name[name].decode(ids) for ids in encoded] == [(text, []) for text in texts]
        assert not {END_ID, PADDING_ID, *NEVER} & {int(id) for ids in encoded for id in ids}
    known = next(character for character in "的是一" if len(base.encode(character)) < 3)
    assert fallback_ratio(base, [known * 3 + "龘"]) == 0.25 and fallback_ratio(base, []) == 0


def test_long_verses_are_left_out_in_both_codes(parallel, codes):
    _, by_name = codes
    encoded = encode_verses(parallel.verses, by_name, 40)
    assert 0 < len(encoded.verses) < len(parallel.verses)
    for name, pairs in encoded.pairs.items():
        assert len(pairs) == len(encoded.verses) and max(pairs.source.lengths.max(), pairs.target.lengths.max()) <= 40
        for number in (0, len(pairs) - 1):
            ids = pairs.target.sentence(number)
            assert ids[-1] == END_ID
            assert by_name[name].decode(ids[:-1]).text == encoded.verses[number].target
    assert encode_verses([], by_name, 40).verses == []


def test_new_tokens_copy_the_bytes_with_their_bits(codes):
    base, by_name = codes
    rows = copied_rows(base)
    assert len(rows) == by_name[BITS].size - base.size
    assert base.tokens[rows[0x41]] == b"A"  # payload 141h
    assert [base.tokens[row] for row in rows[256:260]] == [b"\xe0", b"\xe4", b"\xe8", b"\xec"]
    assert rows[RESET - 256 :] == [MEAN]


def test_scores_by_hand(codes):
    base, by_name = codes
    decode = by_name[BITS].decode
    byte, prefix = int(base.byte_ids[0xE4]), base.size + 256 + 1
    good = base.encode("Yes.").tolist()
    made = [(good, True), ([byte], True), ([prefix, prefix], False), ([], True)]
    outputs = [Output(Translation(ids, ended), decode(ids)) for ids, ended in made]
    found = scores(outputs, ["Yes."] * 4, "char")
    assert (found["sentences"], found["broken"], found["unfinished"], found["empty"]) == (4, 2, 1, 1)
    assert found["broken_ended"] == 1
    assert (found["errors"], found["errors_utf8"], found["errors_prefix"], found["errors_ended"]) == (3, 1, 2, 1)
    assert found["output_tokens"] == len(good) + 3 and found["reference_characters"] == 16
    assert 0 < found["chrf"] < 100
    perfect = scores(outputs[:1] * 4, ["Yes."] * 4, "char")
    assert perfect["chrf"] == pytest.approx(100) and perfect["bleu"] == pytest.approx(100)
