"""Stage `report`: all figures, the result tables as text, Markdown and CSV, one HTML page with both, and metrics.

`python -m tasks.report.page PARAMS_FILE FAMILY,...`, with which `make repro ONLY=FAMILY` ends, reports some families,
as if the parameters had no corpora and models of the others. The next run of the whole preset replaces it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import yaml

from tasks.report import style, summary
from tasks.report.bits import bits_figures, bits_results
from tasks.report.codes import code_figures, code_results
from tasks.report.compared import compared_figures
from tasks.report.downstream import downstream_results
from tasks.report.exact import exact_figures, exact_results
from tasks.report.inputs import corpus_facts, notes_of, pictures
from tasks.report.measures import measure_results
from tasks.report.metrics import write_metrics
from tasks.report.papers import paper_tables
from tasks.report.patches import patch_figures, patch_results
from tasks.report.plot import draw_all
from tasks.report.segmentation import segmentation_figures, segmentation_results
from tasks.report.table import Results, Table, cell_class
from tasks.report.verdict import NOTE
from tasks.runtime.stage import Stage, run
from tokenlab.core.files import atomic_folder, write_text
from tokenlab.sources.catalogue import load_source

_TEMPLATES = Path(__file__).parent / "templates"

_FAMILIES: dict[str, Callable[[Stage], Results]] = {
    "segmentation": segmentation_results,
    "codes": code_results,
    "exact": exact_results,
    "bits": bits_results,
    "patches": patch_results,
    "downstream": downstream_results,
    "compare": measure_results,
}
_FIGURES: dict[str, Callable[[Stage, Path], Iterator[Callable[[], None]]]] = {
    "segmentation": segmentation_figures,
    "codes": code_figures,
    "exact": exact_figures,
    "bits": bits_figures,
    "patches": patch_figures,
    "compared": compared_figures,
}
"""Folder below `figures` -> the drawings that fill it."""

_DEFINITION = re.compile(r'<path(?: d="[^"]*")?(?: transform="[^"]*")? id="([^"]*)"(?: style="[^"]*")? />')

FAMILIES = "families.txt"
"""Beside the tables of some families only: their names."""


def report(stage: Stage) -> None:
    """Write the tables and the page, of all families or of those that the second argument names."""
    families = stage.variant.split(",") if stage.variant else []
    if families:
        pipeline = yaml.safe_load(Path("dvc.yaml").read_bytes())
        sections = without_others(stage.sections, pipeline["stages"], families)
        stage = stage._replace(variant="", sections=sections)
    with atomic_folder(stage.reports("figures"), checked=True) as folder:
        draw_all([drawing for family, of in _FIGURES.items() for drawing in of(stage, folder / family)])
    results = {family: read(stage) for family, read in _FAMILIES.items()}
    shown: dict[str, Any] = {name: {**of_family.page, "all": of_family.all} for name, of_family in results.items()}
    texts = [corpus_facts(stage, path.stem) for path in sorted(stage.reports("corpora").glob("*.json"))]
    tables = [table for of_family in results.values() for table in of_family.all]
    papers = [] if "generated" in {text["origin"] for text in texts} else paper_tables(tables, stage.preset)
    shared = [note for note in notes_of(texts) if all(note in text["notes"] for text in texts)]
    _write_tables(stage.reports("tables"), results, [*papers, *tables], shared, families)
    findings = {
        "How should this text be cut?": shown["compare"]["compared"]["findings"],
        "Where do words end?": summary.word_findings(shown["segmentation"]["corpora"]),
        "Which code should a character have?": summary.code_findings(shown["codes"]["summaries"]),
        "Which character comes next?": summary.exact_findings(shown["exact"]["tables"]),
        "What lies below the byte?": summary.bits_findings(shown["bits"]["lengths"], shown["bits"]["translation"]),
        "Where should patches end?": summary.patch_findings(shown["patches"]["models"]),
        "Do the codes help?": summary.claim_findings(shown["downstream"]["claims"], bool(shown["downstream"]["all"])),
        "How do tokenizers compare?": summary.parity_findings(shown["compare"]["tables"]),
    }
    page = render_page(
        **shown,
        fronts=pictures(stage.reports("figures", "compared")),
        papers=papers,
        preset=stage.preset,
        findings={question: list(found) for question, found in findings.items()},
        texts=texts_table(texts, stage.sections.get("concatenated", {})),
        shared=shared,
        methods=stage.parameters("segmentation.methods", dict[str, Any]),
    )
    write_metrics(stage, whole=not families)
    write_text(stage.reports("index.html"), page)  # Last: its time says that all of the report is written.


def texts_table(texts: Sequence[Mapping[str, Any]], concatenated: Mapping[str, Mapping[str, Any]]) -> Table:
    """What every text is. texts: their facts, as the stages `prepare` and `concatenate` write them."""

    def what(text: Mapping[str, Any]) -> str:
        if text["corpus"] in concatenated:
            parts = concatenated[text["corpus"]]
            return f"{parts['first']}, then {parts['second']}"
        if text["source"] == "builtin":
            return "generated by a grammar over real words"
        return "your own text" if text["source"] is None else load_source(text["source"]).title

    rows = [
        [text["corpus"], what(text), f"{text['sentences']:,}", f"{text['characters']:,}", text["origin"]]
        for text in texts
    ]
    return Table(
        "texts", "The texts", ["text", "what it is", "sentences", "characters", "origin"], rows, notes_of(texts)
    )


def without_others(sections: dict[str, Any], stages: dict[str, Any], shown: list[str]) -> dict[str, Any]:
    """The parameters without the variants of other families: all that their stages loop over is empty."""
    found = {name: {**section} if isinstance(section, dict) else section for name, section in sections.items()}
    for stage in stages.values():  # `foreach: ${segmentation.corpora}`; the texts themselves, `${corpora}`, stay
        family, _, name = str(stage.get("foreach", "")).removeprefix("${").removesuffix("}").partition(".")
        if name in sections.get(family, {}) and stage["do"]["meta"]["tags"][0] not in shown:
            found[family][name] = type(sections[family][name])()
    return found


def render_page(*, shared: Sequence[str], **values: Any) -> str:
    """The page as HTML. shared: notes that stand once, on top."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["mark"] = cell_class
    environment.globals["shared"] = shared
    return _defined_once(environment.get_template("page.html.j2").render(colours=style, rule=NOTE, **values))


