"""From the tables of the evaluation stages to what MLflow is to know: one `Row` for each row of each table, and one for
each variant with the means over its repetitions (seeds), as MLflow's own means are over the page of runs it has loaded.

A stage is tracked where its `meta` in dvc.yaml has an entry `track` (`Declaration`); no stage is named in this code.
"""

import hashlib
import json
import math
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from flows.track_lock import Entry, Pipeline
from tokenlab.errors import ParameterError

Scalar = str | int | float | bool | None
Label = str | dict[str, str | dict[str, str]]
"""A column, or `{column: "λ={}"}`, or `{column: {value: text}}`; a value without a text is left out."""

Where = dict[str, list[Scalar] | Literal["any"]]
"""Column -> the values for which something applies; `any`: wherever there is one."""

ROW, MEAN = "row", "mean"
"""The tag `kind` of a run."""

_CODE = ("flows/", "tasks/", "tokenlab/")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Question(_Part):
    """What the rows answer: a name for the command line, and the question itself."""

    name: str
    asks: str

    @property
    def title(self) -> str:
        """The name of the experiment."""
        return f"{self.asks} ({self.name})"


class Artefact(_Part):
    """A file that a row made or that shows it; `{column}` stands for the row's value. `where`: for which rows."""

    path: str
    where: Where = {}


class Declaration(_Part):
    """The entry `track` of a stage in dvc.yaml."""

    question: Question
    rows: str
    """The table: a Parquet file that the stage writes."""
    key: list[str]
    """Columns that tell its rows apart."""
    facts: list[str] = []
    """Further columns that say what a row is. All other columns of numbers are metrics."""
    repeats: list[str] = []
    """Those of the key that number repetitions: rows that differ in nothing else are one variant."""
    name: list[Label]
    """What the name of a run is made of."""
    columns: list[str] = Field(min_length=1)
    """The metrics that matter, the first of them first of all: it orders the runs."""
    choose: dict[str, str] = {}
    """Parameter -> column. Of a mapping only the entry that the row names applies; a list is left out for the row's
    own value."""
    only: dict[str, Where] = {}
    """Parameter -> the rows that it applies to."""
    artefacts: list[Artefact] = []
    tags: dict[str, str | dict[str, dict[str, str]]] = {}
    """Tag -> text, or `{column: {value: text}}`."""


@dataclass(frozen=True)
class Row:
    """A run of MLflow, but for the store's own numbers. Its tag `kind` says whether it is a row or a mean of rows."""

    key: str
    name: str
    params: dict[str, str]
    metrics: dict[str, float]
    tags: dict[str, str]
    datasets: dict[str, tuple[str, str]]
    """Path -> version (DVC's md5) and what it is to the run: `source` or `input`."""
    artefacts: list[str]


def declared(pipeline: Pipeline) -> list[tuple[Entry, Declaration]]:
    """The stages to track that have run. Raises ParameterError for a declaration that is none."""
    return [(entry, _declaration(entry)) for entry in pipeline.declaring("track")]


def _declaration(entry: Entry) -> Declaration:
    try:
        return Declaration.model_validate(entry.meta["track"])
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        raise ParameterError(f"{entry.address}: meta.track.{where}: {problem['msg']}; mend dvc.yaml") from None


def rows_of(pipeline: Pipeline, entry: Entry, declaration: Declaration, preset: str) -> Iterator[Row]:
    """The rows of a stage's table, then the means of its variants.

    Raises InputError where the table is neither in the cache nor in the workspace, and ParameterError where it lacks a
    column that the declaration names.
    """
    table = pl.read_parquet(pipeline.find(declaration.rows)[0])
    facts = [*declaration.key, *declaration.facts]
    if missing := [name for name in [*facts, *declaration.columns] if name not in table.columns]:
        raise ParameterError(f"{entry.address}: {declaration.rows} has no column {', '.join(missing)}; mend dvc.yaml")
    # MLflow's pages begin with the first.
    numbers = [name for name, kind in table.schema.items() if kind.is_numeric() and name not in facts]
    metrics = [*(name for name in declaration.columns if name in numbers), *numbers]
    family = [entry, *pipeline.ancestors(entry)]
    parameters = _parameters(family)
    digest = [pipeline.digest(entry), declaration.model_dump(mode="json")]
    datasets = _datasets(family)
    variants: dict[str, list[Row]] = {}
    for row in table.iter_rows(named=True):
        own = {name: _text(row[name]) for name in facts if row[name] is not None}
        tags = {name: _tag(text, row) for name, text in declaration.tags.items()}
        tags |= {
            "kind": ROW,
            "preset": preset,
            "stage": entry.address.rpartition(":")[2],
            "variant": _name(declaration, row, without=declaration.repeats),
            **{name: own[name] for name in declaration.repeats if name in own},
            "mlflow.source.name": f"dvc repro {entry.address}",
            "mlflow.source.type": "LOCAL",
        }
        of_table = Row(
            key=_hash([digest, [row[name] for name in declaration.key]]),
            name=_name(declaration, row),
            params={"preset": preset, **own, **_applying(parameters, declaration, row)},
            metrics={name: float(row[name]) for name in metrics if _is_number(row[name])},
            tags={name: text for name, text in tags.items() if text},
            datasets=datasets,
            artefacts=[
                artefact.path.format_map(row) for artefact in declaration.artefacts if _matches(row, artefact.where)
            ],
        )
        variants.setdefault(tags["variant"], []).append(of_table)
        yield of_table
    if declaration.repeats:
        yield from (_mean(name, rows, declaration) for name, rows in variants.items())


