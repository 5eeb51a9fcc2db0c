"""The real pipeline, small: from the built-in corpora and a user's own text to tables, pictures and tokenizers."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest
import yaml
from transformers import AutoTokenizer
from workspace import SMALL, make_workspace, run, set_parameters

from tasks.tables import segmentation_tables
from tokenlab.text.builtin import generate

OWN = "\n".join(document.text for document in generate("zh", sentences=300, seed=9))
CORPORA = {
    "zh": {"path": "data/raw/builtin/zh", "format": "parquet", "gold": "words"},
    "mine": {"path": "texts/mine.txt", "format": "text", "gold": None},
}

SEGMENTATION = SMALL | {"corpora": {name: {"entropy": "data/raw/no-entropy"} for name in CORPORA}}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = make_workspace(tmp_path_factory.mktemp("small") / "project", corpora=CORPORA, segmentation=SEGMENTATION)
    (folder / "texts").mkdir()
    (folder / "texts" / "mine.txt").write_text(OWN, encoding="utf-8")
    done = run(folder, "-m", "flows.repro")
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "first-output.txt").write_text(done.stdout, encoding="utf-8")
    return folder


def test_ends_with_the_table_and_the_report(built):
    output = (built / "first-output.txt").read_text(encoding="utf-8")
    table = (built / "reports/sample/tables/results.txt").read_text(encoding="utf-8")
    assert table in output
    assert output.rstrip().endswith("reports/sample/index.html")


def test_tables_say_what_they_rest_on(built):
    assert "generated text" in (built / "reports/sample/tables/segmentation-zh.md").read_text(encoding="utf-8")
    own = (built / "reports/sample/tables/segmentation-mine.md").read_text(encoding="utf-8")
    assert "left out" in own and "F1" not in own.splitlines()[2]
    page = (built / "reports/sample/index.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 5 and "generated text" in page and "no gold words" in page


def test_scores_have_a_row_for_each_use(built):
    scores = pl.read_parquet(built / "reports/sample/segmentation/zh/scores.parquet")
    methods = {"literal-0", "literal-4", "literal-entropy", "default"}
    drawn = scores.filter(pl.col("scope") == "draw")
    assert set(drawn["method"]) == methods | {"bpe", "bpe-punctuation"}
    assert len(drawn) == 2 * (2 * len(methods) + 2)  # seeds x (alone and through BPE, and the baselines)
    assert len(scores) - len(drawn) == 2 * (2 + 2)
    assert drawn["f1"].is_between(0, 1).all() and drawn["sentences"].unique().to_list() == [45]
    own = pl.read_parquet(built / "reports/sample/segmentation/mine/scores.parquet")
    assert own["f1"].null_count() == len(own) and own["characters_per_segment"].min() >= 1


def test_table_cells_are_the_means_of_the_scores(built):
    scores = pl.read_parquet(built / "reports/sample/segmentation/zh/scores.parquet")
    expected = scores.filter(pl.col("scope") == "draw", pl.col("method") == "literal-4", pl.col("bpe") == "raw")
    with (built / "reports/sample/tables/segmentation-zh.csv").open(encoding="utf-8") as file:
        (row,) = [row for row in csv.DictReader(file) if (row["method"], row["λ"]) == ("literal", "4")]
    assert "paper P / R / F1" not in row  # the paper has no figure for this text
    assert row["BPE F1"] == f"{100 * expected['f1'].mean():.1f} ± {100 * expected['f1'].std():.1f}"


def test_the_papers_figures_stand_beside_its_own_text(built):
    scores = pl.read_parquet(built / "reports/sample/segmentation/zh/scores.parquet")
    facts = {"corpus": "zh", "source": "pku", "gold_words": 1, "notes": []}
    drawn, rest = segmentation_tables(scores, facts)
    beside = {(row[0], row[1]): row[2] for row in drawn.rows}
    assert beside["literal", "4"] == "54.21 / 64.06 / 58.73"
    assert beside["BPE alone", ""] == "46.89 / 51.96 / 49.30"
    assert {cell for (method, _), cell in beside.items() if method == "default"} == {""}
    assert all("paper" not in cell for cell in rest.header)


def test_lambda_is_the_best_on_validation(built):
    curves = pl.read_csv(built / "reports/sample/lambda/zh/curves.csv")
    chosen = json.loads((built / "reports/sample/lambda/zh/chosen.json").read_text(encoding="utf-8"))
    for scope in ("draw", "rest"):
        means = curves.filter(pl.col("scope") == scope).group_by("lambda").agg(pl.col("f1").mean()).sort("f1")
        best = means.filter(pl.col("f1") >= means["f1"].max() - 1e-12)["lambda"].min()
        assert chosen[scope]["default"] == best
    own = json.loads((built / "reports/sample/lambda/mine/chosen.json").read_text(encoding="utf-8"))
    assert own == {"draw": {"default": 1.0}, "rest": {"default": 1.0}}


def test_statistics_see_no_test_sentence(built):
    """An n-gram of a training table occurs in the training part, whose sentences the segments name."""
    segments = pl.read_parquet(built / "data/sample/segments/zh/draw.parquet").filter(pl.col("seed") == 0)
    parts = {part: set(segments.filter(pl.col("part") == part)["sentence"]) for part in ("train", "test")}
    assert len(parts["train"]) == 105 and len(parts["test"]) == 45 and not parts["train"] & parts["test"]
    texts = pl.read_parquet(built / "data/sample/corpora/zh")["text"].to_list()
    training = "\n".join(texts[number] for number in parts["train"])
    counted = pl.read_parquet(built / "data/sample/statistics/zh/draw-0.parquet")
    assert counted.filter(pl.col("n") == 1)["count"].sum() == len(training.replace("\n", ""))
    assert all(ngram in training for ngram in counted["ngram"])
    rest = pl.read_parquet(built / "data/sample/segments/zh/rest.parquet").filter(pl.col("part") == "train")
    held_out = {texts[number] for number in parts["test"]}
    assert not held_out & {texts[number] for number in rest["sentence"]}


def test_tokenizers_load_and_round_trip(built):
    segments = pl.read_parquet(built / "data/sample/segments/mine/draw.parquet")
    numbers = segments.filter(pl.col("seed") == 0, pl.col("part") == "train")["sentence"]
    texts = pl.read_parquet(built / "data/sample/corpora/mine")["text"]
    text = f"{texts[numbers[0]]} {texts[numbers[1]]}\n"
    for folder in ("draw/0/default", "draw/0/bpe"):
        tokenizer = AutoTokenizer.from_pretrained(built / "models/sample/tokenizers/mine" / folder)
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_pictures_and_plots_are_there(built):
    for name in ("statistics/zh/distributions", "lambda/zh/curves", "segmentation/mine/sentence"):
        assert (built / f"reports/sample/{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (built / f"reports/sample/{name}.svg").read_text(encoding="utf-8")
    done = run(built, "-m", "dvc", "plots", "show", "--json", "dvc.yaml")
    assert done.returncode == 0 and "distributions.svg" in done.stdout


def test_outputs_name_no_place_and_no_time(built):
    for path in [*built.glob("reports/sample/**/*"), *built.glob("data/raw/builtin/**/*")]:
        if path.is_file():
            assert str(built).encode() not in path.read_bytes(), path


def test_second_run_does_nothing_and_imports_nothing_heavy(built):
    lock = (built / "dvc.lock").read_bytes()
    program = (
        "import runpy, sys; sys.argv = ['repro']\n"
        "try: runpy.run_module('flows.repro', run_name='__main__')\n"
        "finally: print('HEAVY', *{'prefect', 'mlflow', 'torch', 'numba', 'polars'} & set(sys.modules))"
    )
    done = run(built, "-c", program)
    assert "Running stage" not in done.stdout and "HEAVY\n" in done.stdout, done.stdout + done.stderr
    imports = run(built, "-X", "importtime", "-m", "dvc", "repro", "dvc.yaml")
    assert imports.returncode == 0 and "up to date" in imports.stdout
    modules = {line.rpartition("|")[2].strip() for line in imports.stderr.splitlines()}
    assert "dvc.repo" in modules and not {"prefect", "mlflow", "torch"} & modules
    assert (built / "dvc.lock").read_bytes() == lock


def test_changed_parameter_runs_only_what_uses_it(built):
    original = yaml.safe_load((built / "params.yaml").read_text(encoding="utf-8"))
    set_parameters(
        built, "params.yaml", {"segmentation": SEGMENTATION | {"bpe": {"vocabulary_size": 800, "inference": ["raw"]}}}
    )
    try:
        done = run(built, "-m", "dvc", "status", "--json", "dvc.yaml")
        assert {name.partition("@")[0] for name in json.loads(done.stdout)} == {"tokenizer", "evaluate_segmentation"}
    finally:
        set_parameters(built, "params.yaml", original)


@pytest.mark.slow
def test_same_bytes_in_another_folder(built, tmp_path):
    other = make_workspace(tmp_path / "other", corpora=CORPORA, segmentation=SEGMENTATION)
    (other / "texts").mkdir()
    (other / "texts" / "mine.txt").write_text(OWN, encoding="utf-8")
    assert run(other, "-m", "flows.repro").returncode == 0
    for lock in ("dvc.lock", "data/raw/dvc.lock"):
        assert yaml.safe_load((other / lock).read_text()) == yaml.safe_load((built / lock).read_text())