def _defined_once(page: str) -> str:
    """The page with the shape of each letter in the first picture that has it: names are the same in all pictures."""
    known: set[str] = set()

    def first(found: re.Match[str]) -> str:
        repeated = found[1] in known
        known.add(found[1])
        return "" if repeated else found[0]

    return _DEFINITION.sub(first, page)


def _write_tables(
    folder: Path,
    results: Mapping[str, Results],
    tables: Sequence[Table],
    shared: Sequence[str],
    families: Sequence[str],
) -> None:
    """Every table as Markdown and CSV; results.txt, which `make repro` prints, has the main ones, results-FAMILY.txt
    those of a family, below the notes that are `shared` by all."""
    with atomic_folder(folder, checked=True) as target:
        for table in tables:
            write_text(target / f"{table.name}.md", table.markdown())
            write_text(target / f"{table.name}.csv", table.csv())
        if families:
            write_text(target / FAMILIES, ",".join(families) + "\n")
        texts = {name: [table.without(shared).text() for table in of.main] for name, of in results.items()}
        above = "".join(f"{note}\n" for note in shared)
        texts[""] = [text for of_family in texts.values() for text in of_family]
        for name, found in texts.items():
            content = "\n".join([above, *found] if above and found else found)
            write_text(target / f"results{'-' * bool(name)}{name}.txt", content)


if __name__ == "__main__":
    run(report)
