"""`--known` of `tokenlab bits`: the characters that are single tokens."""

import argparse

from tokenlab.core.errors import ParameterError


def add_known(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--known",
        metavar="FILE",
        help="UTF-8 text; every character in it but line ends is a single token, spaces too (default: all characters "
        "fall back to bytes)",
    )


def known_characters(options: argparse.Namespace) -> str:
    """The characters of `--known` in the order of their code points; none without it.

    Raises InputError for a file that cannot be read or is not UTF-8, ParameterError where it is the input, too.
    """
    from tokenlab.text.lines import read_lines

    if options.known is None:
        return ""
    if options.known == "-" == options.input:
        raise ParameterError("standard input cannot be both INPUT and --known; name a file for one of them")
    found: set[str] = set()
    for line in read_lines(options.known):
        found.update(line)
    return "".join(sorted(found))
