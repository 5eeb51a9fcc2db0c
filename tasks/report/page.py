"""Stage `report`: the result tables as text, Markdown and CSV, and one HTML page with all tables and pictures.

`python -m tasks.report.page PARAMS_FILE FAMILY,...`, with which `make repro ONLY=FAMILY` ends, reports some families,
as if the parameters had no corpora and models of the others. The next run of the whole preset replaces it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import jinja2
import yaml

from tasks.report import style, summary
from tasks.report.bits import bits_results
from tasks.report.codes import code_results
from tasks.report.downstream import downstream_results
from tasks.report.exact import exact_results
from tasks.report.inputs import notes_of
from tasks.report.measures import measure_results
from tasks.report.metrics import write_metrics
from tasks.report.papers import paper_tables
from tasks.report.patches import patch_results
from tasks.report.segmentation import segmentation_results
from tasks.report.table import Table, cell_class
from tasks.report.verdict import NOTE
from tasks.runtime.stage import Stage, read_json, run
from tasks.views import CLASSIFICATION, EXPORT, GENERATION, OWN_TEXT, TRAINED_TOKENIZERS
from tokenlab.core.files import atomic_folder, write_text

_TEMPLATES = Path(__file__).parent / "templates"

_MEASURED = {
    "segmentation.own_text": OWN_TEXT,
    "segmentation.corpora": EXPORT,
    "downstream.classified": CLASSIFICATION,
    "downstream.language_models": GENERATION,
    "tokenizers.corpora": TRAINED_TOKENIZERS,
}
"""Questions whose family has no stage that draws, and writes its metrics, once these are there."""

FAMILIES = "families.txt"
"""Beside the tables of some families only: their names."""


class Results(Protocol):
    """The results of a family."""

    @property
    def main(self) -> list[Table]:
        """The tables of results.txt."""

    @property
    def all(self) -> list[Table]:
        """The tables that are written as files."""


def report(stage: Stage) -> None:
    """Write the tables and the page, of all families or of those that the second argument names."""
    families = stage.variant.split(",") if stage.variant else []
    if families:
        pipeline = yaml.safe_load(Path("dvc.yaml").read_bytes())
        sections = without_others(stage.sections, pipeline["stages"], families)
        stage = stage._replace(variant="", sections=sections)
    segmentation, codes, exact = segmentation_results(stage), code_results(stage), exact_results(stage)
    bits, patches, measures = bits_results(stage), patch_results(stage), measure_results(stage)
    downstream = downstream_results(stage)
    results: dict[str, Any] = {
        "segmentation": segmentation,
        "codes": codes,
        "exact": exact,
        "bits": bits,
        "patches": patches,
        "downstream": downstream,
    }
    written = {**results, "compare": measures}
    origins = {read_json(path)["origin"] for path in stage.reports("corpora").glob("*.json")}
    tables = [table for of_family in written.values() for table in of_family.all]
    papers = [] if "generated" in origins else paper_tables(tables, stage.preset)
    _write_tables(stage.reports("tables"), written, [*papers, *tables], families)
    findings = {
        "Where do words end?": summary.word_findings(segmentation.corpora),
        "Which code should a character have?": summary.code_findings(codes.summaries),
        "Which character comes next?": summary.exact_findings(exact.tables),
        "What lies below the byte?": summary.bits_findings(bits.lengths, bits.translation),
        "Where should patches end?": summary.patch_findings(patches.models),
        "Do the codes help?": summary.classification_findings(downstream.all),
        "How do tokenizers compare?": summary.parity_findings(measures.all),
    }
    page = render_page(
        **results,
        measures=measures.all,
        papers=papers,
        preset=stage.preset,
        findings={question: list(found) for question, found in findings.items()},
        texts=notes_of(corpus["facts"] for corpus in (*segmentation.corpora, *codes.corpora)),
        methods=stage.parameters("segmentation.methods", dict[str, Any]),
    )
    write_text(stage.reports("index.html"), page)
    if not families:
        write_metrics(stage, _MEASURED)


def without_others(sections: dict[str, Any], stages: dict[str, Any], shown: list[str]) -> dict[str, Any]:
    """The parameters without the variants of other families: all that their stages loop over is empty."""
    found = {name: {**section} if isinstance(section, dict) else section for name, section in sections.items()}
    for stage in stages.values():  # `foreach: ${segmentation.corpora}`; the texts themselves, `${corpora}`, stay
        family, _, name = str(stage.get("foreach", "")).removeprefix("${").removesuffix("}").partition(".")
        if name in sections.get(family, {}) and stage["do"]["meta"]["tags"][0] not in shown:
            found[family][name] = type(sections[family][name])()
    return found


def render_page(**values: Any) -> str:
    """The page as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["mark"] = cell_class
    return environment.get_template("page.html.j2").render(colours=style, rule=NOTE, **values)


def _write_tables(
    folder: Path, results: Mapping[str, Results], tables: Sequence[Table], families: Sequence[str]
) -> None:
    """Every table as Markdown and CSV; results.txt, which `make repro` prints, has the main ones, results-FAMILY.txt
    those of a family."""
    with atomic_folder(folder) as target:
        for table in tables:
            write_text(target / f"{table.name}.md", table.markdown())
            write_text(target / f"{table.name}.csv", table.csv())
        if families:
            write_text(target / FAMILIES, ",".join(families) + "\n")
        texts = {name: [table.text() for table in of_family.main] for name, of_family in results.items()}
        for name, of_family in texts.items():
            write_text(target / f"results-{name}.txt", "\n".join(of_family))
        write_text(target / "results.txt", "\n".join(text for of_family in texts.values() for text in of_family))


if __name__ == "__main__":
    run(report)
