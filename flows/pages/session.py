"""`python -m flows.pages.session FD COMMAND ...`: run a command in a session that ends with the starting process.

FD is the reading end of a pipe that the starting process holds open. When the pipe closes, however that process ended,
the whole session is killed: servers start helper processes that do not use `tasks.runtime.parent_death`. It must be
started as the leader of a new session.
"""

import os
import signal
import subprocess
import sys
import threading


def main() -> int:
    """Run the command and return its exit status."""

    def follow() -> None:
        os.read(int(sys.argv[1]), 1)
        os.killpg(0, signal.SIGKILL)

    child = subprocess.Popen(sys.argv[2:])
    threading.Thread(target=follow, daemon=True).start()
    # SIGTERM goes to the whole group: the command ends by it, and this process after the command.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    return child.wait()


if __name__ == "__main__":
    sys.exit(main())
