"""`make readme`: write tables and the diagram of the pipeline into the pages that show them, and draw README's picture.

A page marks a section by two lines, such as

    <!-- tables segmentation-pku of `make readme` -->
    <!-- end of tables -->
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

from tasks.report.pipeline_diagram import pipeline_diagram
from tasks.runtime.stage import read_json
from tokenlab.core.errors import EXIT_STATUS, InputError, TokenlabError, one_line
from tokenlab.core.files import write_text

_TABLES_SECTION = re.compile(
    "(<!-- tables (?P<names>[^\n]*?) of `make readme` -->\n).*?(<!-- end of tables -->)", re.DOTALL
)
PIPELINE_SECTION = re.compile("(<!-- pipeline of `make readme` -->\n)(.*?)(<!-- end of pipeline -->)", re.DOTALL)
_TABLES = Path("reports/cpu/tables")
_TABLE_PAGES = (Path("README.md"), Path("docs/entropy-pretokenization.md"), Path("docs/latom.md"))
_PIPELINE_PAGE = Path("README.md")
_SENTENCES = Path("reports/sample/segmentation/zh/sentences.json")
_PICTURE = Path("docs/sentence")
_SHOWN = {
    "bpe": "BPE",
    "bpe-punctuation": "BPE, punctuation split off",
    "literal-4": "PMI + entropy, as in the paper",
    "gpt2-rise": "GPT-2's entropy",
    "default": "default",
    "combined": "default + GPT-2's entropy",
}
"""Configurations of the picture, and their labels."""


def main() -> None:
    """Rewrite the sections and the picture; the rest of the pages stays."""
    try:
        for page in _TABLE_PAGES:
            _rewrite(page, _TABLES_SECTION, _tables)
        _rewrite(_PIPELINE_PAGE, PIPELINE_SECTION, lambda found: f"{found[1]}{diagram_section(Path())}{found[3]}")
        _draw_picture()
    except (TokenlabError, OSError) as error:
        print(f"readme: {one_line(error)}", file=sys.stderr)
        sys.exit(EXIT_STATUS)


def diagram_section(root: Path) -> str:
    """What stands between the two lines of the pipeline's section."""
    return f"\n```mermaid\n{pipeline_diagram(root)}```\n\n"


def _rewrite(page: Path, section: re.Pattern[str], replace: Callable[[re.Match[str]], str]) -> None:
    text, found = section.subn(replace, page.read_text(encoding="utf-8"))
    if not found:
        raise InputError(f"{page}: the lines that mark a section of `make readme` are missing; restore them from git")
    write_text(page, text)


def _tables(found: re.Match[str]) -> str:
    """The section with the tables that its first line names."""
    paths = [_TABLES / f"{name}.md" for name in found["names"].split()]
    if missing := [path for path in paths if not path.exists()]:
        raise InputError(f"{missing[0]}: no such table; run `make repro PRESET=cpu` first")
    shown = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    return f"{found[1]}\n{shown}\n{found[3]}"


def _draw_picture() -> None:
    from tasks.report.figures.sentence_picture import draw_sentence

    if not _SENTENCES.exists():
        raise InputError(f"{_SENTENCES}: no such file; run `make repro` first")
    example = read_json(_SENTENCES)["example"]
    draw_sentence({label: example[name] for name, label in _SHOWN.items()}, example["gold"], _PICTURE)


if __name__ == "__main__":
    main()
