"""`tokenlab codes`: learn a character code, encode and decode with it, check atoms, show it (Latom)."""

import argparse
import sys
from typing import TYPE_CHECKING

from tokenlab.cli.codes import apply, learn
from tokenlab.cli.inputs.corpus import add_corpus, add_json
from tokenlab.cli.output import check_output, written
from tokenlab.core.errors import InputError, ParameterError

if TYPE_CHECKING:
    from tokenlab.codes.baselines import ComponentCode
    from tokenlab.codes.interface import Code
    from tokenlab.codes.myte import MyteCode

_COLLAPSE = "Each run of whitespace in a sequence becomes one space, and is removed at its ends"


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "codes",
        help="learn a character code; encode and decode with it",
        description="Codes that write every character as a few atoms: learned (latom), random, or from tables.",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_learn(actions)
    _add_encode(actions)
    _add_decode(actions)
    _add_check(actions)
    _add_show(actions)


def _add_learn(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = actions.add_parser(
        "learn",
        help="learn a code from a text",
        description=f"Learn a code from a text and write it as JSON.\n{_COLLAPSE}.",
        epilog=learn.PRINTED,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_corpus(parser, "sequence")
    learn.add_code_options(parser)
    parser.set_defaults(run=learn.learn)


def _add_encode(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = actions.add_parser(
        "encode",
        help="print the atoms of a text",
        description=f"Print the atoms of every sequence on a line of its own, a space between them. {_COLLAPSE}, as in "
        "learning. Blank lines stay. Atoms are a3, b17, ... of learned and random codes, two hexadecimal digits "
        "of bytes and MYTE, the characters or components themselves of the others, whitespace and controls as \\uXXXX.",
        allow_abbrev=False,
    )
    add_corpus(parser, "sequence", optional=True)
    _add_code(parser)
    parser.add_argument(
        "--unknown",
        choices=["error", "byte", "skip"],
        help="characters missing from the code: an error (default), their bytes as <0xE8>, or nothing",
    )
    parser.set_defaults(run=apply.encode)


def _add_decode(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = actions.add_parser(
        "decode",
        help="print the text of atoms",
        description="Print the text of every line of atoms, as `encode` prints them, on a line of its own.",
        allow_abbrev=False,
    )
    _add_atoms(parser)
    parser.set_defaults(run=apply.decode)


def _add_check(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = actions.add_parser(
        "check",
        help="find lines of atoms that are not encoded text",
        description="Print for every line that is not encoded text its number, the first wrong token, the kind of "
        "violation (foreign, digit, unassigned, truncated, bytes) and an explanation, separated by tabs; exit with 1 "
        "if there is any. Otherwise print the numbers of lines and atoms.",
        allow_abbrev=False,
    )
    _add_atoms(parser)
    add_json(parser, "a JSON object for each violation, or one with the counts")
    parser.set_defaults(run=apply.check)


def _add_show(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = actions.add_parser(
        "show",
        help="print a code; a codebook as a table",
        description="Print a code. A codebook is printed as a table: columns for the last digit, rows for the digits "
        "before it, similar atoms next to each other, a space as ␣.",
        allow_abbrev=False,
    )
    parser.add_argument("code", metavar="CODE.json", help="what `tokenlab codes learn` wrote")
    parser.add_argument("--html", metavar="FILE", help="write the table there as a page of HTML, and print nothing")
    parser.set_defaults(run=_show)


def _add_code(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--code", required=True, metavar="CODE.json", help="what `tokenlab codes learn` wrote")


def _add_atoms(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input", nargs="?", default="-", metavar="INPUT", help="lines of atoms; default: standard input"
    )
    _add_code(parser)


def _show(options: argparse.Namespace) -> None:
    from tokenlab.codes.codebook import Codebook
    from tokenlab.codes.registry import read_code
    from tokenlab.codes.table import codebook_page
    from tokenlab.core.files import write_text

    code = read_code(options.code)
    try:
        if options.html is None:
            sys.stdout.buffer.write(_shown_code(code).encode())
            return
        if not isinstance(code, Codebook):
            raise ParameterError(f"--html: the code `{code.kind}` is no codebook and has no table; leave it out")
        check_output("--html", options.html, [options.code])
        with written(options.html):
            write_text(options.html, codebook_page(code))
    except InputError as error:
        raise InputError(f"{options.code}: {error}") from None


def _shown_code(code: "Code") -> str:
    from tokenlab.codes.baselines import ByteCode, ComponentCode
    from tokenlab.codes.codebook import Codebook
    from tokenlab.codes.myte import MyteCode
    from tokenlab.codes.table import codebook_text

    reversible = "reversible" if code.reversible else "irreversible"
    head = f"{code.kind} code, {reversible}, {len(code.alphabet):,} atoms"
    match code:
        case Codebook():
            size = f"N = {code.N}, K = {code.K}, {len(code.characters):,} characters, {code.K**code.N:,} codes"
            return f"{head}, {size}\n{codebook_text(code)}"
        case ComponentCode():
            return f"{head}, {len(code.components):,} characters\n{_components(code)}"
        case MyteCode():
            return f"{head}: {_rules(code)}\n"
        case ByteCode():
            return f"{head}: the bytes of UTF-8, {code.alphabet[0]} to {code.alphabet[-1]}\n"
    return f"{head}\n"


def _components(code: "ComponentCode") -> str:
    from tokenlab.codes.table import visible

    return "".join(f"{visible(character)}\t{' '.join(names)}\n" for character, names in sorted(code.components.items()))


def _rules(code: "MyteCode") -> str:
    merged = f"{len(code.merge):,} morphemes merged" if code.merge else "no merge map"
    return f"the bytes of UTF-8, {len(code.decompose):,} sequences taken apart, {merged}"
