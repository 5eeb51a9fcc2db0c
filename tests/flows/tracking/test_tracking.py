"""MLflow has a run for every row of the pipeline's tables, none twice, also after interruptions."""

import json
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import killing
import pytest
import toy_pipeline
import tracked_pipeline
import yaml
from toy_pipeline import repro, write_files
from tracked_pipeline import PARAMS, TRACKING, VIEW, set_params

import flows.tracking.synchronise
from flows.run.history import History
from flows.tracking.lock import Pipeline
from flows.tracking.rows import MEAN, ROW, Row, rows_of
from tasks.views import VIEWS, Question, View
from tokenlab.core.errors import InputError, ParameterError

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


def rows(folder: Path, view: View = VIEW) -> list[Row]:
    pipeline = Pipeline(folder, "sample")
    return [row for entry in pipeline.stages(view.stage) for row in rows_of(pipeline, entry, view, "sample")]


def track(folder: Path, preset: str = "sample", tag: str | None = None, views: Sequence[View] = (VIEW,)) -> str:
    return flows.tracking.synchronise.track(folder, preset, tag, views)


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
    """The content of the runs by their keys, without the ids and times that the store assigns."""
    return {
        run.data.tags["key"]: (
            run.info.run_name,
            run.info.status,
            run.data.params,
            run.data.metrics,
            {name: value for name, value in run.data.tags.items() if name not in ("superseded", "mlflow.parentRunId")},
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
        **{"corpora.format": "text", "method.merge": "false", "method.wideness": "7", "digits": "3"},
        **{"bpe.vocabulary": "100", "effort.threads": "2"},
    }
    plain = named(built, "zh plain seed 0")
    assert plain.params == {
        **{"preset": "sample", "corpus": "zh", "method": "plain", "seed": "0", "bpe": "none"},
        **{"corpora.format": "text", "method.merge": "true", "digits": "3"},
    }


def test_a_row_has_its_metrics_tags_data_and_files(built: Path) -> None:
    row = named(built, "own plain BPE seed 1")
    assert row.metrics == {"f1": 0.05714286, "recall": 0.5, "size": 101.0}  # 2/35, as the pages can show it
    assert row.numbers == {"segments": 11.0}
    assert row.description == "| number | value |\n| --- | --: |\n| segments | 11 |"
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
    assert row.figures == ["reports/sample/figures/own/f1.svg"]
    assert row.artefacts == ["models/sample/own/1/plain/tokenizer.json", "reports/sample/own/scores.parquet"]
    assert named(built, "own plain seed 1").artefacts == ["reports/sample/own/scores.parquet"]


def test_a_variant_has_the_means(built: Path) -> None:
    mean = named(built, "zh wide λ=2.5 BPE", MEAN)
    assert mean.metrics == pytest.approx({"f1": 1.5 / 34, "f1_sd": 0.5**0.5 / 34, "recall": 0.5, "size": 100.5})
    assert mean.numbers == pytest.approx({"recall_sd": 0, "size_sd": 0.5**0.5, "segments": 10.5})
    assert mean.params["runs"] == "2" and "seed" not in mean.params and mean.params["method.wideness"] == "7"
    assert "seed" not in mean.tags and mean.artefacts == ["reports/sample/zh/scores.parquet"]
    assert [row.name for row in rows(built) if row.parent == mean.key] == [
        f"{mean.name} seed {seed}" for seed in (0, 1)
    ]


def test_keys_depend_on_everything_before_a_row(project: Path) -> None:
    before = {row.name: row.key for row in rows(project)}
    assert len(before) == ROWS + MEANS == len(set(before.values()))
    (project / "texts/zh.txt").write_text("other\n")
    repro(project)
    after = {row.name: row.key for row in rows(project)}
    assert {name for name in before if before[name] != after[name]} == {name for name in before if "zh" in name}


def test_files_come_from_the_cache_or_the_workspace(project: Path) -> None:
    path = "models/sample/zh/0/plain/tokenizer.json"
    expected = (project / path).read_bytes()
    pipeline = Pipeline(project, "sample")
    cached, never_changes = pipeline.find(path)
    assert never_changes and ".dvc/cache" in str(cached) and cached.read_bytes() == expected
    cached.unlink()
    assert pipeline.find(path) == (project / path, False)
    (project / path).write_text("something else")
    with pytest.raises(InputError, match=r"tokenizer\.json: neither .* PRESET=sample`"):
        pipeline.find(path)
    with pytest.raises(InputError, match=r"not in dvc\.lock"):
        pipeline.find("models/sample/zh/9/plain/tokenizer.json")


def test_parameters_of_several_variants_keep_their_names(project: Path) -> None:
    """A stage of `zh` that also depends on `own`: only the names of its own variant are shortened."""
    path = project / "dvc.yaml"
    train = '      cmd: exec python stage.py train ${key}\n      deps: ["data/sample/${key}.txt"'
    assert train in path.read_text()
    path.write_text(path.read_text().replace(train, f'{train}, "data/sample/own.txt"'))
    repro(project)
    shared = {"corpora.format": "text", "corpora.own.format": "lines"}
    assert named(project, "zh plain BPE seed 0").params.items() >= shared.items()
    assert "corpora.own.format" not in named(project, "zh plain seed 0").params  # it does not depend on `train`
    assert named(project, "own plain BPE seed 0").params["corpora.format"] == "lines"


def test_missing_column_is_named(built: Path) -> None:
    view = replace(VIEW, metrics=["f1", "f2"])
    with pytest.raises(ParameterError, match=r"^evaluate@\w+: .*/scores.parquet .*column f2"):
        rows(built, view)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.stage)
