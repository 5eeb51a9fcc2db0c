"""Stage `report`: the result tables as text, Markdown and CSV, and one HTML page with all tables and pictures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import polars as pl

from tasks.report import style
from tasks.report.inputs import read_table
from tasks.report.sections.bits_section import bits_results
from tasks.report.sections.exact_section import exact_results
from tasks.report.sections.patches_section import patch_results
from tasks.report.sections.summary import (
    bits_findings,
    code_findings,
    exact_findings,
    parity_findings,
    patch_findings,
    word_findings,
)
from tasks.report.tables.code_tables import code_summaries, code_tables
from tasks.report.tables.export_tables import export_table
from tasks.report.tables.measure_tables import measure_tables
from tasks.report.tables.metric_tables import code_metrics, segmentation_metrics
from tasks.report.tables.own_text_tables import own_text_table
from tasks.report.tables.segmentation_tables import segmentation_tables, summary_table
from tasks.report.tables.table import Table, cell_class
from tasks.report.verdict import NOTE
from tasks.runtime.stage import Stage, read_json, run
from tokenlab.core.files import atomic_folder, write_text
from tokenlab.metrics.registry import SEGMENTATION, TOKENIZATION

_TEMPLATES = Path(__file__).parent / "templates"


FAMILIES = "families.txt"
"""Beside the tables of some families only: their names."""


def report(stage: Stage, families: Sequence[str] = ()) -> None:
    """Write the tables and the page; `families` are named where the parameters have some families only."""
    segmented = [_segmented(stage, name) for name in stage.parameters("segmentation.corpora", dict[str, Any])]
    own_texts = [_own_text(stage, name) for name in stage.parameters("segmentation.own_text", dict[str, Any])]
    encoded = [_encoded(stage, name) for name in stage.parameters("codes.corpora", dict[str, Any])]
    overviews = _pictures(stage.reports("figures", "codes", "overview"))
    models = stage.parameters("entropy.models", dict[str, Any])
    summaries = _summaries(encoded, stage.parameters("codes.vocabulary_sizes.reported", list[int]))
    exact, bits, patches, measures = exact_results(stage), bits_results(stage), patch_results(stage), _measures(stage)
    main = {"exact": exact.main, "bits": bits.main, "patches": patches.main}
    main["compare"] = [table for table in measures if table.name.startswith("parity-")]
    others = exact.all + bits.all + patches.all + measures
    _write_tables(stage.reports("tables"), segmented, own_texts, encoded, summaries, main, others, families)
    page = render_page(
        preset=stage.preset,
        findings={
            "Where do words end?": [
                finding
                for corpus in segmented
                for finding in word_findings(corpus["tables"][-1], corpus["facts"]["corpus"])
            ],
            "Which code should a character have?": [*code_findings(summaries)],
            "Which character comes next?": [*exact_findings(exact.tables)],
            "What lies below the byte?": [*bits_findings(bits.lengths, bits.translation)],
            "Where should patches end?": [*patch_findings(patches.models)],
            "How do tokenizers compare?": [*parity_findings(measures)],
        },
        texts=list(dict.fromkeys(note for corpus in (*segmented, *encoded) for note in corpus["facts"]["notes"])),
        segmented=segmented,
        own_texts=own_texts,
        models=[_model(stage, name, parameters) for name, parameters in models.items()],
        methods=stage.parameters("segmentation.methods", dict[str, Any]),
        encoded=encoded,
        summaries=[table.without_empty_rows(3) for table in summaries],
        overviews=[overviews[name] for name in ("tokens", "perplexity", "bits") if name in overviews],
        exact=exact,
        bits=bits,
        patches=patches,
        measures=measures,
    )
    write_text(stage.reports("index.html"), page)


def render_page(**values: Any) -> str:
    """The page as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"svg": _svg, "mark": cell_class}
    return environment.get_template("page.html.j2").render(colours=style, rule=NOTE, **values)


def _segmented(stage: Stage, name: str) -> dict[str, Any]:
    """The section of a segmented corpus."""
    facts = read_json(stage.reports("corpora", f"{name}.json"))
    scores = pl.read_parquet(stage.reports("segmentation", name, "scores.parquet"))
    tuned = read_json(stage.reports("tuning", name, "tuned.json"))
    return {
        "facts": facts,
        "tables": segmentation_tables(scores, facts),
        "summary": summary_table(scores, facts),
        "metrics": segmentation_metrics(scores, name, SEGMENTATION),
        "exported": export_table(
            pl.read_parquet(stage.reports("export", name, "scores.parquet")),
            read_json(stage.reports("export", name, "left_out.json")),
            facts,
        ),
        "tuning": _tuning_table(read_table(stage.reports("tuning", name, "lambda.csv")), tuned),
        "pictures": _pictures(stage.reports("figures", "segmentation", name)),
    }


def _own_text(stage: Stage, name: str) -> Table:
    """The table of a text that is segmented by what it says itself."""
    scores = pl.read_parquet(stage.reports("own_text", name, "scores.parquet"))
    return own_text_table(scores, read_json(stage.reports("corpora", f"{scores['corpus'][0]}.json")))


