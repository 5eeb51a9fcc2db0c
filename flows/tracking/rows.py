"""From the tables of the evaluation stages to the parameters and metrics logged to MLflow: one `Row` for each row of a
table, and one for each variant with the means over its repetitions (seeds).

`tasks.views` declares which stages are tracked and what their columns mean. A row's own parameters are in
columns `param.NAME`; the parameters of the stages before come from dvc.lock.
"""

import functools
import json
import math
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl
from dvc.utils.flatten import flatten

from flows.tracking.lock import Entry, Pipeline, hash_json
from tasks.views import PARAMETER, File, View, Where
from tokenlab.core.errors import ParameterError

ROW, MEAN = "row", "mean"
"""The tag `kind` of a run."""

_FORM = 4
"""Another form of the same results makes new runs."""

_CODE = ("flows", "tasks", "tokenlab")


@dataclass(frozen=True)
class Row:
    """The content of one MLflow run; its tag `kind` is `row`, or `mean` for the means of a variant."""

    key: str
    """A hash that finds the run again."""
    stage: str
    """Address of the stage whose table has the row."""
    name: str
    params: dict[str, str]
    metrics: dict[str, float]
    """Those that the view names: MLflow draws a bar for each on the page of the run."""
    numbers: dict[str, float]
    """All others."""
    tags: dict[str, str]
    datasets: dict[str, tuple[str, str]]
    """Path -> version (DVC's md5) and context: `source` or `input`."""
    artefacts: list[str]
    figures: list[str]
    parent: str = ""
    """The key of the means of its variant, where there are any."""
    model: str = ""
    """The registered model that the row is a candidate for, where it has a tokenizer."""

    @property
    def description(self) -> str:
        """The numbers that are no metrics, as a table in Markdown."""
        lines = [f"| {name} | {number:.7g} |" for name, number in self.numbers.items()]
        return "\n".join(["| number | value |", "| --- | --: |", *lines]) if lines else ""


@dataclass
class Tracked:
    """A view, and the rows of all its stages."""

    view: View
    rows: list[Row]


def rows_of(pipeline: Pipeline, entry: Entry, view: View, preset: str) -> Iterator[Row]:
    """The variants of a stage's table: the means of each, where the view has repetitions, and then its rows.

    Raises InputError where the table cannot be found, and ParameterError where it lacks a column that the view names.
    """
    names = {"preset": preset, "key": entry.variant}
    path = view.table.format_map(names)
    table = pl.read_parquet(pipeline.find(path)[0])
    facts = [*view.key, *view.facts]
    if missing := [name for name in view.columns() if name not in table.columns]:
        raise ParameterError(
            f"{entry.address}: {path} has no column {', '.join(missing)}; correct the view in tasks/views.py"
        )
    own = [name for name in table.columns if name.startswith(PARAMETER)]
    numbers = [name for name, kind in table.schema.items() if kind.is_numeric() and name not in (*facts, *own)]
    of_ancestors = functools.cache(functools.partial(_of_ancestors, pipeline, entry))
    digest = [_FORM, pipeline.digest(entry), asdict(view)]
    variants: dict[tuple[Any, ...], list[Row]] = {}
    for row in table.iter_rows(named=True):
        described = {name: _text(row[name]) for name in facts if row[name] is not None}
        parameters = {name.removeprefix(PARAMETER): _text(row[name]) for name in own if row[name] is not None}
        measured = {name: row[name] for name in numbers if row[name] is not None and math.isfinite(row[name])}
        metrics, others = _parted(measured, view.metrics)
        without = frozenset(stage for stage, where in view.only.items() if not _matches(row, where))
        above, datasets = of_ancestors(without)
        tags = {name: _tag(text, row) for name, text in view.tags.items()}
        tags |= {
            "kind": ROW,
            "preset": preset,
            "stage": entry.address.rpartition(":")[2],
            "variant": _name(view, row, without=view.repeats),
            **{name: described[name] for name in view.repeats if name in described},
            "mlflow.source.name": f"dvc repro {entry.address}",
            "mlflow.source.type": "LOCAL",
        }
        artefacts = _paths([*view.artefacts, File(view.table)], row, names)
        is_tokenizer = view.registered and any(path.endswith("/tokenizer.json") for path in artefacts)
        of_table = Row(
            key=hash_json([digest, [row[name] for name in view.key]]),
            stage=entry.address,
            name=_name(view, row),
            params={"preset": preset, **above, **parameters, **described},
            metrics=metrics,
            numbers=others,
            tags={name: text for name, text in tags.items() if text},
            datasets=datasets,
            artefacts=artefacts,
            figures=[path for path in _paths(view.figures, row, names) if pipeline.hash_of(path)],
            model=f"{view.question.name}-{preset}-{row[view.registered]}" if is_tokenizer else "",
        )
        variant = tuple(row[name] for name in view.key if name not in view.repeats)
        variants.setdefault(variant, []).append(of_table)
    for rows in variants.values():
        if view.repeats:
            mean = _mean(rows, view)
            yield mean
            rows = [replace(row, parent=mean.key) for row in rows]
        yield from rows


