"""The comparison as a pipeline on small corpora: every family has its rows, and figures agree with counts by hand."""

import contextlib

import polars as pl
import pytest
from tokenizers import Tokenizer
from workspace import SMALL, SMALL_CODES, SMALL_EXACT

from tasks.codes.codebook import learn_codebooks
from tasks.codes.encode import encode
from tasks.codes.tokenizer import train_tokenizers
from tasks.compare.entries import Measured, Sample, collapsed, read_texts
from tasks.compare.measure import measure
from tasks.exact.train_lm import train_tokenizer
from tasks.runtime.stage import Stage, read_json
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.generated import generate
from tokenlab.metrics import gini
from tokenlab.text.documents import Document, words
from tokenlab.text.store import read_corpus, write_corpus
from tokenlab.tokenizers.bpe import BpeOptions, save_tokenizer, train_bpe

REFERENCE = "models/sample/language_models/en"
SEGMENTED = {"kind": "segmented", "tokenizers": "models/sample/tokenizers/zh", "also": "models/sample/exported/zh"}
ENCODED = {"kind": "encoded", "tokenizers": "models/sample/code_tokenizers/en", "also": "models/sample/codes/en"}
NO_OTHERS = {"tokenizers": REFERENCE, "also": REFERENCE}
PARALLEL = NO_OTHERS | {"kind": "parallel", "corpora": ["en", "zh", "de"], "english": "en"}
PUBLISHED = {"kind": "published", "tokenizers": "data/raw/tokenizers/copy", "also": REFERENCE}
COMPARE = {
    "reference": REFERENCE,
    "sample": {"texts": 40, "seed": 0},
    "measured": {"zh": SEGMENTED, "en": ENCODED, "languages": PARALLEL, "copy": PUBLISHED},
}
ENGLISH_CHINESE, ENGLISH_GERMAN = (Measured(**PARALLEL | {"corpora": ["en", other]}) for other in ("zh", "de"))
SECTIONS = {"compare": COMPARE, "segmentation": SMALL, "codes": SMALL_CODES, "exact": SMALL_EXACT}


def stage(variant, **compare):
    return Stage("params.yaml", "sample", variant, SECTIONS | {"compare": COMPARE | compare})


@pytest.fixture(scope="module")
def folder(workdir):
    """The working directory of the tests, with the stages before and those of the family run."""
    for language in ("zh", "en", "de"):
        write_corpus(generate(language, sentences=200, seed=0), f"data/sample/corpora/{language}")
    sentences = {
        name: [document.text for document in read_corpus(f"data/sample/corpora/{name}")] for name in ("en", "zh")
    }
    save_tokenizer(train_bpe(sentences["zh"], BpeOptions(800)), "models/sample/tokenizers/zh/full/bpe")
    save_tokenizer(train_tokenizer(sentences["en"], 300).tokenizer, "models/sample/language_models/en")
    save_tokenizer(train_bpe(sentences["zh"], BpeOptions(900)), "models/sample/exported/zh/viterbi/bpe")
    save_tokenizer(train_tokenizer(sentences["en"], 300).tokenizer, "data/raw/tokenizers/copy")
    for work in (learn_codebooks, encode, train_tokenizers):
        work(stage("en"))
    for name in COMPARE["measured"]:
        measure(stage(name))
    return workdir


def scores(folder, name):
    return pl.read_parquet(folder / f"reports/sample/measures/{name}/scores.parquet")