def test_views_of_the_project_are_consistent(view: View) -> None:
    """A view names only columns that it declares, and its paths only these and the stage."""
    declared = {*view.key, *view.facts, *view.metrics}
    assert set(view.columns()) == declared
    assert set(view.repeats) <= set(view.key)
    for file in (*view.artefacts, *view.figures):
        assert file.path.format_map(dict.fromkeys(["preset", "key", *declared], "x"))
    assert view.table.format_map({"preset": "p", "key": "k"}).endswith(".parquet")


def test_each_view_has_a_question_of_its_own() -> None:
    """Which is an experiment, whose page describes one view."""
    assert len({view.question.name for view in VIEWS}) == len(VIEWS)


def test_tracked_once_then_again_from_the_cache(project: Path) -> None:
    """Every row once; nothing new the second time; everything again from the cache alone when the store is deleted."""
    said = track(project)
    assert "24 runs (24 written)" in said and "QUESTION=words" in said
    found = contents(project)
    assert found.keys() == {row.key for row in rows(project)}
    assert Counter(status for _, status, *_ in found.values()) == {"FINISHED": ROWS + MEANS}
    for row in rows(project):
        name, _, params, metrics, tags, datasets, files = found[row.key]
        assert (name, params) == (row.name, row.params) and metrics == pytest.approx(row.metrics)
        assert tags.items() >= row.tags.items() and len(tags["code"]) == 40
        assert tags["mlflow.note.content"] == row.description
        assert datasets == sorted((path, md5) for path, (md5, _) in row.datasets.items())
        assert files == {Path(path).name: (project / path).read_bytes() for path in (*row.artefacts, *row.figures)}
    (experiment,) = [e for e in client(project).search_experiments() if e.experiment_id != "0"]
    assert experiment.name == "words"
    assert experiment.tags["mlflow.note.content"].startswith("Where do words end?\n")

    assert track(project) == ""
    (project / ".mlflow/tracked/sample").unlink()
    assert "24 runs (nothing new)" in track(project)
    assert len(runs(project, "ALL")) == ROWS + MEANS

    shutil.rmtree(project / ".mlflow")
    for folder in ("data", "models", "reports"):
        shutil.rmtree(project / folder)
    assert "24 runs (24 written)" in track(project)
    assert contents(project) == found


