"""The command `tokenlab` as a user runs it: a process, files, standard streams."""

import subprocess
import sys


def tokenlab(*arguments: object, stdin: str | bytes = b"", status: int = 0) -> str:
    """Run the command; returns what it printed, or its one line of complaint."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from tokenlab.cli import main; sys.exit(main())", *map(str, arguments)],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
    )
    assert done.returncode == status, done.stderr.decode()
    if status:
        assert done.stdout == b""
        assert done.stderr.decode().count("\n") == 1
        return done.stderr.decode()
    return done.stdout.decode()
