"""MLflow holds what the pipeline made: all of it, nothing twice, whatever happened in between."""

import os
import re
import shutil
import signal
import sqlite3
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import killing
import pytest
import tracked_pipeline
import yaml
from tracked_pipeline import PARAMS, repro, set_params

from flows.track_lock import Pipeline
from flows.track_rows import MEAN, ROW, Row, declared, rows_of
from flows.tracking import track
from tokenlab.errors import InputError, ParameterError

TRACKING = [sys.executable, "-m", "flows.tracking"]
ROWS, MEANS = 2 * 2 * 2 * 2, 2 * 2 * 2


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pipeline after a run; never tracked. Not to be changed."""
    folder = tracked_pipeline.make(tmp_path_factory.mktemp("tracked") / "project")
    repro(folder)
    return folder


@pytest.fixture
def project(built: Path, tmp_path: Path) -> Path:
    """A copy of it, to work in."""
    return shutil.copytree(built, tmp_path / "project", symlinks=True).resolve()


def rows(folder: Path) -> list[Row]:
    pipeline = Pipeline(folder, Path("dvc.yaml"))
    return [row for entry, declaration in declared(pipeline) for row in rows_of(pipeline, entry, declaration, "sample")]


def named(folder: Path, name: str, kind: str = ROW) -> Row:
    (row,) = [row for row in rows(folder) if row.name == name and row.tags["kind"] == kind]
    return row


def client(folder: Path) -> Any:
    """MLflow's own client; without the connections that it keeps to a database that may have been deleted since."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
    from mlflow.tracking import MlflowClient

    address = f"sqlite:///{folder}/.mlflow/mlruns.db"
    SqlAlchemyStore(address, str(folder)).engine.dispose()
    return MlflowClient(address)


def runs(folder: Path, which: str = "ACTIVE_ONLY") -> list[Any]:
    from mlflow.entities import ViewType

    store = client(folder)
    numbers = [experiment.experiment_id for experiment in store.search_experiments()]
    return list(store.search_runs(numbers, "", ViewType.from_string(which.lower()), 5000))


def contents(folder: Path) -> dict[str, Any]:
    """What the runs say, by their keys, without the numbers and times that the store gives."""
    return {
        run.data.tags["key"]: (
            run.info.run_name,
            run.info.status,
            run.data.params,
            run.data.metrics,
            {name: value for name, value in run.data.tags.items() if name != "superseded"},
            sorted((given.dataset.name, given.dataset.digest) for given in run.inputs.dataset_inputs),
            {path.name: path.read_bytes() for path in artefacts(run)},
        )
        for run in runs(folder)
    }


def artefacts(run: Any) -> list[Path]:
    return sorted(Path(run.info.artifact_uri.removeprefix("file://")).iterdir())


def test_a_row_has_the_parameters_that_apply_to_it(built: Path) -> None:
    bpe = named(built, "zh wide λ=2.5 BPE seed 1")
    assert bpe.params == {
        **{"preset": "sample", "corpus": "zh", "method": "wide", "seed": "1", "bpe": "raw", "weight": "2.5"},
        **{"corpus.format": "text", "method.merge": "false", "method.wideness": "7"},
        **{"bpe.vocabulary": "100", "scores.digits": "3"},
    }
    plain = named(built, "zh plain seed 0")
    assert plain.params == {
        **{"preset": "sample", "corpus": "zh", "method": "plain", "seed": "0", "bpe": "none"},
        **{"corpus.format": "text", "method.merge": "true", "scores.digits": "3"},
    }


def test_a_row_has_its_metrics_tags_data_and_files(built: Path) -> None:
    row = named(built, "own plain BPE seed 1")
    assert row.metrics == {"size": 101.0, "f1": 2 / 35, "recall": 0.5}
    assert {name: row.tags.get(name) for name in ("paper", "language", "preset", "stage", "seed", "variant")} == {
        **{"paper": "A paper", "language": None, "preset": "sample"},
        **{"stage": "evaluate@own", "seed": "1", "variant": "own plain BPE"},
    }
    assert named(built, "zh plain seed 0").tags["language"] == "Chinese"
    lock = yaml.safe_load((built / "dvc.lock").read_text())["stages"]["prepare@own"]
    assert row.datasets == {
        "data/sample/own.txt": (lock["outs"][0]["md5"], "input"),
        "texts/own.txt": (lock["deps"][0]["md5"], "source"),
    }
    assert row.artefacts == ["models/sample/own/1/plain/tokenizer.json", "reports/sample/own/scores.parquet"]
    assert named(built, "own plain seed 1").artefacts == ["reports/sample/own/scores.parquet"]


