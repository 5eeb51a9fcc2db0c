"""The benchmark of translation on tiny models: both codes translate the same sentences, and no models are an error."""

import pytest

from benchmarks import translation as benchmark
from benchmarks.measure import Bench, Measurement
from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.bits.over.bases import base_of
from tokenlab.codes.bits.over.tokenizer import BitTokenizer
from tokenlab.codes.bits.over.training import train_byte_fallback
from tokenlab.core.errors import InputError
from tokenlab.generated import generate
from tokenlab.text.store import write_corpus
from tokenlab.translation.model import build_model, save_model
from tokenlab.translation.options import TranslationShape


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    texts = {language: list(generate(language, sentences=60, seed=0)) for language in ("en", "zh")}
    for language, documents in texts.items():
        write_corpus(documents, folder / language)
    tokenizer = train_byte_fallback([document.text for some in texts.values() for document in some], 400, 70)
    tokenizer.save(str(folder / "tokenizer.json"))
    base = base_of(tokenizer)
    for code, size in (("bytes", base.size), ("bits", BitTokenizer(base, BitOptions()).size)):
        (folder / f"{code}-scratch-seed0").mkdir()
        save_model(build_model(TranslationShape(1, 16, 2, 16, 64), size, 3, 2, 0), folder / f"{code}-scratch-seed0")
    return folder


def test_both_codes_translate_the_same_sentences(folder):
    found = {}
    for code in ("bytes", "bits"):
        task = benchmark.TASKS["generate"](str(folder), code, str(folder / "en"), str(folder / "zh"), "5", "2")
        task.run(task.sample)
        facts = task.facts(task.run(task.whole))
        found[code] = Measurement([2.0], [2.0], 0.0, 0, facts)
        assert facts["sentences"] == 5 and 5 <= facts["tokens"] <= 5 * 64
    gain = found["bytes"].facts["reference_tokens"] / found["bits"].facts["reference_tokens"]
    assert gain > 1
    tps = found["bits"].facts["tokens"] / 2
    assert benchmark._cells("bits", found)[1:4] == [f"{gain:.3f}", f"{tps * gain:.3g}", "2.5"]


def test_models_that_are_not_there_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark, "_PROJECT", tmp_path)
    with pytest.raises(InputError, match=r"cpu: no translation model is trained; `make repro PRESET=cpu ONLY=bits`"):
        benchmark.table(Bench(tmp_path, {}, 1, None, preset="cpu"))
