"""DVC as the child process of a runner: `dvc --wait-for-lock COMMAND`, with a line of JSON for each event of a stage.

`python -m flows.run.dvc_child FD repro TARGET ...` writes {"stage": ..., "event": ...} to the file descriptor FD. The
events are `unchanged`, `restored` (from the run cache), `running`, and `failed`, with the exit `status` of the command
where there is one, and `busy` where another DVC held a lock that the stage needs. They come from DVC's log, so DVC's
own output is unchanged.
"""

import json
import logging
import os
import re
import signal
import sys
from typing import Any

from tasks.runtime.parent_death import die_with_parent

_EVENTS = {
    "Stage '%s' didn't change, skipping": "unchanged",
    "Stage '%s' is cached - skipping run, checking out outputs": "restored",
    "Running stage '%s':": "running",
}
_TO_OTHERS = "a run is at work in this folder; start again when it has ended, or let `make repro` wait for it"
"""What DVC shows as the command of this process to another `dvc repro` that finds a path busy."""

_FAILED_STAGE = re.compile(r"failed to reproduce '(.*)'$")
_FAILED_STATUS = re.compile(r", exited with (-?\d+)$")


class _Reporter(logging.Handler):
    """Turns records of DVC's log into events."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(logging.INFO)
        self._descriptor = descriptor

    def emit(self, record: logging.LogRecord) -> None:
        from dvc.lock import LockError

        if record.msg in _EVENTS and isinstance(record.args, tuple):
            self._write({"event": _EVENTS[record.msg], "stage": record.args[0]})
        elif record.exc_info and (failed := _FAILED_STAGE.match(str(error := record.exc_info[1]))):
            cause = error.__cause__ if error else None
            status = _FAILED_STATUS.search(str(cause))
            event = {"event": "failed", "stage": failed[1], "status": int(status[1]) if status else None}
            self._write(event | {"busy": True} if isinstance(cause, LockError) else event)

    def _write(self, event: dict[str, Any]) -> None:
        os.write(self._descriptor, json.dumps(event).encode() + b"\n")


def main() -> int:
    """Run DVC and return its exit status."""
    die_with_parent()
    # Control-C reaches every process of the terminal; only the runner acts on it, and ends this process and its stages.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from dvc.cli import main as dvc

    descriptor, *arguments = sys.argv[1:]
    logging.getLogger("dvc").addHandler(_Reporter(int(descriptor)))
    sys.argv = [_TO_OTHERS]
    return dvc(["--wait-for-lock", *arguments])


if __name__ == "__main__":
    sys.exit(main())
