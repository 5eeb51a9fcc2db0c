"""The stage of bit-level lengths: its table beside a code a token at a time, its bounds, and its search."""

import contextlib
from collections import Counter

import plain_bits
import polars as pl
import pytest
from workspace import SMALL_LENGTHS

from tasks.bits.length import Texts, measure_lengths
from tasks.runtime.stage import Stage
from tokenlab.codes.bits.bit_code import CharacterBits
from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.bits.over.training import train_byte_fallback
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.generated import generate
from tokenlab.text.documents import Document
from tokenlab.text.store import write_corpus

LANGUAGES = {"zh": 80, "ja": 80, "mixed": 0}
MIXED = ["漢字@[漢]é字", "かな A 漢 ABC", "한국어, ไทย ગુજ ABC", "字À é漢Ñ😀字字", "plain ASCII _^", "字", "😀", "漢A"]


def stage(variant, **changes):
    section = SMALL_LENGTHS | {"corpora": {name: {"tokenizer": "plain"} for name in LANGUAGES}} | changes
    return Stage("params.yaml", "sample", variant, {"bits": section})


def texts_of(language):
    if not LANGUAGES[language]:
        return MIXED
    return [document.text for document in generate(language, sentences=LANGUAGES[language], seed=0)]


@pytest.fixture(scope="module")
def folder(workdir):
    """The working directory of the tests, with the stage run for all corpora."""
    (workdir / "plain").mkdir()
    train_byte_fallback(texts_of("zh"), 400, 30).save(str(workdir / "plain" / "tokenizer.json"))
    for language in LANGUAGES:
        documents = [Document(str(n), text, None, None) for n, text in enumerate(texts_of(language))]
        write_corpus(documents, f"data/sample/corpora/{language}")
        measure_lengths(stage(language))
    return workdir


def lengths(folder, language):
    return pl.read_parquet(folder / f"reports/sample/bits/{language}/lengths.parquet")


def search(folder, language):
    return pl.read_parquet(folder / f"reports/sample/bits/{language}/search.parquet")


def coded(texts, known, row):
    """The tokens of every text by the plain code; for a text at which `paper` raises, those of `lossless` but resets
    (all in the emission `run`)."""
    found = []
    for text in texts:
        fallen = plain_bits.fallback(text, known)
        try:
            found.append(plain_bits.encode(fallen, row["mode"], row["prefixes"], row["emission"]))
        except plain_bits.AmbiguousError:
            whole = plain_bits.encode(fallen, "lossless", row["prefixes"], row["emission"])
            found.append([token for token in whole if token[0] != "R"])
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_lengths_over_characters_are_those_of_the_plain_code(folder, language):
    texts = texts_of(language)
    counts = Counter("".join(texts))
    ranked = sorted(counts, key=lambda character: (-counts[character], character))
    for row in lengths(folder, language).filter(base="characters").iter_rows(named=True):
        known = set(ranked[: row["known"]])
        fallen = [plain_bits.fallback(text, known) for text in texts]
        assert row["bytes_tokens"] == sum(map(len, fallen))
        assert row["fallback_characters"] == pytest.approx(
            sum(counts[character] for character in counts.keys() - known) / counts.total()
        )
        if row["code"] == "bytes":
            assert row["tokens"] == row["bytes_tokens"] and row["vocabulary"] == 256 + len(known & counts.keys())
            continue
        if row["mode"] == "paper" and row["emission"] == "change":
            continue  # Where it goes on after an ambiguous byte, the plain code does not.
        tokens = [token for text in coded(texts, known, row) for token in text]
        kinds = Counter(kind for kind, _ in tokens)
        assert (row["tokens"], row["resets"], row["prefix_tokens"]) == (len(tokens), kinds["R"], kinds["P"])
        # A raw byte and a payload below 100h are one type.
        types = {(kind in "BN" and value < 256, "B" if kind in "BN" else kind, value) for kind, value in tokens}
        assert row["types"] == len(types)


