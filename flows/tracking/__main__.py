"""`python -m flows.tracking [--preset NAME] [--only TAG]`, which is `make track`: bring MLflow up to date.

`make repro` and the flow run it after their work. The store is the folder `.mlflow` (`flows.tracking.store`).
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from flows.run.presets import DEFAULT_PRESET
from flows.run.repro import Interrupted, signals_raise
from flows.tracking.synchronise import track
from tasks.runtime.parent_death import die_with_parent
from tasks.views import VIEWS, View
from tokenlab.core.errors import EXIT_STATUS, TokenlabError, one_line


def main(arguments: list[str] | None = None, views: Sequence[View] = VIEWS) -> int:
    """Run the command and return its exit status: 0, or 2 for an error that the user can correct."""
    parser = argparse.ArgumentParser(prog="python -m flows.tracking", description="Bring MLflow up to date.")
    parser.add_argument("--preset", default=DEFAULT_PRESET, help="sample (default), or a folder of presets/")
    parser.add_argument("--only", metavar="TAG", help="only the results of stages with this tag in dvc.yaml")
    options = parser.parse_args(arguments)
    die_with_parent()
    try:
        with signals_raise():
            line = track(Path.cwd().resolve(), options.preset, options.only, views)
        if line:
            print(line)
    except (TokenlabError, OSError) as error:
        print(f"tracking: {one_line(error)}", file=sys.stderr)
        return EXIT_STATUS
    except Interrupted as interruption:
        print(f"tracking: ended by {interruption}; `make track` continues", file=sys.stderr)
        return 128 + interruption.number
    return 0


if __name__ == "__main__":
    sys.exit(main())
