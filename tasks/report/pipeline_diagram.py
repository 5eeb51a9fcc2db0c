"""The pipeline as a Mermaid diagram, read from the dvc.yaml files: a node for each stage name, grouped by family.

An arrow leads from a stage to one that reads its outputs. Variants of a stage are one node, and an arrow that follows
from others is left out. Stages that read the same ones share a line.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

_RAW = Path("data/raw/dvc.yaml")
_FAMILIES = {
    "raw": "raw text",
    "corpora": "corpora",
    "segmentation": "segmentation",
    "codes": "codes",
    "exact": "exact characters",
    "bits": "bit-level codes",
    "patches": "patch models",
    "compare": "measures",
}
_VARIABLE = re.compile(r"\$\{([\w.]+)\}")

Stages = dict[str, list[dict[str, Any]]]
"""Stage name -> its variants, all variables replaced."""

Node = tuple[str, int]
"""Stage name and number of the variant."""


def pipeline_diagram(root: Path) -> str:
    """The diagram of the pipeline in the folder `root`, with the stages of all presets.

    Returns Mermaid text, which GitHub draws.
    """
    raw, pipeline = _load(root / _RAW), _load(root / "dvc.yaml")
    families = dict.fromkeys(raw["stages"], "raw")
    families |= {
        name: (_body(stage).get("meta", {}).get("tags") or [""])[0] for name, stage in pipeline["stages"].items()
    }
    edges: set[tuple[str, str]] = set()
    for parameters in [root / "params.yaml", *sorted(root.glob("presets/*/params.yaml"))]:
        edges |= _edges(_expand(raw, {}) | _expand(pipeline, _load(parameters)))
    lines = ["flowchart LR"]
    for family in dict.fromkeys(families.values()):
        nodes = "; ".join(name for name, of_stage in families.items() if of_stage == family)
        lines += (
            [f'  subgraph family_{family}["{_FAMILIES.get(family, family)}"]', f"    {nodes}", "  end"]
            if family
            else [f"  {nodes}"]
        )
    after: dict[tuple[str, ...], list[str]] = {}
    for name in families:
        after.setdefault(tuple(first for first in families if (first, name) in edges), []).append(name)
    lines += [f"  {' & '.join(before)} --> {' & '.join(names)}" for before, names in after.items() if before]
    return "\n".join(lines) + "\n"


def _load(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _body(stage: Mapping[str, Any]) -> Mapping[str, Any]:
    return stage.get("do", stage)


def _expand(pipeline: Mapping[str, Any], parameters: Mapping[str, Any]) -> Stages:
    """The variants of every stage; those of a `foreach` over nothing are none."""
    return {name: list(_variants(stage, parameters)) for name, stage in pipeline["stages"].items()}


def _variants(stage: Mapping[str, Any], parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    over = stage.get("foreach", [None])
    if isinstance(over, str):
        over = _look_up(over[2:-1], parameters) or {}
    items = over.items() if isinstance(over, dict) else [(item, item) for item in over]
    for key, item in items:
        yield _filled(_body(stage), {**parameters, "key": key, "item": item})


def _filled(value: Any, variables: Mapping[str, Any]) -> Any:
    """A part of a stage with its variables replaced."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: str(_look_up(found[1], variables)), value)
    if isinstance(value, list):
        return [_filled(item, variables) for item in value]
    if isinstance(value, dict):
        return {_filled(key, variables): _filled(item, variables) for key, item in value.items()}
    return value


def _look_up(name: str, variables: Mapping[str, Any]) -> Any:
    found: Any = variables
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _edges(stages: Stages) -> set[tuple[str, str]]:
    """Pairs of stages: some variant of the second reads an output of the first, but none that was made from it."""
    nodes = [(name, number) for name, variants in stages.items() for number in range(len(variants))]
    outputs = {node: list(_outputs(stages[node[0]][node[1]])) for node in nodes}
    before: dict[Node, set[Node]] = {
        node: {other for other in nodes if other[0] != node[0] and _reads(stages[node[0]][node[1]], outputs[other])}
        for node in nodes
    }
    made_from: dict[Node, set[Node]] = {}

    def ancestors(node: Node) -> set[Node]:
        if node not in made_from:
            made_from[node] = before[node].union(*map(ancestors, before[node]))
        return made_from[node]

    edges = set()
    for node in nodes:
        indirect = set().union(*(ancestors(other) for other in before[node]))
        joins_variants = len(stages[node[0]]) == 1  # Such a stage reads folders, whose files other stages may not read.
        names = {name for name, _ in indirect} if joins_variants else set()
        edges |= {(other[0], node[0]) for other in before[node] - indirect if other[0] not in names}
    return edges


def _reads(stage: Mapping[str, Any], outputs: list[str]) -> bool:
    """Whether a dependency is one of the outputs, lies below it, or is a folder around it."""
    pairs = ((f"{dep}/", f"{path}/") for dep in stage.get("deps", []) for path in outputs)
    return any(dep.startswith(path) or path.startswith(dep) for dep, path in pairs)


def _outputs(stage: Mapping[str, Any]) -> Iterator[str]:
    for kind in ("outs", "metrics", "plots"):
        for output in stage.get(kind, []):
            yield from output if isinstance(output, dict) else [output]
