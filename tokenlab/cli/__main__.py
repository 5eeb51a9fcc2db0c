"""`python -m tokenlab.cli`: the `tokenlab` command."""

import sys

from tokenlab.cli import main

if __name__ == "__main__":
    sys.exit(main())
