"""DVC as the child process of a runner: `python -m flows.run.dvc_child COMMAND...` is `dvc --wait-for-lock COMMAND...`.

Its exit status tells more than DVC's: that of the stage's own command where one failed (128 + number where a signal
ended it), and `BUSY` where another DVC works on the same paths; DVC gives up at these at once, whatever its flag says.
"""

import logging
import re
import signal
import sys

from tokenlab.core.parent_death import die_with_parent

BUSY = 75
"""EX_TEMPFAIL: try again later."""

_TO_OTHERS = "a run is at work in this folder; start again when it has ended, or let `make repro` wait for it"
"""What DVC shows as the command of this process to another `dvc repro` that finds a path busy."""

_FAILED_STATUS = re.compile(r", exited with (-?\d+)$")


class _Failure(logging.Filter):
    """Reads the exit status from DVC's error, and keeps its advice to remove a lock by hand from the log."""

    status: int | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        from dvc.lock import LockError

        error = record.exc_info[1] if record.exc_info else None
        cause = error.__cause__ if error else None
        if isinstance(cause, LockError):
            self.status = BUSY
            return False
        if failed := _FAILED_STATUS.search(str(cause)):
            status = int(failed[1])
            self.status = 1 if status == BUSY else status if status > 0 else 128 - status
        return True


def main() -> int:
    """Run DVC and return the exit status."""
    die_with_parent()
    # Control-C reaches every process of the terminal; only the runner acts on it, and ends this process and its stages.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from dvc.cli import main as dvc
    from dvc.utils.serialize import _yaml

    # A lock has no comments to keep, and DVC's parser for files that have some takes five times as long: half a second
    # to two, each time that a stage ends.
    _yaml.parse_yaml_for_update = _yaml.parse_yaml
    failure = _Failure()
    logging.getLogger("dvc.cli").addFilter(failure)
    arguments, sys.argv = sys.argv[1:], [_TO_OTHERS]
    status = dvc(["--wait-for-lock", *arguments])
    return status if status == 0 or failure.status is None else failure.status


if __name__ == "__main__":
    sys.exit(main())
