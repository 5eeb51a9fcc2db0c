"""The stages of the codes family on a small corpus, from text to scores, with a toy kind of code registered."""

import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from plain_sequences import plain_bits
from tokenizers import Tokenizer
from workspace import SMALL_CODES, make_workspace, run, set_parameters

from tokenlab.codes.interface import atom
from tokenlab.codes.registry import read_code

pytestmark = pytest.mark.slow

EN = {
    "codebooks": {
        "lengths": {2: 2, 3: 1},
        "K_sweep": [10],
        "restarts": 2,
        "held_out": True,
        "tables": ["radical", "myte"],
    },
    "baselines": ["character", "byte", "random", "toy"],
    "unigram": [3],
}
CODES = SMALL_CODES | {"corpora": {"en": EN}, "tables": "data/raw/tables"}
CORPORA = {"en": {"path": "data/raw/builtin/en", "format": "parquet"}}
STAGES = ["corpora.prepare", "codes.codebook", "codes.encode", "codes.tokenizer", "codes.evaluate"]
TOY = """
from tokenlab.codes.baselines import random_codebook
from dataclasses import replace

def learn_toy(corpus, shape, *, unknown="error"):
    return replace(random_codebook(corpus, shape, unknown=unknown), kind="toy")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_workspace(tmp_path_factory.mktemp("codes") / "project", corpora=CORPORA, codes=CODES)
    (folder / "tokenlab/codes/toy.py").write_text(TOY, encoding="utf-8")
    registry = folder / "tokenlab/codes/registry.py"
    line = '        Kind("toy", "toy:learn_toy", options=(CodeShape,)),\n'
    text = registry.read_text(encoding="utf-8")
    registry.write_text(text.replace('        Kind("random"', f'{line}        Kind("random"'), encoding="utf-8")
    (folder / "data/raw/tables/ids").mkdir(parents=True)
    (folder / "data/raw/tables/ids/ids.txt").write_text("U+0062\tb\t⿰ab\n", encoding="utf-8")
    commands = [["tasks.corpora.generate", "data/raw/params.yaml"]]
    for command in commands + [[f"tasks.{stage}", "params.yaml", "en"] for stage in STAGES]:
        done = run(folder, "-m", *command)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def texts(folder: Path) -> list[str]:
    return pl.read_parquet(folder / "data/sample/corpora/en")["text"].to_list()


def encoded(folder: Path, name: str) -> list[str]:
    lists = pl.read_parquet(folder / f"data/sample/encoded/en/{name}.parquet")["atoms"].to_list()
    return ["".join(map(atom, numbers)) for numbers in lists]


def sweep(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "data/sample/code_sweeps/en.parquet")


def test_a_new_kind_is_a_module_and_a_line(built: Path) -> None:
    """Everything follows from the registry: variants, tokenizers, scores, and the command line."""
    scores = pl.read_parquet(built / "reports/sample/codes/en/scores.parquet").filter(code="toy")
    toy, random = (sweep(built).filter(code=code).drop("code") for code in ("toy", "random"))
    assert toy.equals(random) and set(scores["text"]) == {"training", "held-out"}
    name = scores["variant"][0]
    assert (built / f"models/sample/code_tokenizers/en/{name}/bpe/tokenizer.json").exists()
    (built / "text.txt").write_text("abc cab\n", encoding="utf-8")
    command = ["codes", "learn", "text.txt", "--code", "toy", "-N", "3", "-o", "toy.json"]
    for arguments in (command, ["codes", "show", "toy.json"]):
        done = run(built, "-c", "from tokenlab.cli import main; main()", *arguments)
        assert done.returncode == 0, done.stderr
    assert "toy code, reversible" in done.stdout and "N = 3, K = 2" in done.stdout


@pytest.mark.parametrize("tokenizer", ["bpe", "unigram"])
def test_counts_are_those_of_the_exported_tokenizer(built: Path, tokenizer: str) -> None:
    name = "latom-N3-K5-seed0"
    tokens = Tokenizer.from_file(str(built / f"models/sample/code_tokenizers/en/{name}/{tokenizer}/tokenizer.json"))
    cut = [one.tokens for one in tokens.encode_batch(encoded(built, name))]
    rows = sweep(built).filter(code="latom", N=3, K=5, seed=0, tokenizer=tokenizer, text="training")
    row = rows.sort("vocabulary").row(-1, named=True)
    assert row["vocabulary"] == 300 and row["tokens"] == sum(map(len, cut))
    assert row["bits"] == pytest.approx(plain_bits(cut), rel=1e-9)


def test_the_alphabet_of_a_row_is_that_of_the_text_it_learned(built: Path) -> None:
    scores = pl.read_parquet(built / "reports/sample/codes/en/scores.parquet").filter(tokenizer="bpe")
    assert set(scores["text"]) == {"training", "held-out"}
    for variant, alphabet in scores.select("variant", "alphabet").iter_rows():
        assert alphabet == len(set("".join(encoded(built, variant))))


def test_held_out_text_is_not_trained_on(built: Path) -> None:
    code = read_code(built / "models/sample/codes/en/train-character.json")
    training, held_out = (
        [code.decode(atoms) for atoms in encoded(built, f"train-character{end}")] for end in ("", ".held-out")
    )
    assert Counter(training + held_out) == Counter(texts(built))
    assert len(held_out) == round(0.1 * len(texts(built)))


def test_more_characters_than_codes_are_one_line(built: Path) -> None:
    few = {"en": {"codebooks": {"lengths": {2: 1}, "K_sweep": [2]}}}
    set_parameters(built, "params.yaml", {"codes": CODES | {"corpora": few}})
    done = run(built, "-m", "tasks.codes.codebook", "params.yaml", "en")
    set_parameters(built, "params.yaml", {"codes": CODES})
    assert done.returncode == 2 and "K^N = 2^2 = 4" in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_codebook_of_another_corpus_is_refused(built: Path) -> None:
    path = next((built / "models/sample/codebooks/en").glob("latom-N2-K*-seed0.json"))
    before = path.read_text(encoding="utf-8")
    sha256 = json.loads(before)["facts"]["corpus"]
    path.write_text(before.replace(sha256, "0" * 64), encoding="utf-8")
    done = run(built, "-m", "tasks.codes.encode", "params.yaml", "en")
    path.write_text(before, encoding="utf-8")
    assert done.returncode == 2 and "another text" in done.stderr