def test_figures_by_hand(folder):
    """BPE of the segmentation family on test sentences, from the library's own tokens."""
    texts = read_texts(stage("zh"), "zh", Measured(**SEGMENTED), Sample(texts=40, seed=0))["zh"]
    tokenizer = Tokenizer.from_file(str(folder / "models/sample/tokenizers/zh/full/bpe/tokenizer.json"))
    tokens = [len(tokenizer.encode(text.text).ids) for text in texts]
    (row,) = scores(folder, "zh").filter(tokenizer="bpe").iter_rows(named=True)
    gold = sum(len(text.words) for text in texts)
    assert (row["texts"], row["tokens"], row["words"]) == (len(texts), sum(tokens), gold)
    assert row["fertility"] == sum(tokens) / gold and row["parity"] is None and row["gini"] is None
    (reference,) = scores(folder, "zh").filter(family="reference").iter_rows(named=True)
    assert reference["normalised_length"] == 1 and row["normalised_length"] == sum(tokens) / reference["tokens"]
    metrics = read_json(folder / "reports/sample/measures/zh/metrics.json")
    assert metrics["zh"]["zh"]["BPE in segments"]["bpe"]["fertility"] == row["fertility"]


def test_parity_and_gini(folder):
    table = scores(folder, "languages")
    for _, rows in table.group_by("tokenizer"):
        tokens = dict(zip(rows["corpus"], rows["tokens"], strict=True))
        parity = dict(zip(rows["corpus"], rows["parity"], strict=True))
        assert parity == {corpus: count / tokens["en"] for corpus, count in tokens.items()}
        assert rows["gini"].to_list() == [pytest.approx(gini(list(tokens.values())))] * 3
        assert rows["texts"].n_unique() == 1
    assert set(table["param.reference"]) == {COMPARE["reference"]}


def test_a_published_tokenizer_is_measured_on_all_texts(folder):
    published = scores(folder, "copy")
    texts = [("zh", "zh"), ("en", "en"), *(("languages", corpus) for corpus in ("en", "zh", "de"))]
    assert list(zip(published["name"], published["corpus"], strict=True)) == texts
    own = pl.concat([scores(folder, name) for name in ("zh", "en", "languages")]).filter(family="reference")
    assert published.drop("family", "tokenizer").equals(own.drop("family", "tokenizer"))


def test_sentences_of_cut_texts_are_left_out(tmp_path):
    cut = [Document("4.0", "d"), Document("4.1", "d")]  # In both, but not at the same place.
    with contextlib.chdir(tmp_path):
        write_corpus([Document("1.0", "a"), Document("2.0", "b"), Document("3.0", "c"), *cut], "data/sample/corpora/en")
        write_corpus(
            [Document("1.0", "字"), Document("1.1", "字"), Document("2.0", "字"), *cut], "data/sample/corpora/zh"
        )
        found = read_texts(stage("languages"), "languages", ENGLISH_CHINESE, Sample(texts=9, seed=0))
        assert [text.text for text in found["en"]] == ["b"] and len(found["zh"]) == 1
        write_corpus([Document("9", "a")], "data/sample/corpora/de")
        with pytest.raises(InputError, match="no id of a text"):
            read_texts(stage("languages"), "languages", ENGLISH_GERMAN, Sample(texts=9, seed=0))


@pytest.mark.parametrize(
    "document",
    [
        Document("1", " a\tb  cd  ", (2, 4, 7)),
        Document("2", "新  世纪 ", (1, 2, 3, 5)),
        Document("3", "ab", (1,)),
        Document("4", "a \u3000b", None),
    ],
)
def test_collapsing_keeps_words(document):
    short = collapsed(document)
    assert short.text == " ".join(document.text.split())
    if document.boundaries is not None:
        assert words(short.text, short.boundaries) == words(document.text, document.boundaries)


@pytest.mark.parametrize(
    ("measured", "message"),
    [
        (PARALLEL | {"english": "fr"}, "english is 'fr'.* en, zh"),
        (PARALLEL | {"corpora": ["en", "en"]}, "twice"),
        (ENCODED | {"english": "en"}, "for the kind parallel"),
        (SEGMENTED | {"tokenizers": "models/sample/tokenizers/de"}, "tokenizer and export first"),
    ],
)
def test_wrong_parameters(folder, measured, message):
    with pytest.raises((InputError, ParameterError), match=message):
        measure(stage("de", measured={"de": measured}))