@pytest.mark.parametrize("language", LANGUAGES)
def test_never_longer_than_byte_fallback_but_for_resets(folder, language):
    bits = lengths(folder, language).filter(code="bits")
    assert len(bits) == 8 * (3 + 1 + 1)
    assert (bits["tokens"] - bits["resets"] <= bits["bytes_tokens"]).all()
    assert (bits.filter(mode="paper")["resets"] == 0).all()
    with_resets, without = (
        bits.filter(mode=mode, emission="run").select("base", "known", "prefixes", "tokens", "resets")
        for mode in ("lossless", "paper")
    )
    assert (with_resets["tokens"] - with_resets["resets"]).to_list() == without["tokens"].to_list()


def test_ambiguous_counts_the_texts_at_which_mode_paper_raises(folder):
    for row in lengths(folder, "mixed").filter(base="characters", known=0, mode="lossless").iter_rows(named=True):
        raised = 0
        for text in MIXED:
            with contextlib.suppress(plain_bits.AmbiguousError):
                plain_bits.encode(plain_bits.fallback(text, ()), "paper", row["prefixes"], row["emission"])
                raised -= 1
            raised += 1
        assert row["ambiguous"] == raised > 0


def test_codes_without_a_base_stand_beside(folder):
    saved = lengths(folder, "zh").filter(base="characters", mode="lossless", prefixes=4, emission="run")["saved"]
    assert 0.1 < saved[0] < 1 / 3 and saved[0] > saved[1] > saved[2] == 0
    whole, script = lengths(folder, "zh").filter(base="none").iter_rows(named=True)
    assert whole["code"] == "characters" and whole["tokens"] == whole["characters"]
    assert script["code"] == "script" and script["tokens"] == 2 * whole["tokens"]
    assert script["saved"] == 1 - script["tokens"] / script["bytes"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_search_measures_every_second_text_as_the_encoder_does(folder, language):
    found = search(folder, language).filter(split="6-9-9")
    for prefixes, name in ((4, "38h-3Bh"), (3, "39h-3Bh")):
        for row in found.filter(prefixes=name).iter_rows(named=True):
            code = CharacterBits(options=BitOptions(prefixes=prefixes, emission=row["policy"]))
            assert row["tokens"] == sum(len(code.encode(text)) for text in texts_of(language)[1::2])
            assert row["paper"] == (prefixes == 3 and row["policy"] == "run")
    assert found["paper"].sum() == 1


def test_front_is_what_no_other_split_beats(folder):
    rows = search(folder, "ja")
    assert rows.select("split", "policy", "prefixes").is_unique().all()
    plain = rows.filter(split="0-8-8-8")
    assert (plain["saved"].item(), plain["added"].item()) == (0, 0)
    costs = rows.select("tokens", "added", pl.col("renyi").neg()).rows()
    for row, front in zip(costs, rows["front"], strict=True):
        beaten = any(all(a <= b for a, b in zip(other, row, strict=True)) and other != row for other in costs)
        assert front != beaten


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"known": [3, 3]}, "known has a number twice"),
        ({"trained": {"bpe": {"vocabulary_size": 270, "characters": 40}}}, "bits.trained.bpe: vocabulary_size is 270"),
        ({"trained": {"plain": {"vocabulary_size": 500, "characters": 40}}}, "a tokenizer named plain"),
        ({"corpora": {"zh": {"tokenizer": "nowhere"}}}, "nowhere"),
    ],
)
def test_bad_parameters_are_named(folder, changes, message):
    with pytest.raises((InputError, ParameterError)) as error:
        measure_lengths(stage("zh", **changes))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_texts_come_in_batches_of_bounded_size(tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.bits.length._BATCH", 10)
    write_corpus([Document(str(n), text, None, None) for n, text in enumerate(MIXED)], tmp_path / "corpus")
    texts = Texts(tmp_path / "corpus")
    batches = list(texts.batches())
    assert [text for batch in batches for text in batch] == list(texts) == MIXED
    assert all(len("".join(batch[:-1])) < 10 for batch in batches)
