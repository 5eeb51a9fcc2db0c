"""Codes that write every character as a few atoms: learned (latom), random, or from tables."""

import argparse
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokenlab.cli.corpus import add_corpus, add_json, add_lines, numbered_lines, open_corpus
from tokenlab.cli.options import (
    Commands,
    add_command,
    add_family,
    add_options,
    check_meaning,
    flags_of,
    named_as_flags,
    options_from,
)
from tokenlab.cli.output import bar, check_output, json_line, named_errors, tabbed, whole_output, write, written
from tokenlab.codes.registry import KINDS, learn_code, read_code
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import write_text
from tokenlab.core.shards import ClusterOptions

if TYPE_CHECKING:
    from tokenlab.codes.interface import Code, Violation

_PRINTED = """\
lines printed of latom, numbers in full precision:
  iteration I log-likelihood X    before every M-step and after the last, in nats
  objective X                     of the assignment, in nats; the best possible
  random objective X              mean over random assignments
  gap X                           the difference
  restart I tokens X              with --restarts: of the corpus, cut by BPE
  chosen restart I                the one with the fewest; the other lines describe it
  tokens before refinement X      with --refine: of the corpus, cut by BPE
  tokens after refinement X
  mutual information before X     of adjacent atoms, in bits
  mutual information X
Nothing is printed of the other codes."""
_WRITTEN = "what `tokenlab codes learn` wrote"
_VIOLATIONS_FOUND = 1
"""Exit status of `check` if a line is not encoded text."""

_NO_ATOM = "\0"
_OPTIONS = tuple(dict.fromkeys(options for kind in KINDS.values() for options in kind.options))
"""The dataclasses of options of all kinds of codes."""


def add_parser(commands: Commands) -> None:
    actions = add_family(commands, "codes", "learn a character code; encode and decode with it", __doc__)
    raw = argparse.RawDescriptionHelpFormatter
    parser = add_command(actions, _learn, "learn a code from a text", epilog=_PRINTED, formatter_class=raw)
    add_corpus(parser, "sequence")
    _add_code_options(parser)
    parser = add_command(actions, _encode, "print the atoms of a text")
    add_corpus(parser, "sequence", optional=True)
    _add_code(parser)
    missing = "characters missing from the code: an error (default), their bytes as <0xE8>, or nothing"
    parser.add_argument("--unknown", choices=["error", "byte", "skip"], help=missing)
    parser = add_command(actions, _decode, "print the text of atoms")
    add_lines(parser, "lines of atoms")
    _add_code(parser)
    parser = add_command(actions, _check, "find lines of atoms that are not encoded text")
    add_lines(parser, "lines of atoms")
    _add_code(parser)
    add_json(parser, "a JSON object for each violation, or one with the counts")
    parser = add_command(actions, _show, "print a code; a codebook as a table")
    parser.add_argument("code", metavar="CODE.json", help=_WRITTEN)
    parser.add_argument("--html", metavar="FILE", help="write the table there as a page of HTML, and print nothing")