def test_a_variant_has_the_means(built: Path) -> None:
    mean = named(built, "zh wide λ=2.5 BPE", MEAN)
    assert mean.metrics == pytest.approx(
        {"f1": 1.5 / 34, "f1_sd": 0.5**0.5 / 34, "recall": 0.5, "recall_sd": 0, "size": 100.5, "size_sd": 0.5**0.5}
    )
    assert mean.params["runs"] == "2" and "seed" not in mean.params and mean.params["method.wideness"] == "7"
    assert "seed" not in mean.tags and mean.artefacts == ["reports/sample/zh/scores.parquet"]


def test_keys_follow_what_a_row_rests_on(project: Path) -> None:
    before = {row.name: row.key for row in rows(project)}
    assert len(before) == ROWS + MEANS == len(set(before.values()))
    (project / "texts/zh.txt").write_text("other\n")
    repro(project)
    after = {row.name: row.key for row in rows(project)}
    assert {name for name in before if before[name] != after[name]} == {name for name in before if "zh" in name}


def test_files_come_from_the_cache_or_the_workspace_or_not_at_all(project: Path) -> None:
    path = "models/sample/zh/0/plain/tokenizer.json"
    expected = (project / path).read_bytes()
    pipeline = Pipeline(project, Path("dvc.yaml"))
    cached, never_changes = pipeline.find(path)
    assert never_changes and ".dvc/cache" in str(cached) and cached.read_bytes() == expected
    cached.unlink()
    assert pipeline.find(path) == (project / path, False)
    (project / path).write_text("something else")
    with pytest.raises(InputError, match=r"tokenizer\.json: not here as dvc\.lock has it; `dvc pull`"):
        pipeline.find(path)
    with pytest.raises(InputError, match="no output of a stage that has run"):
        pipeline.find("models/sample/zh/9/plain/tokenizer.json")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("question: {name: words", "question: {nam: words", "evaluate@own: meta.track.question.name: Field required"),
        (
            "columns: [f1",
            "columns: [f2",
            "evaluate@own: reports/sample/own/scores.parquet has no column f2; mend dvc.yaml",
        ),
    ],
)
def test_wrong_declarations_are_named(project: Path, old: str, new: str, problem: str) -> None:
    path = project / "dvc.yaml"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ParameterError, match=f"^{re.escape(problem)}"):
        track(project)


def test_unknown_preset_is_one_line(project: Path) -> None:
    status, output = killing.run([*TRACKING, "--preset", "none"], project)
    assert (status, output.count("\n")) == (2, 1) and "presets/none/dvc.yaml" in output


def test_once_and_again(project: Path) -> None:
    """Everything once; nothing twice; all of it again from the cache alone when the store is gone."""
    assert track(project) == "mlflow: 24 runs (24 written); compare with `make compare QUESTION=words`"
    found = contents(project)
    assert found.keys() == {row.key for row in rows(project)}
    assert Counter(status for _, status, *_ in found.values()) == {"FINISHED": ROWS + MEANS}
    for row in rows(project):
        name, _, params, metrics, tags, datasets, files = found[row.key]
        assert (name, params) == (row.name, row.params) and metrics == pytest.approx(row.metrics)
        assert tags.items() >= row.tags.items() and len(tags["code"]) == 40
        assert datasets == sorted((path, md5) for path, (md5, _) in row.datasets.items())
        assert files == {Path(path).name: (project / path).read_bytes() for path in row.artefacts}
    (experiment,) = [e for e in client(project).search_experiments() if e.experiment_id != "0"]
    assert experiment.name == "Where do words end? (words)"

    assert track(project) == ""
    (project / ".mlflow/tracked/sample").unlink()
    assert "24 runs (nothing new)" in track(project)
    assert len(runs(project, "ALL")) == ROWS + MEANS

    shutil.rmtree(project / ".mlflow")
    for folder in ("data", "models", "reports"):
        shutil.rmtree(project / folder)
    assert "24 runs (24 written)" in track(project)
    assert contents(project) == found


def test_rows_that_go_are_superseded_and_come_back(project: Path) -> None:
    track(project)
    before = contents(project)
    set_params(project, corpora={"zh": PARAMS["corpora"]["zh"]}, bpe={"vocabulary": 50})
    repro(project)
    assert "12 runs (12 written, 24 superseded)" in track(project)
    assert {run.data.params["corpus"] for run in runs(project)} == {"zh"}
    gone = runs(project, "DELETED_ONLY")
    assert {run.data.tags["key"] for run in gone} == before.keys()
    assert {run.data.tags["superseded"] for run in gone} == {"true"}
    set_params(project)
    repro(project)
    assert "24 runs (24 restored, 12 superseded)" in track(project)
    assert contents(project) == before and not any("superseded" in run.data.tags for run in runs(project))


