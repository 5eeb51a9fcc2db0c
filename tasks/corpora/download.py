"""Stages `download`, `bible` and `tables`: a source of the catalogue, from the mirror or its public address.

`python -m tasks.corpora.download SOURCE [FOLDER]`. The default folder is data/raw/SOURCE. The environment variable
TOKENLAB_MIRROR names the mirror folder.
"""

import os
import sys

from tokenlab.core.errors import EXIT_STATUS, TokenlabError, one_line
from tokenlab.core.parent_death import die_with_parent
from tokenlab.sources.fetch import fetch


def main(source: str, folder: str | None = None) -> None:
    """Fetch a source into a folder, and end the process with status 2 where this fails."""
    die_with_parent()
    try:
        fetch(source, folder or f"data/raw/{source}", mirror=os.environ.get("TOKENLAB_MIRROR") or None)
    except (TokenlabError, OSError) as error:
        print(f"download {source}: {one_line(error)}", file=sys.stderr)
        sys.exit(EXIT_STATUS)


if __name__ == "__main__":
    main(*sys.argv[1:])
