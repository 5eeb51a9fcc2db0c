"""Stage `report`: tables beside the papers' own, pictures, one HTML page."""

from pathlib import Path
from typing import Any

import jinja2
import polars as pl

from tasks.stage import Stage, read_json, run
from tasks.tables import segmentation_tables
from tokenlab.files import atomic_folder, write_text

_TEMPLATES = Path(__file__).parent


def report(stage: Stage) -> None:
    """Write the tables of every corpus as text, Markdown and CSV, and the page that shows them."""
    corpora = [_corpus(stage, name) for name in stage.sections["corpora"]]
    tables = [table for corpus in corpora for table in corpus["tables"]]
    with atomic_folder(stage.reports("tables")) as folder:
        for table in tables:
            write_text(folder / f"{table.name}.md", table.markdown())
            write_text(folder / f"{table.name}.csv", table.csv())
        write_text(folder / "results.txt", "\n".join(table.text() for table in tables))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    page = environment.get_template("report.html.j2").render(
        preset=stage.preset, corpora=corpora, readings=stage.sections["segmentation"]["readings"]
    )
    write_text(stage.reports("index.html"), page)


def _corpus(stage: Stage, name: str) -> dict[str, Any]:
    """What the page says of one corpus."""
    facts = read_json(stage.reports("corpora", f"{name}.json"))
    scores = pl.read_parquet(stage.reports("segmentation", name, "scores.parquet"))
    shares = {"lambda": pl.Float64, "f1": pl.Float64}  # or a table without rows would have columns of text
    curves = pl.read_csv(stage.reports("lambda", name, "curves.csv"), schema_overrides=shares)
    means = curves.group_by("scope", "reading", "lambda", maintain_order=True).agg(pl.col("f1").mean())
    return {
        "facts": facts,
        "tables": segmentation_tables(scores, facts),
        "chosen": read_json(stage.reports("lambda", name, "chosen.json")),
        "curves": means.to_dicts(),
        "curves_drawn": _drawing(stage.reports("lambda", name, "curves.svg")),
        "distributions": _drawing(stage.reports("statistics", name, "distributions.svg")),
        "sentence": _drawing(stage.reports("segmentation", name, "sentence.svg")),
    }


def _drawing(path: Path) -> str:
    """An SVG of ours, to stand inside the page."""
    text = path.read_text(encoding="utf-8")
    return text[text.index("<svg") :]


if __name__ == "__main__":
    run(report)
