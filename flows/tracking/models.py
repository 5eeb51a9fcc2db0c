"""The best tokenizers as registered models of MLflow, which load by name:

    AutoTokenizer.from_pretrained(mlflow.artifacts.download_artifacts("models:/segmentation-sample-zh@best"))

A model is QUESTION-PRESET-CORPUS. Its newest version, the alias `best`, is the folder of artefacts of a run.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flows.tracking.rows import Row
from tasks.views import View

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.store.model_registry.sqlalchemy_store import SqlAlchemyStore

_ALIAS, _PRESET = "best", "preset"
_MODELS_AT_MOST = 1000
"""What MLflow returns at once."""


def best_rows(rows: Sequence[Row], view: View) -> dict[str, Row]:
    """Registered model -> its row: the best by the first metric, of which the mean over repetitions counts."""
    metric = view.metrics[0]
    values = {row.key: row.metrics[metric] for row in rows if metric in row.metrics}
    candidates: dict[str, list[Row]] = {}
    for row in rows:
        if row.model and (row.parent or row.key) in values:
            candidates.setdefault(row.model, []).append(row)
    best = min if view.lowest_first else max
    return {name: best(found, key=lambda row: values[row.parent or row.key]) for name, found in candidates.items()}


def register(registry: "SqlAlchemyStore", preset: str, best: Mapping[str, tuple[Row, "Run"]], whole: bool) -> None:
    """Make the registered models of a preset those of `best`. whole: remove all others of the preset."""
    from mlflow.entities.model_registry import RegisteredModelTag

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
