"""The commands of `tokenlab` and their parser."""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from tokenlab.cli import codes, entropy, exact, export, measure, score, segment
from tokenlab.cli import ngram_statistics as statistics
from tokenlab.cli.bits import command as bits
from tokenlab.cli.completion import SHELLS, PrintCompletion
from tokenlab.cli.patches import command as patches
from tokenlab.cli.patches import generate
from tokenlab.core.errors import EXIT_STATUS, InputError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_STATUS, f"{self.prog}: {message}; see `{self.prog} --help`\n")


class _Version(argparse.Action):
    """Looks the version up only where it is asked for: reading package metadata takes time."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"tokenlab {version('tokenlab')}")
        parser.exit()


def command_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = _Parser(prog="tokenlab", description="How should this text be cut?", allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.add_argument(
        "--print-completion",
        action=PrintCompletion,
        choices=SHELLS,
        metavar="SHELL",
        help=f"print the completion for a shell and exit: {', '.join(SHELLS)}",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (segment, export, score, measure, statistics, entropy, codes, bits, exact, patches, generate):
        command.add_parser(commands)
    return parser


def run(arguments: Sequence[str] | None) -> None:
    """Parse the arguments and run the command."""
    options = command_parser().parse_args(arguments)
    if sys.stdout is None:
        raise InputError("standard output is closed; send it somewhere")
    options.run(options)
