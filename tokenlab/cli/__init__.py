"""The `tokenlab` command: one method on one text, without the pipeline.

Every command reads files or standard input (`-`) and writes its result to standard output. Errors in input or options
end it with status 2 and one line on standard error.
"""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status.

    Args:
        arguments: those of the process by default, which the command then ends.
    """
    try:
        from tokenlab.cli.ending import ended_well
    except KeyboardInterrupt:  # That module catches it from now on.
        print("tokenlab: interrupted", file=sys.stderr)
        return 130

    def command() -> None:
        # Imported here, where Ctrl-C is one line already.
        from tokenlab.cli.commands import run

        run(arguments)

    return ended_well(command, whole_process=arguments is None)
