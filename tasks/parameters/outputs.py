"""The files that the stages of a preset make, by dvc.yaml: what a path in the parameters may name."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tokenlab.core.errors import InputError

_PLACE = re.compile(r"\$\{([^}]*)\}")


def outputs_of(pipeline: Path, name: str, sections: Mapping[str, Any]) -> Iterator[str]:
    """The paths of all outputs, from the root of the project; `${...}` stands for a parameter, as in DVC.

    Raises InputError where the file, which messages call `name`, is no pipeline.
    """
    try:
        stages = yaml.load(pipeline.read_bytes(), Loader=yaml.CSafeLoader)["stages"]
        for stage in stages.values():
            for names in _variants(stage.get("foreach"), sections):
                body = stage.get("do", stage)
                for entry in (*body.get("outs", []), *body.get("metrics", []), *body.get("plots", [])):
                    path = next(iter(entry)) if isinstance(entry, dict) else entry
                    yield _PLACE.sub(lambda found, names=names: str(_value(found[1], names)), path)  # type: ignore[misc]
    except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        raise InputError(f"{name}: not a pipeline ({error}); `dvc status` says more") from None


def _variants(each: Any, sections: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The names that `${...}` may take, for each variant of a loop."""
    if each is None:
        yield {**sections}
        return
    entries = _value(each[2:-1], sections) if isinstance(each, str) else each
    for key, item in entries.items() if isinstance(entries, Mapping) else ((None, item) for item in entries):
        yield {**sections, "key": key, "item": item}


def _value(name: str, names: Mapping[str, Any]) -> Any:
    found: Any = names
    for part in name.split("."):
        found = found[part]
    return found
