"""`tokenlab bits`: bit-level codes of text, and what they save."""

import argparse

from tokenlab.cli.bits import coding, measuring

_DESCRIPTION = (
    "Bit-level codes, below the byte: neighbouring three-byte characters of UTF-8 share their first six bits as one "
    "prefix, and the others are two payloads of nine bits each."
)


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "bits",
        help="bit-level codes: encode, decode, measure what they save",
        description=_DESCRIPTION,
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for action in (coding, measuring):
        action.add_parser(actions)
