"""`tokenlab --print-completion SHELL`: what a shell needs to complete commands, flags, choices and file names."""

import argparse
from collections.abc import Iterator
from typing import Any

SHELLS = ("bash", "zsh", "fish")

_OF_FILES = (
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


class PrintCompletion(argparse.Action):
    """Prints the completion for one shell and ends the command."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, shell: Any, flag: str | None = None
    ) -> None:
        import shtab  # needed by nobody else

        for action in _actions(parser):
            if action.nargs != 0 and action.choices is None and _names(action).startswith(_OF_FILES):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
        print(shtab.complete(parser, shell))
        parser.exit()


def _names(action: argparse.Action) -> str:
    """The name of a value in the help, of the first where there are several."""
    metavar = action.metavar[0] if isinstance(action.metavar, tuple) else action.metavar
    return (metavar or action.dest).upper()


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """All arguments of a command and of the commands below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)
        else:
            yield action
