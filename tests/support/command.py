"""The command `tokenlab` as a user runs it: a process, files, standard streams; or in this process, which is faster."""

import argparse
import io
import sys
from collections.abc import Iterator
from typing import NamedTuple
from unittest import mock

from tokenlab.cli import main

PROGRAM = [sys.executable, "-c", "import sys; from tokenlab.cli import main; sys.exit(main())"]
"""The command in a process of its own."""


class Ended(NamedTuple):
    """What a command printed and said, and its exit status."""

    out: str
    said: str
    status: int


def parsers(
    parser: argparse.ArgumentParser, command: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """A parser and those of the commands and actions below it, each with its words on the command line."""
    yield command, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from parsers(below, (*command, name))


def tokenlab_here(*arguments: object, stdin: str | bytes = b"", status: int = 0, quiet: bool = False) -> str:
    """Run the command in this process; returns what it printed, or its one line of complaint.

    quiet: nothing may stand on standard error where it succeeds.
    """
    ended = ended_here(*arguments, stdin=stdin)
    assert ended.status == status, ended.said
    if status:
        assert ended.out == ""
        assert ended.said.count("\n") == 1, ended.said
        return ended.said
    assert not (quiet and ended.said), ended.said
    return ended.out


def ended_here(*arguments: object, stdin: str | bytes = b"") -> Ended:
    """Run the command in this process, with streams of its own."""
    given = io.TextIOWrapper(io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin))
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
    said = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", newline="")
    with mock.patch.multiple(sys, stdin=given, stdout=printed, stderr=said):
        try:
            status = main([*map(str, arguments)])
        except SystemExit as ended:
            status = ended.code
        printed.flush()
        said.flush()
    return Ended(*(stream.buffer.getvalue().decode() for stream in (printed, said)), status)