@pytest.mark.slow
def test_figures_follow_the_drawing_stage(project: Path) -> None:
    """Runs get a figure once it is drawn; a new colour changes the files of runs and no key."""

    def figures() -> set[str]:
        return {path.read_text() for run in runs(project) for path in artefacts(run) if path.name == "f1.svg"}

    lock = project / "dvc.lock"
    whole = yaml.safe_load(lock.read_text())
    undrawn = {name: entry for name, entry in whole["stages"].items() if not name.startswith("draw")}
    lock.write_text(yaml.safe_dump(whole | {"stages": undrawn}))
    assert "24 runs (24 written)" in track(project)
    assert figures() == set()
    for colour in ("blue", "red"):
        (project / "colour.txt").write_text(colour)
        repro(project)
        assert "24 runs (nothing new)" in track(project)
        assert figures() == {colour}


def test_an_output_that_a_lock_of_older_code_lacks(copy_of_finished: Path) -> None:
    lock = toy_pipeline.lock(copy_of_finished)
    outs = lock["stages"]["first"]["outs"]
    outs[:] = [out for out in outs if out["path"] != "data/sample/first"]
    (copy_of_finished / "dvc.lock").write_text(yaml.safe_dump(lock))
    assert Pipeline(copy_of_finished, "sample").hash_of("data/sample/first/text.txt") is None


@pytest.mark.slow
def test_removed_rows_are_superseded_and_restored(project: Path) -> None:
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


@pytest.mark.nightly
def test_tag_restricts_tracking(project: Path) -> None:
    """The runs of another question stay as they are."""
    path = project / "dvc.yaml"
    path.write_text(
        path.read_text() + "  again:\n    foreach: ${corpora}\n    do:\n"
        "      cmd: exec cp reports/sample/${key}/scores.parquet reports/sample/${key}/again.parquet\n"
        '      deps: ["reports/sample/${key}/scores.parquet"]\n'
        '      outs: ["reports/sample/${key}/again.parquet"]\n'
    )
    table = "reports/{preset}/{key}/again.parquet"
    again = replace(VIEW, stage="again", question=Question("copies", "Which copy?"), table=table, artefacts=[])
    views = [VIEW, again]
    repro(project)
    assert "48 runs (48 written)" in track(project, views=views)
    set_params(project, corpora={"zh": PARAMS["corpora"]["zh"]})
    repro(project)
    assert "12 runs (12 superseded)" in track(project, tag="scores", views=views)
    assert len(runs(project)) == 12 + 24
    assert track(project, tag="none", views=views) == ""


@pytest.mark.nightly
def test_presets_share_the_store(project: Path) -> None:
    lock = (project / "dvc.lock").read_text()
    pipeline = (project / "dvc.yaml").read_text().replace("sample", "${preset}")
    pipeline = pipeline.replace("      cmd:", "      wdir: ${root}\n      cmd:")
    for folder, preset, root in ((".", "sample", "."), ("presets/big", "big", "../..")):
        files = {"dvc.yaml": pipeline, "dvc.lock": lock.replace("sample", preset)}
        write_files(project / folder, files)
        (project / folder / "params.yaml").write_text(yaml.safe_dump(PARAMS | {"preset": preset, "root": root}))
    assert "24 runs (24 written)" in track(project, "big")
    assert "24 runs (24 written)" in track(project)
    assert Counter(run.data.tags["preset"] for run in runs(project)) == {"big": 24, "sample": 24}


