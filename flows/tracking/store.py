"""The MLflow store of the project, and the update that makes its runs equal to the rows of the pipeline.

The store is derived: the folder `.mlflow` may be deleted at any time, and `make track` writes it again. A run is
written in four steps, its key in the first and the status FINISHED in the last, so a run with a key that is not
FINISHED was interrupted, and is written again.

A run whose row has left the pipeline gets the tag `superseded` and moves to MLflow's deleted runs: MLflow has no filter
that applies to every page and search by default, but it hides deleted runs everywhere. They are kept complete, appear
with the filter "State: Deleted", and are restored when their row comes back.

The best tokenizers are registered models QUESTION-PRESET-CORPUS. Their newest version, the alias `best`, is the folder
of artefacts of a run, and loads by name:

    AutoTokenizer.from_pretrained(mlflow.artifacts.download_artifacts("models:/segmentation-sample-zh@best"))
"""

import filecmp
import json
import logging
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from mlflow import entities
from mlflow.entities import Experiment, Run, RunTag
from mlflow.entities.model_registry import RegisteredModelTag
from mlflow.exceptions import MlflowException
from mlflow.store.model_registry.sqlalchemy_store import SqlAlchemyStore as Registry
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from mlflow.utils import get_results_from_paginated_fn
from sqlalchemy import event

from flows.run.history import History
from flows.run.workspace import locked
from flows.tracking import ARTEFACTS, DATABASE, FOLDER
from flows.tracking.lock import Pipeline
from flows.tracking.mlflow_pages import describe, view_tags
from flows.tracking.rows import Row, Tracked
from tasks.views import View
from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_file

_KEY, _SUPERSEDED, _QUESTION = "key", "superseded", "question"
_DESCRIPTION = "mlflow.note.content"
"""The tag with the text on the page of a run or of an experiment."""
_PARENT = "mlflow.parentRunId"
"""The tag that puts a run below another one in MLflow's lists."""
_PAGE = 5000
_BATCH = 100
"""Most parameters that MLflow takes at once."""
_ALIAS, _PRESET = "best", "preset"
_MODELS_AT_MOST = 1000
"""What MLflow returns at once."""


