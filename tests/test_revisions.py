"""What DVC tells of another commit, for which it reads every dvc.yaml of that commit."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
import toy_pipeline
import workspace
import yaml
from dvc.repo import Repo
from stub_outputs import commit_stubs

MODEL = "reports/sample/language_models/en"
METRICS = "reports/sample/metrics/exact.json"
PLOTS = [
    f"{MODEL}/loss.csv",
    "reports/sample/markov_models/chain/loss.csv",
    "reports/sample/ngram_statistics/zh/entropy.csv",
    "reports/sample/ngram_statistics/zh/pmi.csv",
    "reports/sample/tuning/zh/entropy.csv",
    "reports/sample/tuning/zh/lambda.csv",
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two results: one committed, and another in the workspace, with another parameter."""
    folder = workspace.make_workspace(
        tmp_path_factory.mktemp("revisions") / "project", segmentation=workspace.SMALL, exact=workspace.SMALL_EXACT
    )
    parameters = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))
    commit_stubs(folder)
    toy_pipeline.commit(folder)
    (folder / METRICS).write_text('{"value": 2}\n')
    curve = folder / MODEL / "loss.csv"
    curve.write_text(curve.read_text().replace("1,1", "1,2"))
    models = parameters["exact"]["models"]["en"]
    models["training"] = models["training"] | {"steps": 30}
    workspace.set_parameters(folder, "params.yaml", {"exact": parameters["exact"]})
    with contextlib.chdir(folder), Repo() as repo:
        repo.commit("train_lm@en", force=True)
        repo.commit("report", force=True)
    return folder


def dvc(folder: Path, *arguments: str) -> Any:
    """The JSON that `dvc ARGUMENTS --json` prints; it must not complain of anything."""
    done = workspace.run(folder, "-m", "dvc", *arguments, "--json")
    assert done.returncode == 0 and not done.stderr, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_metrics_and_parameters_of_a_commit(project: Path) -> None:
    assert dvc(project, "metrics", "diff", "HEAD") == {METRICS: {"value": {"old": 1, "new": 2, "diff": 1}}}
    assert dvc(project, "params", "diff", "HEAD")["params.yaml"] == {
        "exact.models.en.training.steps": {"old": 20, "new": 30, "diff": 10}
    }


@pytest.mark.nightly
def test_plots_of_a_commit(project: Path) -> None:
    """Each figure once, with its values in the commit and in the workspace."""
    shown = dvc(project, "plots", "diff", "HEAD")
    assert "errors" not in shown
    assert {name: len(figures) for name, figures in shown["data"].items()} == dict.fromkeys(PLOTS, 1)
    points = shown["data"][f"{MODEL}/loss.csv"][0]["content"]["data"]["values"]
    assert {point["rev"]: point["held_out"] for point in points} == {"HEAD": "1", "workspace": "2"}


@pytest.mark.nightly
def test_experiments_show_a_commit(project: Path) -> None:
    rows = {row["rev"]: row["data"]["metrics"] for row in dvc(project, "exp", "show")}
    values = {name: metrics[METRICS]["data"]["value"] for name, metrics in rows.items()}
    assert (values.pop("workspace"), list(values.values())) == (2, [1])