@pytest.mark.slow
def test_killed_while_it_writes(project: Path) -> None:
    """Killed while it makes the database and while it writes a run; then completed."""
    for wanted in (-1, 12):
        started = killing.start(TRACKING, project)
        killing.wait_until(lambda wanted=wanted: (project / ".mlflow/lock").exists() and count(project) >= wanted)
        assert started.process.poll() is None, started.output()
        started.process.kill()
        started.finish()
    assert 12 <= count(project) < ROWS + MEANS
    half = [project / ".mlflow" / name for name in (".mlruns.db.a1_b2c3d.tmp", ".mlruns.db.a1_b2c3d.tmp-journal")]
    half += [project / ".mlflow/tracked/.sample.a1_b2c3d.tmp"]
    for path in half:
        path.parent.mkdir(exist_ok=True)
        path.write_text("half")
    assert f"{ROWS + MEANS} runs" in track(project)
    assert not list((project / ".mlflow").rglob("*.tmp*"))
    found = contents(project)
    assert len(runs(project, "ALL")) == len(found) == ROWS + MEANS
    assert {status for _, status, *_ in found.values()} == {"FINISHED"}
    shutil.rmtree(project / ".mlflow")
    track(project)
    assert contents(project) == found


def count(folder: Path) -> int:
    """The number of runs in the store; -1 where there is no database."""
    database = folder / ".mlflow/mlruns.db"
    if not database.exists():
        return -1
    connection = sqlite3.connect(database)
    try:
        return int(connection.execute("select count(*) from runs").fetchone()[0])
    finally:
        connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["moved", "copied"])
def test_a_project_elsewhere_gets_a_new_store(project: Path, how: str) -> None:
    """Its runs name files by absolute paths."""
    track(project)
    other = project.with_name("other")
    if how == "moved":
        project.rename(other)
    else:
        subprocess.run(["cp", "-a", project, other], check=True)
    assert "24 runs (24 written)" in track(other)
    assert all(path.is_relative_to(other) for run in runs(other) for path in artefacts(run))


@pytest.mark.slow
def test_a_run_lasts_as_long_as_its_stage(project: Path) -> None:
    history = History.read(project, "sample")
    history.stage_ended("evaluate@zh", "Completed", 12.5)
    ended = history.ends["evaluate@zh"]
    track(project)
    spans = {run.data.tags["stage"]: (run.info.start_time, run.info.end_time) for run in runs(project)}
    assert spans["evaluate@zh"] == pytest.approx((1000 * (ended - 12.5), 1000 * ended), abs=1)
    assert spans["evaluate@own"][0] == spans["evaluate@own"][1]  # never run by the runner


@pytest.mark.slow
def test_the_best_tokenizer_of_a_corpus_loads_by_name(project: Path) -> None:
    """By the means over the seeds, and again when the rows change; a corpus that has left has no model."""
    import mlflow

    view = replace(VIEW, registered="corpus")
    track(project, views=[view])
    mlflow.set_tracking_uri(f"sqlite:///{project}/.mlflow/mlruns.db")

    def content(corpus: str) -> Any:
        folder = mlflow.artifacts.download_artifacts(f"models:/words-sample-{corpus}@best")
        return json.loads(Path(folder, "tokenizer.json").read_bytes())

    rows_ = rows(project, view)
    best = max(
        (row for row in rows_ if row.parent == "" and row.params["bpe"] == "raw"), key=lambda row: row.metrics["f1"]
    )
    assert content("zh") == ["zh", 0, best.params["method"]]
    set_params(project, corpora={"zh": PARAMS["corpora"]["zh"]}, scores={"seeds": [3, 1], "digits": 3})
    repro(project)
    track(project, views=[view])
    assert content("zh")[:2] == ["zh", 3]
    assert [model.name for model in client(project).search_registered_models()] == ["words-sample-zh"]


@pytest.mark.slow
def test_up_to_date_store_needs_no_heavy_import(project: Path) -> None:
    track(project)
    program = (
        "import sys; from pathlib import Path; from tracked_pipeline import VIEW, track;"
        "status = track(Path.cwd(), views=[VIEW]);"
        "print(status, *{'prefect', 'mlflow', 'torch', 'dvc', 'polars'} & set(sys.modules))"
    )
    support = f"PYTHONPATH={killing.ROOT}:{killing.ROOT / 'tests/support'}"
    assert killing.run(["env", support, sys.executable, "-c", program], project) == (0, "\n")
