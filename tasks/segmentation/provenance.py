"""Provenance of a model that was trained here, in `training.json` beside it."""

from pathlib import Path

from tasks.runtime.stage import Parameters, read_json, write_json

_NAME = "training.json"


class Provenance(Parameters):
    """The corpus that a model was trained on, and the corpus whose test and validation sentences were held out."""

    text: str
    held_out: str


def write_provenance(folder: Path, provenance: Provenance) -> None:
    """Write it beside the model."""
    write_json(folder / _NAME, provenance.model_dump())


def read_provenance(folder: Path) -> Provenance | None:
    """The provenance of a model, None for a model that was not trained here."""
    path = folder / _NAME
    return Provenance.model_validate(read_json(path)) if path.exists() else None
