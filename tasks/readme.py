"""`make readme`: put the result tables of the preset `cpu` into README.md, between its markers."""

import sys
from pathlib import Path

from tokenlab.errors import EXIT_STATUS, InputError, TokenlabError, one_line
from tokenlab.files import write_text

_START, _END = "<!-- results: written by `make readme` -->\n", "<!-- end of results -->"
_TABLES = Path("reports/cpu/tables")


def main() -> None:
    """Rewrite the section; nothing else of the file changes."""
    try:
        readme = Path("README.md").read_text(encoding="utf-8")
        tables = sorted(_TABLES.glob("*.md"))
        if not tables:
            raise InputError(f"{_TABLES}: no table there; run `make repro PRESET=cpu` first")
        before, start, rest = readme.partition(_START)
        _, end, after = rest.partition(_END)
        if not (start and end):
            raise InputError(f"README.md: the lines {_START.strip()!r} and {_END!r} are gone; put them back")
        shown = "\n".join(path.read_text(encoding="utf-8") for path in tables)
        write_text("README.md", before + start + "\n" + shown + "\n" + end + after)
    except (TokenlabError, OSError) as error:
        print(f"readme: {one_line(error)}", file=sys.stderr)
        sys.exit(EXIT_STATUS)


if __name__ == "__main__":
    main()
