"""Stage `download`: a source of the catalogue, from the mirror (TOKENLAB_MIRROR) or its public address."""

import os
import sys
from pathlib import Path

from tasks.lifeline import die_with_parent
from tokenlab.errors import EXIT_STATUS, TokenlabError, one_line
from tokenlab.text.download import fetch


def main() -> None:
    """Fetch the source that the first argument names into the folder of the second, or data/raw/SOURCE."""
    die_with_parent()
    source = sys.argv[1]
    folder = sys.argv[2] if len(sys.argv) > 2 else Path("data", "raw", source)
    try:
        fetch(source, folder, mirror=os.environ.get("TOKENLAB_MIRROR") or None)
    except (TokenlabError, OSError) as error:
        print(f"download {source}: {one_line(error)}", file=sys.stderr)
        sys.exit(EXIT_STATUS)


if __name__ == "__main__":
    main()
