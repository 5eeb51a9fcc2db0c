"""The `tokenlab` command: one method on one text, without the pipeline.

Every command reads files or standard input (`-`) and writes its result to standard output. Errors in input or options
end it with status 2 and one line on standard error.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from tokenlab.cli import codes, entropy, export, measure, score, segment
from tokenlab.cli import ngram_statistics as statistics
from tokenlab.cli.bits import command as bits
from tokenlab.cli.exact import command as exact
from tokenlab.cli.patches import command as patches
from tokenlab.cli.patches import generate
from tokenlab.core.errors import EXIT_STATUS, TokenlabError, one_line


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_STATUS, f"{self.prog}: {message}; see `{self.prog} --help`\n")


class _Version(argparse.Action):
    """Looks the version up only where it is asked for: reading package metadata takes time."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"tokenlab {version('tokenlab')}")
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `tokenlab ... | head` ends quietly
    parser = _Parser(prog="tokenlab", description="How should this text be cut?", allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (segment, export, score, measure, statistics, entropy, codes, bits, exact, patches, generate):
        command.add_parser(commands)
    options = parser.parse_args(arguments)
    if sys.stdout is None:
        print("tokenlab: standard output is closed; send it somewhere", file=sys.stderr)
        return EXIT_STATUS
    try:
        options.run(options)
        sys.stdout.flush()
    except (TokenlabError, OSError, MemoryError) as error:
        print(f"tokenlab: {one_line(error)}", file=sys.stderr)
        return EXIT_STATUS
    except KeyboardInterrupt:
        return 130
    return 0