def _mean(variant: str, rows: list[Row], declaration: Declaration) -> Row:
    """The mean of each metric over the rows that have it, the standard deviation of those that matter, and of the rest
    what all the rows share."""
    values = {
        name: [row.metrics[name] for row in rows if name in row.metrics]
        for name in dict.fromkeys(name for row in rows for name in row.metrics)
    }
    spreads = {
        f"{name}_sd": statistics.stdev(values[name]) for name in declaration.columns if len(values.get(name, [])) > 1
    }
    return Row(
        key=_hash([MEAN, [row.key for row in rows]]),
        name=variant,
        params={**_shared(row.params for row in rows), "runs": str(len(rows))},
        metrics={name: statistics.fmean(of_rows) for name, of_rows in values.items()} | spreads,
        tags=_shared(row.tags for row in rows) | {"kind": MEAN},
        datasets=rows[0].datasets,
        artefacts=[path for path in rows[0].artefacts if all(path in row.artefacts for row in rows)],
    )


def _shared(mappings: Iterable[dict[str, str]]) -> dict[str, str]:
    """The entries that all of them have."""
    first, *others = mappings
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _parameters(family: list[Entry]) -> dict[str, Any]:
    """The parameters of a stage and of those it rests on as one tree; where two differ, the nearer counts."""
    tree: dict[str, Any] = {}
    for entry in reversed(family):
        for values in entry.params.values():
            for name, value in values.items():
                *above, last = name.split(".")
                place = tree
                for part in above:
                    place = place.setdefault(part, {})
                if isinstance(value, dict) and isinstance(place.get(last), dict):
                    value = place[last] | value
                place[last] = value
    return tree


def _applying(tree: dict[str, Any], declaration: Declaration, row: dict[str, Any]) -> dict[str, str]:
    """The parameters that apply to one row, flat; those of a chosen entry are named for the column that chose it."""
    flat: dict[str, str] = {}

    def walk(node: Any, name: str, path: str) -> None:
        if not _matches(row, declaration.only.get(path, {})):
            return
        column = declaration.choose.get(path)
        if column is not None and isinstance(node, dict):
            parent = name.rpartition(".")[0]
            if (chosen := node.get(_text(row[column]))) is not None:
                walk(chosen, f"{parent}.{column}" if parent else column, f"{path}.*")
        elif column is not None:
            return
        elif isinstance(node, dict):
            for key, value in node.items():
                walk(value, f"{name}.{key}" if name else str(key), f"{path}.{key}" if path else str(key))
        else:
            flat[name] = _text(node)

    walk(tree, "", "")
    return flat


def _datasets(family: list[Entry]) -> dict[str, tuple[str, str]]:
    """What the stage itself reads of the data, then what the whole line started from."""
    entry, *above = family
    made = {out for other in family if _file(other) == _file(entry) for out in other.outs}
    sources = {
        path: (md5, "source")
        for other in above
        for path, md5 in other.deps.items()
        if path not in made and not path.startswith(_CODE)
    }
    return {path: (md5, "input") for path, md5 in entry.deps.items() if path.startswith("data/")} | sources


def _file(entry: Entry) -> str:
    """The dvc.yaml of a stage, empty for the one in the root."""
    return entry.address.rpartition(":")[0]


def _name(declaration: Declaration, row: dict[str, Any], without: list[str] | None = None) -> str:
    parts = []
    for label in declaration.name:
        column = label if isinstance(label, str) else next(iter(label))
        if row[column] is not None and column not in (without or []):
            form = "{}" if isinstance(label, str) else label[column]
            text = _text(row[column])
            parts.append(form.format(text) if isinstance(form, str) else form.get(text, ""))
    return " ".join(filter(None, parts))


def _tag(text: str | dict[str, dict[str, str]], row: dict[str, Any]) -> str:
    if isinstance(text, str):
        return text
    column, texts = next(iter(text.items()))
    return texts.get(_text(row[column]), "")


def _matches(row: dict[str, Any], where: Where) -> bool:
    return all(row[name] is not None if values == "any" else row[name] in values for name, values in where.items())


def _is_number(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