def test_only_what_a_tag_names(project: Path) -> None:
    """The runs of another question stay as they are, and its files need not be there."""
    path = project / "dvc.yaml"
    pipeline = path.read_text()
    head, meta, track_ = pipeline.partition("      meta:\n")
    again = track_.replace("words", "copies").replace("scores.parquet", "again.parquet")
    path.write_text(
        f"{head}{meta}        tags: [a]\n{track_}"
        "  again:\n    foreach: ${corpora}\n    do:\n"
        "      cmd: exec cp reports/sample/${key}/scores.parquet reports/sample/${key}/again.parquet\n"
        '      deps: ["reports/sample/${key}/scores.parquet", "models/sample/${key}"]\n'
        '      outs: ["reports/sample/${key}/again.parquet"]\n'
        f"      meta:\n{again}"
    )
    repro(project)
    assert "48 runs (48 written)" in track(project)
    set_params(project, corpora={"zh": PARAMS["corpora"]["zh"]})
    repro(project)
    lock = yaml.safe_load((project / "dvc.lock").read_text())["stages"]["again@zh"]["outs"][0]
    (project / lock["path"]).unlink()
    (project / f".dvc/cache/files/md5/{lock['md5'][:2]}/{lock['md5'][2:]}").unlink()
    assert track(project, tag="a") == "mlflow: 12 runs (12 superseded); compare with `make compare QUESTION=words`"
    assert len(runs(project)) == 12 + 24
    assert track(project, tag="none") == ""
    with pytest.raises(InputError, match=r"again\.parquet: not here"):
        track(project)


@pytest.mark.slow
def test_presets_share_the_store(project: Path) -> None:
    preset = project / "presets" / "big"
    preset.mkdir(parents=True)
    for name in ("dvc.yaml", "dvc.lock"):
        text = (project / name).read_text()
        (preset / name).write_text(
            text if name == "dvc.lock" else text.replace("      cmd:", "      wdir: ../..\n      cmd:")
        )
    (preset / "params.yaml").write_text(yaml.safe_dump(PARAMS))
    (project / "dvc.yaml").rename(project / "kept.yaml")  # two pipelines with the same outputs are an error
    assert "24 runs (24 written)" in track(project, "big")
    (project / "kept.yaml").rename(project / "dvc.yaml")
    shutil.rmtree(preset)
    assert "24 runs (24 written)" in track(project)
    assert Counter(run.data.tags["preset"] for run in runs(project)) == {"big": 24, "sample": 24}


@pytest.mark.slow
def test_killed_at_any_moment_it_is_completed_by_the_next(project: Path) -> None:
    set_params(project, scores={"seeds": list(range(20)), "digits": 3})
    repro(project)
    cut_off = 0
    for wanted in (0, 1, 60):
        started = killing.start(TRACKING, project)
        while started.process.poll() is None and count(project) < wanted:
            time.sleep(0.005)
        if started.process.poll() is None:
            cut_off += 1
            started.process.send_signal(signal.SIGKILL)
        started.process.wait()
    assert cut_off == 3 and 60 <= count(project) < 168
    assert "168 runs" in track(project)
    found = contents(project)
    assert len(runs(project, "ALL")) == len(found) == 168
    assert {status for _, status, *_ in found.values()} == {"FINISHED"}
    shutil.rmtree(project / ".mlflow")
    track(project)
    assert contents(project) == found


def count(folder: Path) -> int:
    """How many runs the store holds now, if it is there."""
    database = folder / ".mlflow/mlruns.db"
    if not database.exists():
        return -1
    connection = sqlite3.connect(database)
    try:
        return int(connection.execute("select count(*) from runs").fetchone()[0])
    finally:
        connection.close()


@pytest.mark.slow
def test_a_moved_project_is_told(project: Path) -> None:
    track(project)
    moved = project.rename(project.with_name("moved"))
    (moved / ".mlflow/tracked/sample").unlink()
    with pytest.raises(InputError, match=r"made while the project lay elsewhere .*; delete this folder"):
        track(moved)


def test_an_up_to_date_store_costs_nothing(project: Path) -> None:
    track(project)
    program = (
        "import sys, time; start = time.monotonic(); from flows.tracking import main; status = main([]);"
        "print(status, *{'prefect', 'mlflow', 'torch', 'dvc', 'polars', 'yaml'} & set(sys.modules))"
    )
    assert killing.run([sys.executable, "-c", program], project) == (0, "0\n")


@pytest.mark.slow
def test_five_hundred_rows_in_twenty_seconds(project: Path) -> None:
    set_params(project, scores={"seeds": list(range(63)), "digits": 3})
    repro(project)
    start = time.monotonic()
    status, output = killing.run(TRACKING, project)
    seconds = time.monotonic() - start
    assert status == 0 and "512 runs (512 written)" in output, output
    assert seconds < 20, f"{seconds:.1f} s with a load of {os.getloadavg()[0]:.1f}"