class Store:
    """The runs of one project, of which `pipeline` is a preset. Made by `open_store`.

    It uses MLflow's store interface: the client queries the store before each change and takes 1.5 times as long.
    """

    def __init__(self, pipeline: Pipeline, history: History, store: SqlAlchemyStore, registry: Registry) -> None:
        self._pipeline = pipeline
        self._history = history
        self._store = store
        self._registry = registry

    def synchronise(self, preset: str, tracked: list[Tracked], whole: bool) -> str:
        """Make the runs of a preset equal to the rows of `tracked`; return how many there are, and what changed. whole:
        `tracked` is everything that the preset has; otherwise runs of other questions stay as they are."""
        runs = self._runs(preset)
        changes = {"written": 0, "restored": 0, "superseded": 0}
        experiments = set()
        best: dict[str, tuple[Row, Run]] = {}
        command = ["git", "rev-parse", "HEAD"]
        commit = subprocess.run(command, cwd=self._pipeline.root, capture_output=True, text=True).stdout.strip()
        # For the reader; the key alone decides whether a row has changed.
        code = {"code": commit, "mlflow.source.git.commit": commit} if commit else {}
        for one in tracked:
            experiment = self._experiment(one.view)
            experiments.add(experiment.experiment_id)
            numbers = {"": ""}
            registered = {row.key: name for name, row in _best_rows(one.rows, one.view).items()}
            for row in one.rows:
                run, parent = runs.pop(row.key, None), numbers[row.parent]
                if run is None or run.info.status != "FINISHED":
                    run = self._write(experiment, row, run, code | {_PARENT: parent})
                    changes["written"] += 1
                else:
                    changes["restored"] += self._restore(run)
                    for path in row.figures:
                        self._place(path, run)
                if run.data.tags.get(_PARENT, "") != parent:
                    self._store.set_tag(run.info.run_id, RunTag(_PARENT, parent))
                numbers[row.key] = run.info.run_id
                if row.key in registered:
                    best[registered[row.key]] = row, run
        for run in runs.values():
            if run.info.lifecycle_stage == "active" and (whole or run.info.experiment_id in experiments):
                self._store.set_tag(run.info.run_id, RunTag(_SUPERSEDED, "true"))
                self._store.delete_run(run.info.run_id)
                changes["superseded"] += 1
        _register(self._registry, preset, best, whole)
        changed = ", ".join(f"{count} {what}" for what, count in changes.items() if count)
        return f"{sum(len(one.rows) for one in tracked)} runs ({changed or 'nothing new'})"

    def _experiment(self, view: View) -> Experiment:
        name = view.question.name
        every = self._store.search_experiments(entities.ViewType.ALL)
        experiment = next((one for one in every if one.tags.get(_QUESTION) == name), None)
        if experiment is None:
            location = (self._pipeline.root / ARTEFACTS / name).as_uri()
            experiment = self._store.get_experiment(self._store.create_experiment(name, artifact_location=location))
        if experiment.lifecycle_stage != "active":
            self._store.restore_experiment(experiment.experiment_id)
        tags = {_QUESTION: name, _DESCRIPTION: describe(view), **view_tags(view)}
        for tag, value in tags.items():
            if experiment.tags.get(tag) != value:
                self._store.set_experiment_tag(experiment.experiment_id, entities.ExperimentTag(tag, value))
        return experiment

    def _runs(self, preset: str) -> dict[str, Run]:
        """All runs of a preset by their key, superseded runs included."""

        def page(size: int, token: str | None) -> Any:
            chosen = f"tags.preset = '{preset}'"
            return self._store.search_runs(experiments, chosen, entities.ViewType.ALL, size, page_token=token)

        experiments = [one.experiment_id for one in self._store.search_experiments() if _QUESTION in one.tags]
        found = get_results_from_paginated_fn(page, _PAGE) if experiments else []
        return {run.data.tags[_KEY]: run for run in found if _KEY in run.data.tags}

    def _write(self, experiment: Experiment, row: Row, run: Run | None, code: dict[str, str]) -> Run:
        """Write the run of a row, which lasts as long as its stage did."""
        started, ended = (round(1000 * seconds) for seconds in self._history.span(row.stage))
        if run is None:
            texts = {_KEY: row.key, **row.tags, **code, _DESCRIPTION: row.description}
            tags = [RunTag(name, value) for name, value in texts.items() if value]
            run = self._store.create_run(experiment.experiment_id, "", started, tags, row.name)
        else:
            self._restore(run)
        number = run.info.run_id
        metrics = [entities.Metric(name, value, run.info.start_time, 0) for name, value in row.metrics.items()]
        params = [entities.Param(name, value) for name, value in row.params.items()]
        for first in range(0, max(1, len(params)), _BATCH):
            self._store.log_batch(number, [] if first else metrics, params[first : first + _BATCH], tags=[])
        inputs = [
            entities.DatasetInput(
                entities.Dataset(path, md5, source_type="local", source=json.dumps({"uri": path})),
                [entities.InputTag("mlflow.data.context", context)],
            )
            for path, (md5, context) in row.datasets.items()
        ]
        self._store.log_inputs(number, inputs)
        for path in (*row.artefacts, *row.figures):
            self._place(path, run)
        self._store.update_run_info(number, entities.RunStatus.FINISHED, ended, None)
        return run

    def _restore(self, run: Run) -> bool:
        """Let a run count again; return whether it was superseded."""
        if run.info.lifecycle_stage != "active":
            self._store.restore_run(run.info.run_id)
        elif _SUPERSEDED not in run.data.tags:
            return False
        if _SUPERSEDED in run.data.tags:
            self._store.delete_tag(run.info.run_id, _SUPERSEDED)
        return True

    def _place(self, path: str, run: Run) -> None:
        """Put an output among the artefacts of a run, in place of an older file of the same name.

        A hard link to the object in DVC's cache, which is never written to, takes no space and holds the content even
        after `dvc gc`; a copy where there can be no link.
        """
        source, never_changes = self._pipeline.find(path)
        target = Path(unquote(urlparse(run.info.artifact_uri).path), Path(path).name)
        if target.exists():
            if target.samefile(source) or filecmp.cmp(target, source, shallow=False):
                return
            target.unlink()
        target.parent.mkdir(parents=True, exist_ok=True)
        if never_changes:
            with suppress(OSError):  # the cache is on another disk
                os.link(source, target)
                return
        with atomic_file(target) as temporary:
            shutil.copyfile(source, temporary)


