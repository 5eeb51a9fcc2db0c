"""`make readme`: put the result tables of the preset `cpu` into the pages that show them, between their markers."""

import re
import sys
from pathlib import Path

from tokenlab.errors import EXIT_STATUS, InputError, TokenlabError, one_line
from tokenlab.files import write_text

_SECTION = re.compile("(<!-- tables (?P<names>[^\n]*?) of `make readme` -->\n).*?(<!-- end of tables -->)", re.DOTALL)
_TABLES = Path("reports/cpu/tables")
_PAGES = (Path("README.md"), Path("docs/entropy-pretokenization.md"), Path("docs/latom.md"))


def main() -> None:
    """Rewrite the sections; nothing else of the pages changes."""
    try:
        for page in _PAGES:
            _fill(page)
    except (TokenlabError, OSError) as error:
        print(f"readme: {one_line(error)}", file=sys.stderr)
        sys.exit(EXIT_STATUS)


def _fill(page: Path) -> None:
    text, sections = _SECTION.subn(_section, page.read_text(encoding="utf-8"))
    if not sections:
        raise InputError(f"{page}: no line `<!-- tables NAMES of `make readme` -->` with its end; put them back")
    write_text(page, text)


def _section(found: re.Match[str]) -> str:
    """The section with the tables that its first line names, a space between them."""
    paths = [_TABLES / f"{name}.md" for name in found["names"].split()]
    if missing := [path for path in paths if not path.exists()]:
        raise InputError(f"{missing[0]}: no such table; run `make repro PRESET=cpu` first")
    shown = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    return f"{found[1]}\n{shown}\n{found[3]}"


if __name__ == "__main__":
    main()
