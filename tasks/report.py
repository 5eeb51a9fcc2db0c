"""Stage `report`: tables beside the papers' own, pictures, one HTML page."""

from pathlib import Path
from typing import Any

import jinja2
import polars as pl

from tasks.code_figures import BITS, PERPLEXITY, TOKENS, draw_overview
from tasks.code_scores import read_curves
from tasks.code_tables import code_summaries, code_tables
from tasks.codes import CorpusCodes, Sizes
from tasks.stage import Stage, read_json, run
from tasks.tables import Table, segmentation_tables
from tokenlab.files import atomic_folder, write_text

_TEMPLATES = Path(__file__).parent
_PAGE, _CODES_PART = "report.html.j2", "report_codes.html.j2"
_OVERVIEWS = {"tokens": TOKENS, "perplexity": PERPLEXITY, "bits": BITS}


def report(stage: Stage) -> None:
    """Write the tables of every corpus as text, Markdown and CSV, and the page that shows them."""
    segmented = [_segmented(stage, name) for name in stage.sections["segmentation"]["corpora"]]
    models = [_model(stage, name) for name in stage.sections["entropy"]["models"]]
    encoded = [_encoded(stage, name) for name in stage.sections["codes"]["corpora"]]
    summaries = _summaries(stage, encoded)
    with atomic_folder(stage.reports("overview")) as folder:
        drawn = _overviews(encoded, folder)
    tables = [table for corpus in segmented for table in corpus["tables"]] + summaries
    shown = [table for table in tables if table not in summaries or table.name.endswith("-C")]  # in the terminal
    details = [table for corpus in encoded for table in corpus["tables"]]
    with atomic_folder(stage.reports("tables")) as folder:
        for table in tables + details:
            write_text(folder / f"{table.name}.md", table.markdown())
            write_text(folder / f"{table.name}.csv", table.csv())
        write_text(folder / "results.txt", "\n".join(table.text() for table in shown))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    page = environment.get_template(_PAGE).render(
        codes_part=_CODES_PART,
        preset=stage.preset,
        segmented=segmented,
        models=models,
        readings=stage.sections["segmentation"]["readings"],
        encoded=encoded,
        summaries=summaries,
        overviews=drawn,
    )
    write_text(stage.reports("index.html"), page)


def _segmented(stage: Stage, name: str) -> dict[str, Any]:
    """What the page says of where words end in a corpus."""
    facts = read_json(stage.reports("corpora", f"{name}.json"))
    scores = pl.read_parquet(stage.reports("segmentation", name, "scores.parquet"))
    shares = {"lambda": pl.Float64, "f1": pl.Float64}  # or a table without rows would have columns of text
    curves = pl.read_csv(stage.reports("lambda", name, "curves.csv"), schema_overrides=shares)
    means = curves.group_by("scope", "reading", "lambda", maintain_order=True).agg(pl.col("f1").mean())
    choices = pl.read_csv(stage.reports("lambda", name, "choices.csv"), schema_overrides={"value": pl.Float64})
    return {
        "facts": facts,
        "tables": segmentation_tables(scores, facts),
        "chosen": read_json(stage.reports("lambda", name, "chosen.json")),
        "curves": means.to_dicts(),
        "curves_drawn": _drawing(stage.reports("lambda", name, "curves.svg")),
        "distributions": _drawing(stage.reports("statistics", name, "distributions.svg")),
        "sentence": _drawing(stage.reports("segmentation", name, "sentence.svg")),
        # Without predictive entropy there is nothing to see.
        "choices_drawn": _drawing(stage.reports("lambda", name, "choices.svg")) if len(choices) else None,
        "entropies": _drawing(stage.reports("segmentation", name, "entropy.svg")) if _has_entropies(scores) else None,
    }


def _has_entropies(scores: pl.DataFrame) -> bool:
    return bool(scores["signal"].is_in(["entropy", "both"]).any())


def _model(stage: Stage, name: str) -> dict[str, Any]:
    """What the page says of a language model that was trained here."""
    folder = stage.reports("entropy_models", name)
    return {
        "name": name,
        "parameters": stage.sections["entropy"]["models"][name],
        "metrics": read_json(folder / "metrics.json"),
        "loss": _drawing(folder / "loss.svg"),
    }


def _encoded(stage: Stage, name: str) -> dict[str, Any]:
    """What the page says of the codes of a corpus."""
    facts = read_json(stage.reports("corpora", f"{name}.json"))
    learned = read_json(stage.reports("codebooks", name, "variants.json"))
    folder = stage.reports("codes", name)
    details = folder / "details"
    scores = pl.read_parquet(folder / "scores.parquet")
    restarts = stage.parameters(f"codes.corpora.{name}", CorpusCodes).restarts
    return {
        "facts": facts,
        "learned": learned,
        "scores": scores,
        "curves": read_curves(folder / "curves.csv"),
        "tables": code_tables(scores, facts | {"notes": facts["notes"] + learned["refused"]}, restarts),
        "drawn": _drawing(folder / "bpe.svg"),
        "figures": {path.stem: _drawing(path) for path in sorted(details.glob("*.svg"))},
        "codebook": (details / "codebook.html").read_text(encoding="utf-8"),
        "trace": read_json(details / "trace.json"),
    }


def _summaries(stage: Stage, encoded: list[dict[str, Any]]) -> list[Table]:
    """All corpora at each of the sizes that the parameters name."""
    if not encoded:
        return []
    scores = pl.concat([corpus["scores"] for corpus in encoded], how="diagonal")
    generated = {corpus["facts"]["origin"] for corpus in encoded} == {"generated"}
    notes = encoded[0]["facts"]["notes"] if generated else []
    return code_summaries(scores, stage.parameters("codes.sizes", Sizes).shown, notes)


def _overviews(encoded: list[dict[str, Any]], folder: Path) -> dict[str, str]:
    """Every corpus at a glance."""
    if not encoded:
        return {}
    curves = {corpus["facts"]["corpus"]: corpus["curves"] for corpus in encoded}
    characters = {corpus["facts"]["corpus"]: corpus["learned"]["characters"] for corpus in encoded}
    for name, panel in _OVERVIEWS.items():
        draw_overview(curves, characters, panel, folder / name)
    return {name: _drawing(folder / f"{name}.svg") for name in _OVERVIEWS}


def _drawing(path: Path) -> str:
    """An SVG of ours, to stand inside the page."""
    text = path.read_text(encoding="utf-8")
    return text[text.index("<svg") :]


if __name__ == "__main__":
    run(report)