def _best_rows(rows: Sequence[Row], view: View) -> dict[str, Row]:
    """Registered model -> its row: the best by the first metric, of which the mean over repetitions counts."""
    metric = view.metrics[0]
    values = {row.key: row.metrics[metric] for row in rows if metric in row.metrics}
    candidates: dict[str, list[Row]] = {}
    for row in rows:
        if row.model and (row.parent or row.key) in values:
            candidates.setdefault(row.model, []).append(row)
    best = min if view.lower_is_better else max
    return {name: best(found, key=lambda row: values[row.parent or row.key]) for name, found in candidates.items()}


def _register(registry: Registry, preset: str, best: Mapping[str, tuple[Row, Run]], whole: bool) -> None:
    """Make the registered models of a preset those of `best`. whole: remove all others of the preset."""
    models = registry.search_registered_models(max_results=_MODELS_AT_MOST)
    known = {model.name: model for model in models if model.tags.get(_PRESET) == preset}
    for name, (row, run) in best.items():
        if (model := known.pop(name, None)) is None:
            registry.create_registered_model(name, [RegisteredModelTag(_PRESET, preset)])
        elif any(version.run_id == run.info.run_id for version in model.latest_versions):
            continue
        version = registry.create_model_version(name, run.info.artifact_uri, run.info.run_id, description=row.name)
        registry.set_registered_model_alias(name, _ALIAS, version.version)
    for name in known if whole else ():
        registry.delete_registered_model(name)


@contextmanager
def open_store(pipeline: Pipeline, history: History) -> Iterator[Store]:
    """The store of the project, made where there is none; other processes that track wait. One that was moved or copied
    with its project is made anew, for its runs name files by absolute paths. Raises InputError where it is damaged."""
    root = pipeline.root
    folder = root / FOLDER
    folder.mkdir(exist_ok=True)
    with locked(folder / "lock"):
        for unfinished in folder.rglob(".*.tmp*"):  # of a killed process: whoever writes here holds the lock
            unfinished.unlink(missing_ok=True)
        logging.getLogger("alembic").setLevel(logging.WARNING)
        database = root / DATABASE
        artefacts = (root / ARTEFACTS).as_uri()
        try:
            if _made_elsewhere(database, artefacts):
                database.unlink()
                shutil.rmtree(root / ARTEFACTS, ignore_errors=True)
            if not database.exists():
                # Making the tables takes a second; the rename leaves no half-made database after a kill.
                with atomic_file(database) as temporary:
                    SqlAlchemyStore(f"sqlite:///{temporary}", artefacts).engine.dispose()
            store = SqlAlchemyStore(f"sqlite:///{database}", artefacts)
            store.engine.dispose()  # connections opened before the listener is there would miss it
            if not event.contains(store.engine, "connect", _without_flush):
                event.listen(store.engine, "connect", _without_flush)
            registry = Registry(f"sqlite:///{database}")
            try:
                yield Store(pipeline, history, store, registry)
            finally:
                # MLflow keeps its engines, and a kept connection would go on using a database that was deleted.
                store.engine.dispose()
                registry.engine.dispose()
        except MlflowException as error:
            problem = str(error).partition("\n")[0]
            raise InputError(f"{database}: {problem}; delete {folder}, then `make track` writes it again") from error


def _made_elsewhere(database: Path, artefacts: str) -> bool:
    """Whether the experiments keep their files outside the folder `artefacts`."""
    if not database.exists():
        return False
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(database)) as connection:
        places = connection.execute("SELECT artifact_location FROM experiments").fetchall()
        return any(not place.startswith(artefacts) for (place,) in places)
    return False  # MLflow says what is wrong with it


def _without_flush(connection: Any, record: Any) -> None:
    """Do not wait for the disk at each of the thousands of commits: 100 ms a run become 15.

    Killing the process is still safe; only a power cut can damage the database, which is then written again.
    """
    connection.execute("PRAGMA synchronous = OFF")
