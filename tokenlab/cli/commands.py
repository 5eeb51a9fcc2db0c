"""The commands of `tokenlab`, their parser, and their completion in a shell."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from tokenlab.core.errors import EXIT_STATUS, InputError

SHELLS = ("bash", "zsh", "fish")
_MODULES = (
    "segment", "export", "train", "score", "measure", "compare", "ngram_statistics", "entropy", "codes", "bits",
    "exact", "patches", "generate",
)  # fmt: skip
"""Of this package, in the order of the help; each has a function `add_parser`."""
_ALIKE = 0.75
"""How alike an option must be to one that is not known, of at most 1, to be the one that was meant."""
_FILES = ("CODE", "FILE", "FOLDER", "GOLD", "INPUT", "LIST", "PATCHES", "PLACE", "PREDICTED", "TEXT", "TOKENIZER")
"""Beginnings of the metavars of files and folders."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        said = " ".join(message.split())  # It may repeat an argument of several lines.
        self.exit(EXIT_STATUS, f"{self.prog}: {said}; see `{self.prog} --help`\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown arguments here: the message then names the command itself and not the one above it."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            flag = unknown[0].partition("=")[0]
            meant = get_close_matches(flag, self._option_string_actions, 1, _ALIKE) if flag.startswith("--") else []
            hint = f"; did you mean {meant[0]}?" if meant else ""
            if not hint and Path(unknown[0]).exists():
                several = any(action.nargs in ("*", "+") for action in self._get_positional_actions())
                hint = "; files go before the options" if several else "; the command takes no more files"
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found, unknown

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Refuse `--option=--`, of which argparse before Python 3.13 makes an empty list, and an INPUT that an option
        with several numbers has taken."""
        if action.option_strings and arg_strings == ["--"]:
            self.error(f"argument {'/'.join(action.option_strings)}: expected a value, not --")
        try:
            return super()._get_values(action, arg_strings)
        except argparse.ArgumentError as error:
            if action.nargs != "*":
                raise
            taken = [name for name in arg_strings if Path(name).exists()]
            self.error(f"{error}; it takes numbers, " + ("and INPUT goes before the options" if taken else "as 8000"))


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

        for action in arguments_of(parser):
            metavar = action.metavar[0] if isinstance(action.metavar, tuple) else action.metavar
            if action.nargs != 0 and action.choices is None and (metavar or action.dest).upper().startswith(_FILES):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
        print(shtab.complete(parser, shell))
        parser.exit()


def arguments_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """All arguments of a command and of the commands below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from arguments_of(below)
        else:
            yield action


def run(arguments: Sequence[str] | None) -> None:
    """Parse the arguments and run the command."""
    parser = command_parser()
    options = parser.parse_args(arguments)
    if not hasattr(options, "run"):
        parser.error("a command is missing")
    if arguments is None:  # The process ends with the command.
        os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # Its warnings are advice to programmers.
    if sys.stdout is None:
        raise InputError("standard output is closed; send it somewhere")
    options.run(options)


def command_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    what = (
        "Cut text for language models: find words without a dictionary, train tokenizers, measure and compare them. "
        "`tokenlab COMMAND --help` explains a command."
    )
    parser = _Parser(prog="tokenlab", description=what, allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    shells = f"print the completion for a shell and exit: {', '.join(SHELLS)}"
    parser.add_argument("--print-completion", action=_Completion, choices=SHELLS, metavar="SHELL", help=shells)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in _MODULES:
        import_module(f"tokenlab.cli.{name}").add_parser(commands)
    return parser