def _add_code(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--code", required=True, metavar="CODE.json", help=_WRITTEN)


def _add_code_options(parser: argparse.ArgumentParser) -> None:
    """Add the kind of code and the options of all kinds."""
    parser.add_argument("--code", required=True, choices=list(KINDS), help="kind of code")
    parser.add_argument("-o", "--output", required=True, metavar="CODE.json", help="write the code there")
    tables = f"of {', '.join(name for name, kind in KINDS.items() if kind.table)}: the downloaded tables"
    parser.add_argument("--tables", metavar="FOLDER", default=argparse.SUPPRESS, help=tables)
    groups: dict[str, argparse._ArgumentGroup] = {}
    for options in _OPTIONS:
        title = " and ".join(name for name, kind in KINDS.items() if options in kind.options)
        if title not in groups:
            groups[title] = parser.add_argument_group(title, argument_default=argparse.SUPPRESS)
        add_options(groups[title], options)
    about = "Texts of 17 million characters and more gain: an E-step is computed in shards. The code is the same."
    place = parser.add_argument_group("where latom is learned", about, argument_default=argparse.SUPPRESS)
    add_options(place, ClusterOptions)


def _learn(options: argparse.Namespace) -> None:
    """Learn a code from a text and write it as JSON.
    Each run of whitespace in a sequence becomes one space, and is removed at its ends."""
    from tokenlab.codes.baselines import ComponentCode
    from tokenlab.codes.codebook import Codebook
    from tokenlab.codes.corpus import character_corpus
    from tokenlab.codes.interface import write_code
    from tokenlab.codes.table import with_table_order

    kind = KINDS[options.code]
    given, place = _given(options), options_from(options, ClusterOptions)
    check_output("--output", options.output, [options.input, getattr(options, "tables", None)], endings=[".json"])
    with open_corpus(options) as text:
        with named_errors(text.name):
            corpus = character_corpus(found for _, found in text.read("reading"))
        with bar("learning", unit=" iterations") as shown:
            if kind.iterative:
                given["progress"] = lambda *_: shown.update()
            # An error of a code from a table may be one of the table, which it names itself.
            named = nullcontext() if kind.table else named_errors(text.name)
            with named, named_as_flags(*kind.options, tables="--tables"):
                code = learn_code(options.code, corpus, place=place, **given)
    # A code of components that takes no character of the text apart: each would stand for itself.
    if isinstance(code, ComponentCode) and all(len(names) == 1 for names in code.components.values()):
        raise InputError(
            f"{text.name}: the table of the code `{code.kind}`, which describes Chinese characters, takes none of its "
            "characters apart; learn another code, such as latom, byte or random"
        )
    if isinstance(code, Codebook) and KINDS[code.kind].shaped:
        code = with_table_order(code, corpus)  # for `show`
    with written(options.output):
        write_code(code, options.output)
    if options.code == "latom":
        write("".join(f"{line}\n" for line in _figures(code.facts)))


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The options of the code that were given. Raises ParameterError for a bad value or one of another kind of code."""
    own = KINDS[options.code]
    known = own.option_names | ({"tables"} if own.table else set())
    places = flags_of(ClusterOptions).keys() if own.iterative else set()
    how = f"with the code `{options.code}`"
    check_meaning(options, how, known | places, *_OPTIONS, ClusterOptions, tables="--tables")
    given = {name: value for name, value in vars(options).items() if name in known}
    for kind in own.options:
        options_from(options, kind)
    if "vocabulary" in given and not {"restarts", "refine"} & given.keys():
        raise ParameterError("--vocabulary has no meaning without --restarts or --refine; leave it out")
    if given.get("backend") == "hmmlearn":
        check_meaning(options, "with --backend hmmlearn", (), ClusterOptions)
    return given


def _figures(facts: dict[str, Any]) -> Iterator[str]:
    """The lines of `_PRINTED`."""
    for iteration, value in enumerate(facts["log_likelihood"]):
        yield f"iteration {iteration} log-likelihood {value!r}"
    yield f"objective {facts['objective']!r}"
    yield f"random objective {facts['random_objective']!r}"
    yield f"gap {facts['objective'] - facts['random_objective']!r}"
    if facts["tokens"] is not None:
        for restart, tokens in enumerate(facts["tokens"]):
            yield f"restart {restart} tokens {tokens}"
        yield f"chosen restart {facts['restart']}"
    if facts["refine"] is not None:
        yield f"tokens before refinement {facts['refined_tokens'][0]}"
        yield f"tokens after refinement {min(facts['refined_tokens'])}"
        yield f"mutual information before {facts['mutual_information_before']!r}"
        yield f"mutual information {facts['mutual_information']!r}"


def _encode(options: argparse.Namespace) -> None:
    """Print the atoms of every sequence on a line of its own, a space between them. Each run of whitespace in a
    sequence becomes one space, and is removed at its ends, as in learning. Blank lines stay. Atoms are a3, b17, ... of
    learned and random codes, two hexadecimal digits of bytes and MYTE, the characters or components themselves of the
    others, whitespace and controls as \\uXXXX.
    """
    from tokenlab.codes.baselines import ComponentCode
    from tokenlab.codes.codebook import Codebook
    from tokenlab.codes.corpus import collapse
    from tokenlab.codes.interface import names_of, print_atoms

    code, hint = read_code(options.code), ""
    if isinstance(code, Codebook | ComponentCode):  # Characters may be unknown to it.
        hint = f" (--unknown); {options.code} was learned from another text (SHA-256 {code.facts.get('corpus')})"
        code = replace(code, unknown=options.unknown or code.unknown)
    elif options.unknown is not None:
        raise ParameterError(f"--unknown: no character is unknown to the code `{code.kind}`; leave it out")
    names = names_of(code)
    with open_corpus(options) as corpus, whole_output() as keep:
        for where, text in corpus.read("encoding"):
            try:
                keep(print_atoms(code.encode(collapse(text)), names) + "\n")
            except InputError as error:
                raise InputError(f"{where}: {error}{hint}") from None


def _decode(options: argparse.Namespace) -> None:
    """Print the text of every line of atoms, as `encode` prints them, on a line of its own."""
    from tokenlab.codes.interface import names_of, parse_atoms

    code = read_code(options.code)
    if not code.reversible:
        raise InputError(f"{options.code}: the code `{code.kind}` is irreversible; only reversible ones are decoded")
    atoms_of = {name: atom for atom, name in names_of(code).items()}
    with whole_output() as keep:
        for where, line in numbered_lines(options, "decoding"):
            with named_errors(where):
                text = code.decode(parse_atoms(line, atoms_of))
            keep(text + "\n")


def _check(options: argparse.Namespace) -> None:
    """Print for every line that is not encoded text its number, the first wrong token, the kind of violation (foreign,
    digit, unassigned, truncated, bytes) and an explanation, separated by tabs; exit with 1 if there is any. Otherwise
    print the numbers of lines and atoms.
    """
    from tokenlab.codes.interface import names_of

    code = read_code(options.code)
    atoms_of = {name: atom for atom, name in names_of(code).items()}
    lines = atoms = bad = 0
    with whole_output() as keep:
        for _, line in numbered_lines(options, "checking"):
            tokens = line.split()
            lines, atoms = lines + 1, atoms + len(tokens)
            if found := code.check("".join([atoms_of.get(token, _NO_ATOM) for token in tokens])):
                bad += 1
                keep(_violation_line(lines, found, tokens, options.json))
        if not bad:
            counts = {"lines": lines, "atoms": atoms, "violations": 0}
            keep(json_line(counts) if options.json else f"{lines:,} lines, {atoms:,} atoms: no violation\n")
    if bad:
        raise SystemExit(_VIOLATIONS_FOUND)


def _violation_line(number: int, found: "Violation", tokens: list[str], as_json: bool) -> str:
    message = found.message
    if found.kind == "foreign":  # The code was given a placeholder for this token.
        message = f"{tokens[found.position]!r} is no atom of this code; `tokenlab codes show` lists them"
    message = message.removeprefix(f"atom {found.position + 1}: ")
    row = {"line": number, "token": found.position + 1, "kind": found.kind, "message": message}
    return json_line(row) if as_json else tabbed([row.values()])


def _show(options: argparse.Namespace) -> None:
    """Print a code and its atoms. A codebook is printed as a table: columns for the last digit, rows for the digits
    before it, similar atoms next to each other, a space as ␣.
    """
    from tokenlab.codes.codebook import Codebook
    from tokenlab.codes.table import codebook_page

    code = read_code(options.code)
    with named_errors(options.code):
        if options.html is None:
            write(_shown_code(code))
            return
        if not isinstance(code, Codebook):
            raise ParameterError(f"--html: the code `{code.kind}` is no codebook and has no table; leave it out")
        check_output("--html", options.html, [options.code])
        with written(options.html):
            write_text(options.html, codebook_page(code))


def _shown_code(code: "Code") -> str:
    from tokenlab.codes.baselines import ByteCode, ComponentCode
    from tokenlab.codes.codebook import Codebook
    from tokenlab.codes.myte import MyteCode
    from tokenlab.codes.table import codebook_text, visible

    reversible = "reversible" if code.reversible else "irreversible"
    head = f"{code.kind} code, {reversible}, {len(code.alphabet):,} atoms"
    match code:
        case Codebook():
            size = f"N = {code.N}, K = {code.K}, {len(code.characters):,} characters, {code.K**code.N:,} codes"
            return f"{head}, {size}\n{codebook_text(code)}"
        case ComponentCode():
            rows = ((visible(character), " ".join(names)) for character, names in sorted(code.components.items()))
            return f"{head}, {len(code.components):,} characters\n{tabbed(rows)}"
        case MyteCode():
            merged = f"{len(code.merge):,} morphemes merged" if code.merge else "no merge map"
            return f"{head}: the bytes of UTF-8, {len(code.decompose):,} sequences taken apart, {merged}\n"
        case ByteCode():
            return f"{head}: the bytes of UTF-8, {code.alphabet[0]} to {code.alphabet[-1]}\n"
    return f"{head}\n{tabbed([name] for name in code.alphabet)}"
