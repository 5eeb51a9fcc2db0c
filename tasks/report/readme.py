"""`make readme`: keep the tables of the presets in git, write them and the diagram of the pipeline into the pages that
show them, draw README's picture, and run its examples.

Tables in reports/ are outputs, which git ignores: a run on one's own text leaves no change in git. docs/tables/ has
those of the presets as they are shipped.

A page marks a section by two lines, such as

    <!-- tables segmentation-pku answer/patch-models of `make readme` -->
    <!-- end of tables -->

Tables are those of the preset `cpu` where none is named. The section `examples` has commands after `$ `, each with
what it prints.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import networkx

from tasks.report.page import FAMILIES
from tasks.report.segmentation import draw_sentence
from tasks.report.table import NOTE_LINE, Table, read_markdown
from tasks.runtime.stage import read_json
from tokenlab.core.errors import InputError, ending_in_one_line
from tokenlab.core.files import atomic_folder, write_text
from tokenlab.text.store import read_corpus

_TABLES_SECTION = re.compile(
    "(<!-- tables (?P<names>[^\n]*?) of `make readme` -->\n).*?(<!-- end of tables -->)", re.DOTALL
)
PIPELINE_SECTION, EXAMPLES_SECTION, _PICTURE_SECTION = (
    re.compile(f"(<!-- {name} of `make readme` -->\n)(.*?)(<!-- end of {name} -->)", re.DOTALL)
    for name in ("pipeline", "examples", "picture")
)
_NODE, _ARROW = re.compile(r'(node\d+)\["(.+)"\]'), re.compile(r"(node\d+)-->(node\d+)")
KEPT_TABLES = {preset: Path("docs", "tables", preset) for preset in ("sample", "news", "cpu", "answer")}
"""Preset -> the folder of its tables in git."""

_TABLES = KEPT_TABLES["cpu"]
_RESULTS = "results.txt"
_PIPELINE_PAGE, _FRONT = Path("docs/pipeline.md"), Path("README.md")
_WITH_TABLES = (
    "entropy-pretokenization",
    "word-model",
    "export",
    "latom",
    "downstream",
    "exact",
    "bits",
    "patches",
    "compare",
)
_TABLE_PAGES = (_FRONT, *(Path("docs", f"{name}.md") for name in _WITH_TABLES))
_FIGURES = {
    "segmentation": "segmentation/pku/lambda.svg",
    "codes": "codes/english/held-out.svg",
    "exact": "exact/markov/third-order-seed3.svg",
    "bits": "bits/savings.svg",
    "patches": "patches/lengths.svg",
}
"""Family -> its main figure among those of `cpu`."""
_SENTENCES = Path("reports/sample/segmentation/zh/sentences.json")
_PICTURE = Path("docs/sentence")
_BUILTIN = Path("data/raw/builtin")
_OVERVIEW, _SUMMARY = "overview", "segmentation-pku-summary"
_OTHER_TEXTS = {"Thai": "own-text-thai", "Japanese": "own-text-japanese"}
"""Columns of the overview, and the tables with their figures."""
_LEFT_OUT = ("paper: ", "SIGHAN 2005 ")
"""How notes begin that README does not need: about a column that the overview has not, and terms that its end has."""


@ending_in_one_line("readme")
def main() -> None:
    """Rewrite the sections and the picture; the rest of the pages stays."""
    for preset, folder in KEPT_TABLES.items():
        keep_tables(Path("reports", preset, "tables"), folder)
    _keep_figures(Path("docs/figures"))
    for page in _TABLE_PAGES:
        _rewrite(page, _TABLES_SECTION, _tables)
    _rewrite(_PIPELINE_PAGE, PIPELINE_SECTION, _pipeline)
    draw_sentence(_example(), _PICTURE, ["svg"])
    _rewrite(_FRONT, _PICTURE_SECTION, _caption)
    _rewrite(_FRONT, EXAMPLES_SECTION, _examples)


def tables_to_keep(folder: Path) -> dict[str, bytes]:
    """Name -> content of the tables among the files of a report."""
    kept = (path for path in sorted(folder.iterdir()) if path.suffix in (".md", ".csv") or path.name == _RESULTS)
    return {path.name: path.read_bytes() for path in kept}


def keep_tables(made: Path, kept: Path) -> None:
    """Replace the tables in git by those of the last run, where there was one; a run of some families leaves the tables
    of the others, and has no results.txt of all."""
    if made.exists():
        tables = tables_to_keep(made)
        if (made / FAMILIES).exists():
            tables = tables_to_keep(kept) | {name: tables[name] for name in tables if name != _RESULTS}
        with atomic_folder(kept) as folder:
            for name, content in tables.items():
                (folder / name).write_bytes(content)


def _keep_figures(kept: Path) -> None:
    """Copy the main figures of `cpu`, and the comparisons of `answer`, to the pages, where the last run drew them."""
    figures = {family: Path("reports/cpu/figures", figure) for family, figure in _FIGURES.items()}
    figures |= {f"compared-{path.stem}": path for path in Path("reports/answer/figures/compared").glob("*.svg")}
    for name, made in figures.items():
        if made.exists():
            write_text(kept / f"{name}.svg", made.read_text(encoding="utf-8"))


def pipeline_diagram(root: Path) -> str:
    """The pipeline of all presets by `dvc dag`, as Mermaid text, which GitHub draws: variants of a stage are one node,
    and arrows that follow from others are left out."""
    command = [sys.executable, "-m", "dvc", "dag", "--mermaid", "--collapse-foreach-matrix"]
    with tempfile.TemporaryDirectory() as folder:  # where every preset is in use
        for parameters in (root / "params.yaml", root / "data/raw/params.yaml", *root.glob("presets/*/params.yaml")):
            pipeline = parameters.with_name("dvc.yaml")
            target = Path(folder, parameters.relative_to(root))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(parameters, target)
            shutil.copy(pipeline if pipeline.exists() else root / "dvc.yaml", target.with_name("dvc.yaml"))
        write_text(Path(folder, ".dvc", "config"), "[core]\n    no_scm = true\n")
        drawn = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    names = {node: address.rpartition(":")[2] for node, address in _NODE.findall(drawn)}
    arrows = {(names[one], names[other]) for one, other in _ARROW.findall(drawn)}
    graph = networkx.transitive_reduction(networkx.DiGraph((one, other) for one, other in arrows if one != other))
    before = {name: sorted(graph.predecessors(name)) for name in networkx.lexicographical_topological_sort(graph)}
    return "\n".join(["flowchart LR", *(f"  {' & '.join(of)} --> {name}" for name, of in before.items() if of)]) + "\n"


def _rewrite(page: Path, section: re.Pattern[str], replace: Callable[[re.Match[str]], str]) -> None:
    text, found = section.subn(replace, page.read_text(encoding="utf-8"))
    if not found:
        raise InputError(f"{page}: the lines that mark a section of `make readme` are missing; restore them from git")
    write_text(page, text)


def _pipeline(found: re.Match[str]) -> str:
    """The section with the diagram."""
    return f"{found[1]}\n```mermaid\n{pipeline_diagram(Path())}```\n\n{found[3]}"


def _tables(found: re.Match[str]) -> str:
    """The section with the tables that its first line names; notes that several tables share stand once, at its end."""
    tables = [_shown(name).splitlines() for name in found["names"].split()]
    counts = Counter(line.strip() for table in tables for line in table if NOTE_LINE.match(line))
    shared = [note for note, count in counts.items() if count > 1]
    parts = [[line for line in table if line.strip() not in shared] for table in tables]
    if shared:
        parts.append(["Notes of several of these tables:", "", *(f"{note}  " for note in shared)])
    return "\n".join([found[1], *("\n".join(part).rstrip() + "\n" for part in parts), found[3]])


def _shown(name: str) -> str:
    """A table that the first line of a section names."""
    if name == _OVERVIEW:
        return overview_table().markdown()
    return _read((_TABLES.parent if "/" in name else _TABLES) / f"{name}.md")


def overview_table() -> Table:
    """README's table: word F1 of what each method cuts, on PKU, and on other languages from their text alone.

    BPE cuts text into its tokens, so its row has their scores.
    """
    summary, *texts = (read_markdown(_read(_TABLES / f"{name}.md")) for name in (_SUMMARY, *_OTHER_TEXTS.values()))
    sizes = [heading.removeprefix("segments, ") for heading in summary.header if heading.startswith("segments, ")]
    others = [{row["method"]: row["F1"] for row in table.records} for table in texts]
    rows = []
    for row in summary.records:
        kind = "BPE" if row["method"].startswith("BPE") else "segments"
        of_sizes = [row[f"{kind}, {size}"] for size in sizes]
        method = row["method"].partition(":")[0]
        rows.append([row["method"], *of_sizes, *(other.get(method, "") for other in others)])
    header = ["method", *(f"Chinese, {size} sentences" for size in sizes), *_OTHER_TEXTS]
    every = dict.fromkeys(note for table in (summary, *texts) for note in table.notes)
    notes = [note for note in every if not note.startswith(_LEFT_OUT)]
    return Table(_OVERVIEW, "Word F1 in per cent of what each method cuts", header, rows, ["; ".join(notes)])


def _read(path: Path) -> str:
    if not path.exists():
        raise InputError(f"{path}: no such table; run `make repro PRESET={path.parent.name}` first")
    return path.read_text(encoding="utf-8")


def _caption(found: re.Match[str]) -> str:
    """The section with the picture, and what its sentence says in English."""
    chinese = "".join(_example()["gold"])
    place = next((document.id for document in read_corpus(_BUILTIN / "zh") if document.text == chinese), None)
    if place is None:
        raise InputError(f"{_SENTENCES}: its example is no sentence of {_BUILTIN / 'zh'}; run `make repro` first")
    english = next(document.text for document in read_corpus(_BUILTIN / "en") if document.id == place)
    caption = f"“{english}” in Chinese, cut in several ways; filled boxes are words of the language. Generated text."
    return f"{found[1]}![A Chinese sentence, cut in several ways]({_PICTURE}.svg)\n\n*{caption}*\n{found[3]}"


def _examples(found: re.Match[str]) -> str:
    """The section with its commands, and what they print now."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    lines = ["```console"]
    for command in re.findall(r"^\$ (.*)$", found[2], re.MULTILINE):
        done = subprocess.run(command, shell=True, capture_output=True, text=True, env=os.environ | {"PATH": path})
        if done.returncode:
            raise InputError(f"{_FRONT}: `{command}` ended with {done.returncode}: {done.stderr.strip()}")
        lines += [f"$ {command}", *done.stdout.expandtabs().splitlines()]
    return "\n".join([found[1].rstrip(), *lines, "```", found[3]])


def _example() -> dict[str, list[str]]:
    """A sentence as each configuration cuts it."""
    if not _SENTENCES.exists():
        raise InputError(f"{_SENTENCES}: no such file; run `make repro` first")
    found: dict[str, list[str]] = read_json(_SENTENCES)["example"]
    return found


if __name__ == "__main__":
    main()
