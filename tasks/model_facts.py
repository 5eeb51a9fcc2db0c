"""What a model that was trained here says of its training, in `training.json` beside it."""

from pathlib import Path

from tasks.stage import Parameters, read_json, write_json

_NAME = "training.json"


class ModelFacts(Parameters):
    """The corpus that a model learned, and the corpus whose test and validation sentences it never saw."""

    text: str
    held_out: str


def write_facts(folder: Path, facts: ModelFacts) -> None:
    """Write them beside the model."""
    write_json(folder / _NAME, facts.model_dump())


def read_facts(folder: Path) -> ModelFacts | None:
    """The facts of a model; None of one that was not trained here."""
    path = folder / _NAME
    return ModelFacts.model_validate(read_json(path)) if path.exists() else None
