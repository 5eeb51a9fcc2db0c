"""The commands of `tokenlab`, their parser, and their completion in a shell."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from tokenlab.cli import (
    bits,
    codes,
    compare,
    entropy,
    exact,
    export,
    generate,
    measure,
    ngram_statistics,
    patches,
    score,
    segment,
    train,
)
from tokenlab.core.errors import EXIT_STATUS, InputError

SHELLS = ("bash", "zsh", "fish")
_COMMANDS = (
    segment,
    export,
    train,
    score,
    measure,
    compare,
    ngram_statistics,
    entropy,
    codes,
    bits,
    exact,
    patches,
    generate,
)
_FILES = (
    "CODE",
    "ENTROPIES",
    "FILE",
    "FOLDER",
    "GOLD",
    "INPUT",
    "LIST",
    "PATCHES",
    "PLACE",
    "PREDICTED",
    "TEXT",
    "TOKENIZER",
)
"""What the metavar of an argument that is a file or a folder begins with."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_STATUS, f"{self.prog}: {message}; see `{self.prog} --help`\n")


class _Version(argparse.Action):
    """Looks the version up only where it is asked for: reading package metadata takes time."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"tokenlab {version('tokenlab')}")
        parser.exit()


class _Completion(argparse.Action):
    """Prints what a shell needs to complete commands, flags, choices and names of files."""

    def __call__(self, parser: argparse.ArgumentParser, options: Any, shell: Any, flag: str | None = None) -> None:
        import shtab  # needed by nobody else

        for action in _arguments(parser):
            metavar = action.metavar[0] if isinstance(action.metavar, tuple) else action.metavar
            if action.nargs != 0 and action.choices is None and (metavar or action.dest).upper().startswith(_FILES):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
        print(shtab.complete(parser, shell))
        parser.exit()


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """All arguments of a command and of the commands below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _arguments(below)
        else:
            yield action


def run(arguments: Sequence[str] | None) -> None:
    """Parse the arguments and run the command."""
    parser = _Parser(prog="tokenlab", description="How should this text be cut?", allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.add_argument(
        "--print-completion",
        action=_Completion,
        choices=SHELLS,
        metavar="SHELL",
        help=f"print the completion for a shell and exit: {', '.join(SHELLS)}",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(commands)
    options = parser.parse_args(arguments)
    if sys.stdout is None:
        raise InputError("standard output is closed; send it somewhere")
    options.run(options)
