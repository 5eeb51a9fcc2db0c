"""`tokenlab codes`: learn a character code, encode and decode with it, check atoms, show it (Latom)."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from tokenlab.cli.inputs.corpus import Corpus, add_corpus, add_json, check_no_output, open_corpus
from tokenlab.cli.options import add_options, field_names, flag_of, named_as_flags, options_from
from tokenlab.cli.output import check_output, whole_output, with_progress, written
from tokenlab.codes.registry import KINDS, learn_code, read_code
from tokenlab.core.errors import InputError, ParameterError

if TYPE_CHECKING:
    from tokenlab.codes.corpus import CharacterCorpus
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
_COLLAPSE = "Each run of whitespace in a sequence becomes one space, and is removed at its ends"
_VIOLATIONS_FOUND = 1
"""Exit status of `check` if a line is not encoded text."""

_NO_ATOM = "\0"


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "codes",
        help="learn a character code; encode and decode with it",
        description="Codes that write every character as a few atoms: learned (latom), random, or from tables.",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    learning = _action(
        actions,
        "learn",
        learn,
        help="learn a code from a text",
        description=f"Learn a code from a text and write it as JSON.\n{_COLLAPSE}.",
        epilog=_PRINTED,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_corpus(learning, "sequence")
    _add_code_options(learning)
    encoding = _action(
        actions,
        "encode",
        encode,
        help="print the atoms of a text",
        description=f"Print the atoms of every sequence on a line of its own, a space between them. {_COLLAPSE}, as in "
        "learning. Blank lines stay. Atoms are a3, b17, ... of learned and random codes, two hexadecimal digits "
        "of bytes and MYTE, the characters or components themselves of the others, whitespace and controls as \\uXXXX.",
    )
    add_corpus(encoding, "sequence", optional=True)
    _add_code(encoding)
    encoding.add_argument(
        "--unknown",
        choices=["error", "byte", "skip"],
        help="characters missing from the code: an error (default), their bytes as <0xE8>, or nothing",
    )
    decoding = _action(
        actions,
        "decode",
        decode,
        help="print the text of atoms",
        description="Print the text of every line of atoms, as `encode` prints them, on a line of its own.",
    )
    _add_atoms(decoding)
    checking = _action(
        actions,
        "check",
        check,
        help="find lines of atoms that are not encoded text",
        description="Print for every line that is not encoded text its number, the first wrong token, the kind of "
        "violation (foreign, digit, unassigned, truncated, bytes) and an explanation, separated by tabs; exit with 1 "
        "if there is any. Otherwise print the numbers of lines and atoms.",
    )
    _add_atoms(checking)
    add_json(checking, "a JSON object for each violation, or one with the counts")
    showing = _action(
        actions,
        "show",
        show,
        help="print a code; a codebook as a table",
        description="Print a code. A codebook is printed as a table: columns for the last digit, rows for the digits "
        "before it, similar atoms next to each other, a space as ␣.",
    )
    showing.add_argument("code", metavar="CODE.json", help="what `tokenlab codes learn` wrote")
    showing.add_argument("--html", metavar="FILE", help="write the table there as a page of HTML, and print nothing")


def _action(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    run: Callable[[argparse.Namespace], None],
    **texts: Any,
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, allow_abbrev=False, **texts)
    parser.set_defaults(run=run)
    return parser


def _add_code(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--code", required=True, metavar="CODE.json", help="what `tokenlab codes learn` wrote")


def _add_atoms(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input", nargs="?", default="-", metavar="INPUT", help="lines of atoms; default: standard input"
    )
    _add_code(parser)


def _add_code_options(parser: argparse.ArgumentParser) -> None:
    """Add the kind of code and the options of all kinds; the parsed arguments hold only the given options."""
    parser.add_argument("--code", required=True, choices=list(KINDS), help="kind of code")
    parser.add_argument("-o", "--output", required=True, metavar="CODE.json", help="write the code there")
    with_tables = ", ".join(name for name, kind in KINDS.items() if kind.table)
    parser.add_argument(
        "--tables", metavar="FOLDER", default=argparse.SUPPRESS, help=f"of {with_tables}: the downloaded tables"
    )
    kinds_of: dict[type, list[str]] = {}
    for name, kind in KINDS.items():
        for options in kind.options:
            kinds_of.setdefault(options, []).append(name)
    for title in dict.fromkeys(map(" and ".join, kinds_of.values())):
        group = parser.add_argument_group(title, argument_default=argparse.SUPPRESS)
        for options, names in kinds_of.items():
            if " and ".join(names) == title:
                add_options(group, options)


def learn(options: argparse.Namespace) -> None:
    """Learn a code, write it, and print the numbers of its training."""
    from tokenlab.codes.interface import write_code

    given = _given(options)
    inputs = [options.input, getattr(options, "tables", None)]
    check_output("--output", options.output, inputs, endings=[".json"])
    with open_corpus(options) as text:
        corpus = _corpus(text)
    try:
        code = _learned(options.code, corpus, given)
    except InputError as error:
        raise error if KINDS[options.code].table else text.named(error) from None
    _check_described(code, text.name)
    with written(options.output):
        write_code(_with_table_order(code, corpus), options.output)
    if options.code == "latom":
        sys.stdout.write("".join(f"{line}\n" for line in _figures(code.facts)))


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The options of the code that were given, checked.

    Raises ParameterError for a bad value, and for an option that this kind of code does not have.
    """
    own = KINDS[options.code]
    every = [field for kind in KINDS.values() for options_of in kind.options for field in fields(options_of)]
    flags = {"tables": "--tables"} | {field.name: flag_of(field) for field in every}
    given = {name: value for name, value in vars(options).items() if name in flags}
    known = {name for kind in own.options for name in field_names(kind)} | ({"tables"} if own.table else set())
    for name in given:
        if name not in known:
            raise ParameterError(f"{flags[name]}: the code `{options.code}` has no such option")
    for kind in own.options:
        options_from(options, kind)
    return given


