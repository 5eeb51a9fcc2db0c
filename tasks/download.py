"""Stage `download`: a source of the catalogue, from the mirror (TOKENLAB_MIRROR) or its public address."""

import os
import sys
from pathlib import Path

from tasks.lifeline import die_with_parent
from tokenlab.errors import EXIT_STATUS, TokenlabError, one_line
from tokenlab.text.download import fetch


def main() -> None:
    """Fetch the source that the first argument names into data/raw/SOURCE."""
    die_with_parent()
    source = sys.argv[1]
    try:
        fetch(source, Path("data", "raw", source), mirror=os.environ.get("TOKENLAB_MIRROR") or None)
    except (TokenlabError, OSError) as error:
        print(f"download {source}: {one_line(error)}", file=sys.stderr)
        sys.exit(EXIT_STATUS)


if __name__ == "__main__":
    main()