def _of_ancestors(
    pipeline: Pipeline, entry: Entry, without: Collection[str]
) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """The parameters and the datasets of the stages that a row depends on, which are not `without`: the data that the
    stage itself reads, then the data that no stage of the preset makes."""
    ancestors = pipeline.ancestors(entry, without)
    family = [entry, *pipeline.ancestors(entry)]
    made = {out for other in family if other.pipeline == entry.pipeline for out in other.outs}
    sources = {
        path: (md5, "source")
        for other in ancestors
        for path, md5 in other.deps.items()
        if path.partition("/")[0] not in _CODE and not any(_overlap(path, out) for out in made)
    }
    read = {path: (md5, "input") for path, md5 in entry.deps.items() if path.startswith("data/")}
    return _parameters(entry, ancestors), read | sources


def _overlap(one: str, other: str) -> bool:
    """Whether two paths are the same or one contains the other."""
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def _parameters(entry: Entry, ancestors: list[Entry]) -> dict[str, str]:
    """The parameters of the stages before an evaluation stage; where two of them disagree, the nearer one counts.
    Sections that the evaluation stage itself lists are in its table.

    The variant of a stage is left out of the names of its parameters, so that runs of several corpora have the same
    names: `corpora.zh.path` becomes `corpora.path`. It stays where a stage has several variants among the ancestors and
    this one is not the evaluation stage's.
    """
    listed = [section.split(".") for values in entry.params.values() for section in values]
    found: dict[str, str] = {}
    for other in reversed(ancestors):
        alone = sum(member.stage == other.stage for member in ancestors) == 1
        variant = other.variant if alone or other.variant == entry.variant else ""
        for values in other.params.values():
            for name, value in flatten(values).items():
                path = name.split(".")
                if not any(path[: len(section)] == section for section in listed):
                    found[".".join(part for part in path if part != variant)] = _text(value)
    return found


def _mean(rows: list[Row], view: View) -> Row:
    """The mean of each number over the rows that have it, the standard deviation of the view's metrics, and everything
    that all rows share. The first metric's deviation is a metric, too."""
    of_rows = [row.metrics | row.numbers for row in rows]
    names = dict.fromkeys(name for one in of_rows for name in one)
    values = {name: [one[name] for one in of_rows if name in one] for name in names}
    means = {name: statistics.fmean(found) for name, found in values.items()}
    spreads = {f"{name}_sd": statistics.stdev(values[name]) for name in view.metrics if len(values.get(name, [])) > 1}
    first, *rest = view.metrics
    metrics, others = _parted(means | spreads, [first, f"{first}_sd", *rest])
    return Row(
        key=hash_json([MEAN, [row.key for row in rows]]),
        stage=rows[0].stage,
        name=rows[0].tags.get("variant", ""),
        params={**_shared(row.params for row in rows), "runs": str(len(rows))},
        metrics=metrics,
        numbers=others,
        tags=_shared(row.tags for row in rows) | {"kind": MEAN},
        datasets=rows[0].datasets,
        artefacts=[path for path in rows[0].artefacts if all(path in row.artefacts for row in rows)],
        figures=[path for path in rows[0].figures if all(path in row.figures for row in rows)],
    )


def _parted(numbers: Mapping[str, float], names: Sequence[str]) -> tuple[dict[str, float], dict[str, float]]:
    """The numbers with these names, in their order, and the others, all as the pages can show them."""
    chosen = {name: _rounded(numbers[name]) for name in names if name in numbers}
    return chosen, {name: _rounded(number) for name, number in numbers.items() if name not in chosen}


def _shared(mappings: Iterable[dict[str, str]]) -> dict[str, str]:
    """The entries that all mappings have."""
    first, *others = mappings
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def _paths(files: Iterable[File], row: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    return [file.path.format_map({**row, **names}) for file in files if _matches(row, file.where)]


def _name(view: View, row: Mapping[str, Any], without: Iterable[str] = ()) -> str:
    parts = []
    for column, form in view.label.items():
        if row[column] is not None and column not in without:
            value = row[column]
            text = f"{value:.3g}" if isinstance(value, float) else _text(value)
            parts.append(form.format(text) if isinstance(form, str) else form.get(text, ""))
    return " ".join(filter(None, parts))


def _tag(text: str | Mapping[str, Mapping[str, str]], row: Mapping[str, Any]) -> str:
    if isinstance(text, str):
        return text
    column, texts = next(iter(text.items()))
    return texts.get(_text(row[column]), "")


def _matches(row: Mapping[str, Any], where: Where) -> bool:
    return all(row[name] in values for name, values in where.items())


def _rounded(value: float) -> float:
    """A number with seven digits; whole numbers stay. The tables have every digit."""
    return float(value) if value == int(value) else float(f"{value:.7g}")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