def _corpus(text: Corpus) -> "CharacterCorpus":
    from tokenlab.codes.corpus import character_corpus

    try:
        return character_corpus(text.texts("reading"))
    except InputError as error:
        raise text.named(error) from None


def _learned(kind: Any, corpus: "CharacterCorpus", given: dict[str, Any]) -> "Code":
    with tqdm(desc="learning", unit=" iterations", disable=None, leave=False) as bar:
        if KINDS[kind].iterative:
            given = given | {"progress": lambda *_: bar.update()}
        with named_as_flags(*KINDS[kind].options, tables="--tables"):
            return learn_code(kind, corpus, **given)


def _check_described(code: "Code", name: str) -> None:
    """Refuse a code of components that takes no character of the text apart: each would stand for itself."""
    from tokenlab.codes.baselines import ComponentCode

    if isinstance(code, ComponentCode) and all(len(names) == 1 for names in code.components.values()):
        raise InputError(
            f"{name}: the table of the code `{code.kind}`, which describes Chinese characters, takes none of its "
            "characters apart; learn another code, such as latom, byte or random"
        )


def _with_table_order(code: "Code", corpus: "CharacterCorpus") -> "Code":
    """A codebook of atoms with the order of its table, for `tokenlab codes show`; another code as it is."""
    from tokenlab.codes.codebook import Codebook
    from tokenlab.codes.table import with_table_order

    return with_table_order(code, corpus) if isinstance(code, Codebook) and KINDS[code.kind].shaped else code


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


def encode(options: argparse.Namespace) -> None:
    """Print the atoms of every sequence by their names."""
    from tokenlab.codes.corpus import collapse
    from tokenlab.codes.interface import names_of, print_atoms

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
        raise SystemExit(_VIOLATIONS_FOUND)


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


def show(options: argparse.Namespace) -> None:
    """Print a code, or write its table as a page."""
    from tokenlab.codes.codebook import Codebook
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
    from tokenlab.codes.table import codebook_text, visible

    reversible = "reversible" if code.reversible else "irreversible"
    head = f"{code.kind} code, {reversible}, {len(code.alphabet):,} atoms"
    match code:
        case Codebook():
            size = f"N = {code.N}, K = {code.K}, {len(code.characters):,} characters, {code.K**code.N:,} codes"
            return f"{head}, {size}\n{codebook_text(code)}"
        case ComponentCode():
            rows = (
                f"{visible(character)}\t{' '.join(names)}\n" for character, names in sorted(code.components.items())
            )
            return f"{head}, {len(code.components):,} characters\n{''.join(rows)}"
        case MyteCode():
            merged = f"{len(code.merge):,} morphemes merged" if code.merge else "no merge map"
            return f"{head}: the bytes of UTF-8, {len(code.decompose):,} sequences taken apart, {merged}\n"
        case ByteCode():
            return f"{head}: the bytes of UTF-8, {code.alphabet[0]} to {code.alphabet[-1]}\n"
    return f"{head}\n"
