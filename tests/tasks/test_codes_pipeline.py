"""The real pipeline of the codes family, small: from the built-in corpora to tokenizers, tables and pictures."""

import json
import math
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
import yaml
from tokenizers import Tokenizer
from workspace import SMALL, SMALL_CODES, make_workspace, run, set_parameters

from tokenlab.codes.code import atom
from tokenlab.codes.saved import read_code

CODES = SMALL_CODES | {
    "corpora": {
        "en": {
            "lengths": {2: 2, 3: 1},
            "larger_K": [9, 10],
            "restarts": 2,
            "fixed": ["radical", "myte"],
            "tables": "tables",
            "unigram": [2, 3],
            "unseen": True,
        },
        "en-zh": {"lengths": {2: 1}, "tables": "data/raw/no-tables"},
    }
}
CORPORA = {name: {"path": f"data/raw/builtin/{name}", "format": "parquet"} for name in ("en", "zh")}
SECTIONS = {
    "corpora": CORPORA,
    "joined": {"en-zh": {"first": "en", "second": "zh"}},
    "segmentation": SMALL | {"corpora": []},
    "codes": CODES,
}


def small(folder: Path) -> Path:
    made = make_workspace(folder, **SECTIONS)
    (made / "tables" / "ids").mkdir(parents=True)
    (made / "tables" / "ids" / "ids.txt").write_text("U+0062\tb\t⿰ab\n", encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = small(tmp_path_factory.mktemp("codes") / "project")
    done = run(folder, "-m", "flows.repro")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def texts(folder: Path, corpus: str) -> list[str]:
    return pl.read_parquet(folder / f"data/sample/corpora/{corpus}")["text"].to_list()


def encoded(folder: Path, name: str) -> list[str]:
    lists = pl.read_parquet(folder / f"data/sample/encoded/en/{name}.parquet")["atoms"].to_list()
    return ["".join(map(atom, numbers)) for numbers in lists]


def sweep(folder: Path, corpus: str = "en") -> pl.DataFrame:
    return pl.read_parquet(folder / f"data/sample/code_sweeps/{corpus}.parquet")


def test_every_variant_is_learned_once(built):
    names = {path.stem for path in (built / "models/sample/codes/en").iterdir()}
    K = {2: min(K for K in range(99) if len(set("".join(texts(built, "en")))) <= K**2)}[2]
    expected = {"character", "byte", "radical", "train-character", "train-byte"}
    expected |= {f"{code}-N2-K{K}-seed{seed}" for code in ("random", "latom", "latom-refined") for seed in (0, 1)}
    expected |= {f"{code}-N2-K{K}-seed{seed}" for code in ("latom-best", "latom-best-refined") for seed in (0, 1)}
    assert expected <= names and "latom-N2-K10-seed0" in names and f"train-latom-refined-N2-K{K}-seed0" in names
    learned = json.loads((built / "reports/sample/codebooks/en/variants.json").read_text(encoding="utf-8"))
    assert len(learned["learned"]) == len(names)
    assert learned["refused"] == ["myte: left out, tables/myte/decompose_map.json could not be had"]


def test_encoded_corpora_decode_to_the_text(built):
    for name in ("latom-N3-K5-seed0", "byte", "character"):
        code = read_code(built / f"models/sample/codes/en/{name}.json")
        assert [code.decode(atoms) for atoms in encoded(built, name)] == texts(built, "en")


def test_a_refined_code_is_that_of_the_library(built):
    plain = read_code(next((built / "models/sample/codes/en").glob("latom-N2-K*-seed1.json")))
    refined = read_code(next((built / "models/sample/codes/en").glob("latom-refined-N2-K*-seed1.json")))
    assert min(refined.facts["refined_tokens"]) <= refined.facts["refined_tokens"][0]
    assert refined.facts["mutual_information"] >= refined.facts["mutual_information_before"]
    assert refined.alphabet == plain.alphabet
    assert refined.facts["log_likelihood"] == plain.facts["log_likelihood"]


@pytest.mark.parametrize("tokenizer", ["bpe", "unigram"])
def test_counts_are_those_of_the_exported_tokenizer(built, tokenizer):
    name = "latom-N3-K5-seed0"
    tokens = Tokenizer.from_file(str(built / f"models/sample/code_tokenizers/en/{name}/{tokenizer}/tokenizer.json"))
    cut = [one.tokens for one in tokens.encode_batch(encoded(built, name))]
    rows = sweep(built).filter(code="latom", N=3, K=5, seed=0, tokenizer=tokenizer, text="same")
    row = rows.sort("vocabulary").row(-1, named=True)
    assert row["vocabulary"] == 300 and row["tokens"] == sum(map(len, cut))
    pairs = Counter(pair for tokens in cut for pair in zip([None, *tokens], tokens, strict=False))
    contexts = Counter()
    for (context, _), count in pairs.items():
        contexts[context] += count
    bits = -sum(count * math.log2(count / contexts[context]) for (context, _), count in pairs.items())
    assert row["bits"] == pytest.approx(bits, rel=1e-9)


def test_sizes_go_from_the_alphabet_over_the_characters_to_the_largest(built):
    characters = len(set("".join(texts(built, "en"))))
    rows = sweep(built).filter(code="random", N=2, seed=0, tokenizer="bpe", text="same")
    sizes = rows.filter(K=rows["K"].min())["vocabulary"].to_list()
    alphabet = len(set("".join(encoded(built, f"random-N2-K{rows['K'].min()}-seed0"))))
    assert sizes == sorted({alphabet, characters} | {size for size in range(0, 301, 50) if size >= alphabet})
    assert sweep(built).filter(text="unseen")["vocabulary"].max() == 400


def test_held_out_text_was_not_trained_on(built):
    training = texts_of(built, "train-character")
    held_out = texts_of(built, "train-character", ".held-out")
    assert Counter(training + held_out) == Counter(texts(built, "en"))
    assert len(held_out) == round(0.1 * len(texts(built, "en")))


def texts_of(folder: Path, name: str, part: str = "") -> list[str]:
    code = read_code(folder / f"models/sample/codes/en/{name}.json")
    return [code.decode(atoms) for atoms in encoded(folder, name + part)]


def test_scores_pictures_and_tables(built):
    scores = pl.read_parquet(built / "reports/sample/codes/en/scores.parquet")
    assert scores.filter(code="character", text="same")["tokens_saved_300"].to_list() == [0, 0]
    figures = {path.name for path in (built / "reports/sample/codes/en/details").iterdir()}
    assert {"unigram.svg", "larger-K.png", "larger-K-summary.svg", "unseen.svg", "fixed.svg"} <= figures
    trace = json.loads((built / "reports/sample/codes/en/details/trace.json").read_text(encoding="utf-8"))
    assert trace[0]["tokens"] > trace[-1]["tokens"]
    page = (built / "reports/sample/index.html").read_text(encoding="utf-8")
    assert "myte: left out" in page and "en-zh" in page and page.count("<figure") == 2
    summary = (built / "reports/sample/tables/codes-saved-300.md").read_text(encoding="utf-8")
    assert "| en |" in summary and "| en-zh |" in summary and "generated text" in summary


def test_joined_corpora_follow_one_another(built):
    assert texts(built, "en-zh") == texts(built, "en") + texts(built, "zh")
    facts = json.loads((built / "reports/sample/corpora/en-zh.json").read_text(encoding="utf-8"))
    assert facts["origin"] == "generated" and len(facts["notes"]) == 1


@pytest.mark.parametrize(
    ("section", "value", "message"),
    [
        ("lengths", {6: 1}, "codes.corpora.en"),
        ("lengths", {3: 1}, "larger_K and restarts"),
        ("fixed", ["runes"], "codes.corpora.en.fixed"),
        ("larger_K", [2], "K^N = 2^2 = 4"),
    ],
)
def test_bad_parameters(built, section, value, message):
    bad = CODES | {"corpora": {"en": CODES["corpora"]["en"] | {section: value}}}
    set_parameters(built, "params.yaml", {"codes": bad})
    done = run(built, "-m", "tasks.codebook", "params.yaml", "en")
    set_parameters(built, "params.yaml", {"codes": CODES})
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_a_codebook_of_another_corpus_is_refused(built):
    path = built / "models/sample/codes/en-zh/character.json"
    before = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes((built / "models/sample/codes/en/character.json").read_bytes())
    done = run(built, "-m", "tasks.encode", "params.yaml", "en-zh")
    path.write_bytes(before)
    assert done.returncode == 2 and "learned from another corpus" in done.stderr


@pytest.mark.slow
def test_same_parameters_give_the_same_bytes(built, tmp_path):
    other = small(tmp_path / "other")
    done = run(other, "-m", "flows.repro")
    assert done.returncode == 0, done.stdout + done.stderr
    ours, theirs = (yaml.safe_load((folder / "dvc.lock").read_bytes()) for folder in (other, built))
    assert ours == theirs  # Not the text: DVC runs independent stages in an order of its own.
