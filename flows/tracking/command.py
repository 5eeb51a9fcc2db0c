"""The command that tracks the results of a selection, for the runners."""

import sys

from flows.run.plan import Selection


def tracking_command(selection: Selection) -> list[str]:
    """The command line of `flows.tracking`. Of a part only its own results are tracked: others may be out of date."""
    only = ["--only", selection.only] if selection.only else []
    return [sys.executable, "-m", "flows.tracking", "--preset", selection.preset, *only]
