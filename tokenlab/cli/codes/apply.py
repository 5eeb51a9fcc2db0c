"""`tokenlab codes encode`, `decode` and `check`: text to atoms and back, one line per sequence."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tokenlab.cli.inputs.corpus import check_no_output, open_corpus
from tokenlab.cli.output import whole_output, with_progress
from tokenlab.core.errors import InputError, ParameterError

if TYPE_CHECKING:
    from tokenlab.codes.interface import Code, Violation

VIOLATIONS_FOUND = 1
"""Exit status of `check` if a line is not encoded text."""

_NO_ATOM = "\0"


def encode(options: argparse.Namespace) -> None:
    """Print the atoms of every sequence by their names."""
    from tokenlab.codes.corpus import collapse
    from tokenlab.codes.interface import names_of, print_atoms
    from tokenlab.codes.registry import read_code

    code = _with_policy(read_code(options.code), options)
    names = names_of(code)
    with open_corpus(options) as corpus, whole_output() as output:
        for place, text in corpus.read("encoding"):
            try:
                line = print_atoms(code.encode(collapse(text)), names)
            except InputError as error:
                where = corpus.where(place)
                if not _has_policy(code):
                    raise InputError(f"{where}: {error}") from None
                origin = f"{options.code} was learned from another text (SHA-256 {code.facts.get('corpus')})"
                raise InputError(f"{where}: {error} (--unknown); {origin}") from None
            output.write(line.encode() + b"\n")


def _with_policy(code: "Code", options: argparse.Namespace) -> "Code":
    if options.unknown is None:
        return code
    if not _has_policy(code):
        raise ParameterError(f"--unknown: no character is unknown to the code `{code.kind}`; leave it out")
    return replace(code, unknown=options.unknown)  # type: ignore[type-var]


def _has_policy(code: "Code") -> bool:
    """Whether the code has characters that are unknown to it, and a policy for them."""
    from tokenlab.codes.baselines import ComponentCode
    from tokenlab.codes.codebook import Codebook

    return isinstance(code, Codebook | ComponentCode)


def decode(options: argparse.Namespace) -> None:
    """Print the text of every line of atoms."""
    from tokenlab.codes.interface import names_of, parse_atoms
    from tokenlab.codes.registry import read_code

    code = read_code(options.code)
    if not code.reversible:
        raise InputError(f"{options.code}: the code `{code.kind}` is irreversible; only reversible ones are decoded")
    atoms_of = {name: atom for atom, name in names_of(code).items()}
    with whole_output() as output:
        for where, line in _lines_of_atoms(options.input, "decoding"):
            try:
                text = code.decode(parse_atoms(line, atoms_of))
            except InputError as error:
                raise InputError(f"{where}: {error}") from None
            output.write(text.encode() + b"\n")


def check(options: argparse.Namespace) -> None:
    """Print the first violation of every line that is not encoded text; exits with 1 if there is any."""
    from tokenlab.codes.interface import names_of
    from tokenlab.codes.registry import read_code

    code = read_code(options.code)
    atoms_of = {name: atom for atom, name in names_of(code).items()}
    lines = atoms = bad = 0
    with whole_output() as output:
        for _, line in _lines_of_atoms(options.input, "checking"):
            tokens = line.split()
            lines, atoms = lines + 1, atoms + len(tokens)
            if found := code.check("".join([atoms_of.get(token, _NO_ATOM) for token in tokens])):
                bad += 1
                output.write(_violation_line(lines, found, tokens, options.json).encode())
        if not bad:
            counts = {"lines": lines, "atoms": atoms, "violations": 0}
            summary = json.dumps(counts) if options.json else f"{lines:,} lines, {atoms:,} atoms: no violation"
            output.write(f"{summary}\n".encode())
    if bad:
        sys.stdout.flush()
        raise SystemExit(VIOLATIONS_FOUND)


def _violation_line(number: int, found: "Violation", tokens: list[str], as_json: bool) -> str:
    message = found.message
    if found.kind == "foreign":  # The code was given a placeholder for this token.
        message = f"{tokens[found.position]!r} is no atom of this code; `tokenlab codes show` lists them"
    message = message.removeprefix(f"atom {found.position + 1}: ")
    row = {"line": number, "token": found.position + 1, "kind": found.kind, "message": message}
    return (json.dumps(row, ensure_ascii=False) if as_json else "\t".join(map(str, row.values()))) + "\n"


def _lines_of_atoms(source: str, what: str) -> Iterator[tuple[str, str]]:
    """The lines of a text with their places."""
    from tokenlab.text.lines import read_lines

    check_no_output([source])
    name = "standard input" if source == "-" else source
    for number, line in enumerate(with_progress(read_lines(source), what), 1):
        yield f"{name}:{number}", line