def _tuning_table(curves: pl.DataFrame, tuned: dict[str, dict[str, float]]) -> Table:
    """Word F1 of each lambda, the mean of the seeds; the tuned one is marked."""
    means = curves.group_by("training", "method", "lambda", maintain_order=True).agg(pl.col("f1").mean())
    rows = [
        [training, method, f"{weight:g}", f"{100 * f1:.2f}", "tuned" if tuned[training][method] == weight else ""]
        for training, method, weight, f1 in means.iter_rows()
    ]
    return Table("lambda", "Values", ["training", "method", "λ", "word F1", ""], rows, [])


def _model(stage: Stage, name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The section of a language model that was trained."""
    metrics = read_json(stage.reports("entropy_models", name, "metrics.json"))
    loss = _svg(stage.reports("figures", "segmentation", "entropy_models", f"{name}.svg"))
    return {"name": name, "parameters": parameters, "metrics": metrics, "loss": loss}


def _encoded(stage: Stage, name: str) -> dict[str, Any]:
    """The section of a corpus with codes."""
    facts = read_json(stage.reports("corpora", f"{name}.json"))
    scores = pl.read_parquet(stage.reports("codes", name, "scores.parquet"))
    figures = stage.reports("figures", "codes", name)
    restarts = (stage.sections["codes"]["corpora"][name].get("codebooks") or {}).get("restarts", 1)
    has_codebook = (figures / "codebook.html").exists()
    trace = read_json(figures / "trace.json") if has_codebook else []
    rows = [[row["text"], str(row["vocabulary"]), str(row["tokens"])] for row in trace]
    return {
        "facts": facts,
        "distinct": scores.filter(code="character", text="training")["alphabet"][0],
        "scores": scores,
        "tables": code_tables(scores, name, facts["notes"], restarts),
        "metrics": code_metrics(scores, name, TOKENIZATION, restarts),
        "pictures": _pictures(figures),
        "codebook": (figures / "codebook.html").read_text(encoding="utf-8") if has_codebook else None,
        "trace": Table("trace", "", ["text", "|V|", "tokens"], rows, []),
    }


def _summaries(encoded: list[dict[str, Any]], sizes: list[int]) -> list[Table]:
    """All corpora at each of the sizes. Their notes are not repeated here, but that all text is generated is."""
    if not encoded:
        return []
    scores = pl.concat([corpus["scores"] for corpus in encoded], how="diagonal")
    generated = {corpus["facts"]["origin"] for corpus in encoded} == {"generated"}
    return code_summaries(scores, sizes, encoded[0]["facts"]["notes"] if generated else [])


def _measures(stage: Stage) -> list[Table]:
    """The tables that compare tokenizers and codes, those of parallel corpora first."""
    names = stage.parameters("compare.measured", dict[str, Any])
    scores = [pl.read_parquet(stage.reports("measures", name, "scores.parquet")) for name in names]
    if not scores:
        return []
    table = pl.concat(scores, how="diagonal_relaxed")
    facts = {name: read_json(stage.reports("corpora", f"{name}.json")) for name in table["corpus"].unique()}
    return measure_tables(table, facts)


def _write_tables(
    folder: Path,
    segmented: list[dict[str, Any]],
    own_texts: list[Table],
    encoded: list[dict[str, Any]],
    summaries: list[Table],
    main: Mapping[str, list[Table]],
    others: list[Table],
    families: Sequence[str],
) -> None:
    """Every table as Markdown and CSV; results.txt, which `make repro` prints, has the main ones, results-FAMILY.txt
    those of a family.

    main, others: the main tables of each of the other families, and all of theirs.
    """
    tables = [table for corpus in segmented for table in corpus["tables"]] + own_texts
    printed = {"segmentation": tables, "codes": [table for table in summaries if table.name.endswith("-C")], **main}
    more = [corpus[name] for corpus in segmented for name in ("summary", "exported") if corpus[name]]
    more += [table for corpus in encoded for table in corpus["tables"]]
    with atomic_folder(folder) as target:
        for table in tables + summaries + more + others:
            write_text(target / f"{table.name}.md", table.markdown())
            write_text(target / f"{table.name}.csv", table.csv())
        if families:
            write_text(target / FAMILIES, ",".join(families) + "\n")
        texts = {name: [table.text() for table in of_family] for name, of_family in printed.items()}
        for name, of_family in texts.items():
            write_text(target / f"results-{name}.txt", "\n".join(of_family))
        write_text(target / "results.txt", "\n".join(text for of_family in texts.values() for text in of_family))


def _pictures(folder: Path) -> dict[str, str]:
    """The SVG pictures of a folder by name."""
    return {path.stem: _svg(path) for path in sorted(folder.glob("*.svg"))}


def _svg(path: Path) -> str:
    """A picture as an element of the page."""
    text = path.read_text(encoding="utf-8")
    return text[text.index("<svg") :]


if __name__ == "__main__":
    run(report)
