"""A text on the command line, and characters and numbers as the commands print them."""

import argparse
import os
from math import isfinite, log

from tokenlab.core.errors import InputError, ParameterError


def add_text(parser: argparse.ArgumentParser, name: str) -> None:
    """Add a text as an argument, in a file, or as hexadecimal bytes."""
    parser.add_argument("text", metavar=name, nargs="?", help=f"the {name.lower()}; '' is the empty one")
    parser.add_argument(
        "--file",
        metavar="FILE",
        help=f"read the {name.lower()} from a file, as it is, line ends included; `-` is stdin",
    )
    parser.add_argument(
        "--bytes",
        action="store_true",
        help=f"{name} is hexadecimal digits of UTF-8, which may end inside a character: E4BD is the beginning of 你",
    )


def given_text(options: argparse.Namespace, name: str) -> bytes:
    """The text in UTF-8; its last character may be incomplete.

    Raises ParameterError for none or two texts and for digits that are not hexadecimal, InputError for a text that is
    not UTF-8 or a file that cannot be read.
    """
    if (options.text is None) == (options.file is None):
        raise ParameterError(f"give one text: {name}, or --file FILE")
    if options.file is not None:
        if options.bytes:
            raise ParameterError("--bytes has no meaning with --file; leave it out")
        from tokenlab.text.lines import read_blocks

        return _checked(b"".join(read_blocks(options.file)), "standard input" if options.file == "-" else options.file)
    if options.bytes:
        try:
            return _checked(bytes.fromhex(options.text), name)
        except ValueError:
            raise ParameterError(f"--bytes: {options.text!r} is no hexadecimal number of bytes, such as E4BD") from None
    try:
        return _checked(os.fsencode(options.text), name)  # Bytes that are not UTF-8 come as surrogates.
    except UnicodeEncodeError as error:
        raise InputError(f"{name}: a lone surrogate at character {error.start + 1}; remove or replace it") from None


def _checked(text: bytes, name: str) -> bytes:
    from tokenlab.exact.utf8 import open_character

    try:
        open_character(text)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    return text


def readable(text: bytes) -> str:
    """A text for JSON; bytes of an incomplete character as the escapes that Python prints."""
    return text.decode(errors="backslashreplace")


def shown_character(character: str) -> str:
    """A character as a table shows it: a space as ␣, other whitespace and controls escaped."""
    from tokenlab.codes.table import visible

    return visible(character)


def shown_text(text: str) -> str:
    """A text on one line: whitespace but the space, and controls, escaped."""
    from tokenlab.codes.interface import shown

    return "".join(character if character == " " else shown(character) for character in text)


def bits(nats: float) -> float:
    """Bits of so many nats."""
    return nats / log(2)


def number(value: float) -> float | None:
    """A number for JSON, which has neither NaN nor infinity."""
    return value if isfinite(value) else None


def shown_number(value: float, places: int = 4) -> str:
    """A number with so many decimal places, inf, -inf or undefined."""
    return "undefined" if value != value else f"{value:.{places}f}"
