"""The presets of the project and the names of their stages, read from dvc.yaml without DVC."""

from pathlib import Path
from typing import Any

from tokenlab.core.errors import InputError, ParameterError, one_line

DEFAULT_PRESET = "sample"
"""The preset of the root dvc.yaml; the others are in presets/."""


def pipelines(root: Path) -> dict[str, Path]:
    """The presets of the project and the dvc.yaml of each, the default preset first."""
    others = {path.parent.name: path for path in sorted(root.glob("presets/*/dvc.yaml"))}
    return {DEFAULT_PRESET: root / "dvc.yaml", **others}


def find_targets(root: Path, preset: str, tag: str | None) -> list[str]:
    """The targets for `dvc repro`: the preset's dvc.yaml, or its stages with `tag` in their `meta: {tags: [...]}`.

    Raises ParameterError for an unknown preset or tag, and names the known ones, and InputError where the preset's
    dvc.yaml differs from the root's.
    """
    presets = pipelines(root)
    if preset not in presets:
        raise ParameterError(f"no preset {preset!r}; there are: {', '.join(presets)}")
    path = presets[preset]
    address = str(path.relative_to(root))
    if preset != DEFAULT_PRESET:
        _require_copy(path, root / "dvc.yaml")
    if tag is None:
        return [address]
    tagged = _tags(path)
    if targets := [f"{address}:{stage}" for stage, tags in tagged.items() if tag in tags]:
        return targets
    known = sorted({known for tags in tagged.values() for known in tags})
    raise ParameterError(f"{address}: no stage has the tag {tag!r}; there are: {', '.join(known) or 'none'}")


def _require_copy(path: Path, original: Path) -> None:
    """All presets run one DAG. It is copied, for DVC cannot follow a symbolic link in a commit (`dvc metrics diff`)."""
    if path.is_symlink() or path.read_bytes() != original.read_bytes():
        raise InputError(f"{path} is no copy of {original}, where stages are edited; `make presets` copies it")


def _tags(path: Path) -> dict[str, list[str]]:
    """The tags of each stage; a loop counts as one stage."""
    import yaml  # not needed by most importers of this module

    try:
        stages: dict[str, Any] = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)["stages"]
        bodies = {name: stage.get("do", stage) for name, stage in stages.items()}
        return {name: [str(tag) for tag in body.get("meta", {}).get("tags", [])] for name, body in bodies.items()}
    except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a pipeline ({one_line(error)}); `dvc repro` says more") from None
