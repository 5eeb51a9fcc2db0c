"""Word models in the pipeline: fitted for every split, and used by methods."""

import contextlib

import pytest
from workspace import SMALL

from tasks.corpora.prepare import prepare
from tasks.runtime.stage import Stage
from tasks.segmentation.methods import Signals, configurations, read_methods
from tasks.segmentation.splits import Splitting, read_splits
from tasks.segmentation.word_model import fit
from tokenlab.generated import generate
from tokenlab.ngrams import ngram_statistics
from tokenlab.segment.words.model import WordModel
from tokenlab.segment.words.options import WordOptions
from tokenlab.text.store import write_corpus

SEGMENTATION = SMALL | {
    "word_models": {"words": {"sweeps": 4}, "unclassed": {"sweeps": 2, "classes": 0, "seed": 3}},
    "methods": SMALL["methods"] | {"words": {"by": "words", "model": "words"}},
    "full": {"methods": ["words"], "vocabulary_size": 1000},
}


def stage(**sections):
    corpora = {"zh": {"path": "data/raw/builtin/zh", "format": "parquet", "gold": "words"}}
    return Stage("params.yaml", "sample", "zh", {"corpora": corpora, "segmentation": SEGMENTATION | sections})


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    with contextlib.chdir(folder):
        write_corpus(generate("zh", sentences=300, seed=0), "data/raw/builtin/zh")
        prepare(stage())
        fit(stage())
    return folder / "models" / "sample" / "word_models" / "zh"


def test_a_model_for_every_split(fitted):
    found = sorted(str(path.relative_to(fitted)) for path in fitted.rglob("*.safetensors"))
    splits = ("full", "subset-0", "subset-1")
    assert found == [f"{name}/{split}.safetensors" for name in ("unclassed", "words") for split in splits]


def test_a_model_is_the_one_that_the_library_fits_to_the_split(fitted, tmp_path):
    documents = fitted.parents[3] / "data/sample/corpora/zh"
    corpus = read_splits(documents, Splitting(**{key: SEGMENTATION[key] for key in ("seeds", "split")}))
    sentences = [document.text for document in corpus.select(corpus.of_seed[1].train.tolist())]
    WordModel.fit(sentences, WordOptions(sweeps=2, classes=0, seed=3)).save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == (fitted / "unclassed/subset-1.safetensors").read_bytes()


def test_the_method_segments_by_the_model_of_the_split(fitted):
    text = next(iter(generate("zh", sentences=5, seed=4))).text
    (words,) = [row for row in configurations(read_methods(stage())["subset"], {}) if row.name == "words"]
    signals = Signals("subset-1", ngram_statistics([text]), None, fitted)
    (boundaries,) = words.segment([text], None, signals)
    (expected,) = WordModel.load(fitted / "words/subset-1.safetensors").segment([text])
    assert boundaries == [start for start, _ in expected.spans()[0][1:]]
    assert words.signal == "words"
