"""Reading what the computing stages wrote."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tasks.report.style import with_variables
from tasks.report.table import Caveat, Table
from tasks.runtime.stage import Stage, read_json


def read_table(path: Path) -> pl.DataFrame:
    """A table; of CSV a column without values is one of floats, and a table without rows is all floats."""
    if path.suffix != ".csv":
        return pl.read_parquet(path)
    table = pl.read_csv(path, infer_schema_length=None)
    texts = [name for name in table.columns if table[name].dtype == pl.String]
    empty = [name for name in texts if table[name].null_count() == len(table)]
    return table.with_columns(pl.col(empty).cast(pl.Float64))


def tables_of(stage: Stage, section: str, folder: str, name: str) -> dict[str, pl.DataFrame]:
    """Variant of a section -> its table `name`."""
    variants = stage.parameters(section, dict[str, Any])
    return {variant: read_table(stage.reports(folder, variant, name)) for variant in variants}


def read_parts(stage: Stage, section: str, folder: str, name: str) -> pl.DataFrame:
    """These tables one below the other, with a column `key`, the variant; empty where the section has none."""
    tables = tables_of(stage, section, folder, name)
    parts = [table.with_columns(key=pl.lit(variant)) for variant, table in tables.items()]
    return pl.concat(parts, how="diagonal_relaxed") if parts else pl.DataFrame()


def examples(stage: Stage, section: str, folder: str, table: Callable[[str, Any], Table]) -> list[Table]:
    """A table of examples for each variant of a section that has some. They are on the page alone, and no files: they
    quote corpora, which may not be passed on."""
    names = stage.parameters(section, dict[str, Any])
    found = {name: read_json(stage.reports(folder, name, "examples.json"))["examples"] for name in names}
    return [table(name, of_variant) for name, of_variant in found.items() if of_variant]


def corpus_facts(stage: Stage, corpus: str) -> dict[str, Any]:
    """Facts about a corpus, as `prepare` writes them; its notes are caveats."""
    facts = read_json(stage.reports("corpora", f"{corpus}.json"))
    return facts | {"notes": [*map(Caveat, facts["notes"])]}


def notes_of(facts: Iterable[Mapping[str, Any]]) -> list[str]:
    """The notes of these corpora, each once."""
    return list(dict.fromkeys(note for of_corpus in facts for note in of_corpus["notes"]))


def all_generated(facts: Iterable[Mapping[str, Any]]) -> bool:
    """Whether all of these corpora are built in, so that a paper's figures mean nothing beside theirs."""
    return {of_corpus["origin"] for of_corpus in facts} == {"generated"}


def trained_models(stage: Stage, section: str, family: str, folder: str) -> list[dict[str, Any]]:
    """The language models of a section that were trained: `name`, `parameters`, `metrics`, and the picture `loss`."""
    losses = pictures(stage.reports("figures", family, folder))
    return [
        {
            "name": name,
            "parameters": parameters,
            "metrics": read_json(stage.reports(folder, name, "metrics.json")),
            "loss": losses[name],
        }
        for name, parameters in stage.parameters(section, dict[str, Any]).items()
    ]


def pictures(folder: Path) -> dict[str, str]:
    """The SVG pictures of a folder, name -> element of the page."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.svg"))}
    return {name: with_variables(text[text.index("<svg") :]) for name, text in texts.items()}
