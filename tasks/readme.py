"""`make readme`: put the result tables of the preset `cpu` into the pages that show them, between their markers."""

import sys
from pathlib import Path

from tokenlab.errors import EXIT_STATUS, InputError, TokenlabError, one_line
from tokenlab.files import write_text

_START, _END = "<!-- results: written by `make readme` -->\n", "<!-- end of results -->"
_TABLES = Path("reports/cpu/tables")
_PAGES = {Path("README.md"): "segmentation-*.md", Path("docs/entropy-pretokenization.md"): "segmentation-*.md"}


def main() -> None:
    """Rewrite the sections; nothing else of the pages changes."""
    try:
        for page, pattern in _PAGES.items():
            _fill(page, sorted(_TABLES.glob(pattern), key=lambda path: path.stem))
    except (TokenlabError, OSError) as error:
        print(f"readme: {one_line(error)}", file=sys.stderr)
        sys.exit(EXIT_STATUS)


def _fill(page: Path, tables: list[Path]) -> None:
    if not tables:
        raise InputError(f"{_TABLES}: no table for {page} there; run `make repro PRESET=cpu` first")
    before, start, rest = page.read_text(encoding="utf-8").partition(_START)
    _, end, after = rest.partition(_END)
    if not (start and end):
        raise InputError(f"{page}: the lines {_START.strip()!r} and {_END!r} are not there; put them back")
    shown = "\n".join(path.read_text(encoding="utf-8") for path in tables)
    write_text(page, before + start + "\n" + shown + "\n" + end + after)


if __name__ == "__main__":
    main()
