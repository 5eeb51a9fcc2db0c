"""A command that ends with whoever started it: `python -m flows.tied FD COMMAND ...`.

FD is the reading end of a pipe that the starter holds open. When that closes, however the starter ended, the whole
group of processes is killed: servers start helpers of their own, which know nothing of `tasks.lifeline`. It is to be
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
    # The group is asked to end: the command does, and this one after it.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    return child.wait()


if __name__ == "__main__":
    sys.exit(main())
