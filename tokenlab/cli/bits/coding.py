"""`tokenlab bits encode` and `decode`: text to tokens and back, a line a line."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Literal

from tokenlab.cli.bits.known import add_known, known_characters
from tokenlab.cli.bits.repair import repaired_lines
from tokenlab.cli.inputs.corpus import Corpus, add_corpus, add_former_json, add_json, check_no_output, open_corpus
from tokenlab.cli.options import add_options, named_as_flags, options_from
from tokenlab.cli.output import whole_output, with_progress
from tokenlab.codes.bits.options import BitOptions
from tokenlab.core.errors import InputError

_TOKENS = (
    "T:x is a known character, B:E4 a byte, P:39 a prefix, N:05C a payload, R a reset. In T:, whitespace, controls and "
    "backslashes are \\uXXXX or \\UXXXXXXXX; in JSON, T: holds the character itself"
)

_UNDECODABLE = "undecodable tokens"
_KINDS = {
    "prefix": "prefix alone",
    "payload": "payload alone",
    "outside": "payload outside a run",
    "utf8": "not UTF-8",
}


def add_parser(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add both actions."""
    parser = actions.add_parser(
        "encode",
        help="print the tokens of a text",
        description=f"Print the tokens of every line on a line of its own. {_TOKENS}.",
        allow_abbrev=False,
    )
    add_corpus(parser, optional=True)
    _add_common(parser, "bytes of INPUT that are not UTF-8: an error (default), one U+FFFD for each run, or nothing")
    add_json(parser, "print a list of strings a line; without, tokens with a space between them")
    parser.set_defaults(run=encode)
    parser = actions.add_parser(
        "decode",
        help="print the text of tokens",
        description="Print the text of every line of tokens, as `encode` prints them, on a line of its own; tokens may "
        "spell line ends, too. It depends on --emission, but not on --mode and --prefixes, which are there so that "
        "both actions take the same options. With --known, other characters in T: are an error.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "input", nargs="?", default="-", metavar="INPUT", help="lines of tokens; default: standard input"
    )
    _add_common(parser, "tokens that are no text: an error (default), one U+FFFD for each run of them, or nothing")
    add_json(parser, "INPUT has a list of strings a line, as `encode --json` prints")
    add_former_json(parser)
    parser.set_defaults(run=decode)


def _add_common(parser: argparse.ArgumentParser, errors: str) -> None:
    add_options(parser, BitOptions)
    add_known(parser)
    parser.add_argument("--on-error", choices=["error", "replace", "skip"], default="error", help=errors)


def encode(options: argparse.Namespace) -> None:
    """Print the tokens of every line."""
    from tokenlab.codes.bits.bit_code import CharacterBits
    from tokenlab.codes.bits.printed import TokenPrinter

    known = known_characters(options)
    with named_as_flags(BitOptions):
        chosen = options_from(options, BitOptions)
    code = CharacterBits(known, chosen)
    as_json = options.json
    printer, shown = TokenPrinter(known, chosen.emission, escaped=not as_json), _json_line if as_json else " ".join
    errors: Counter[str] = Counter()
    with open_corpus(options) as corpus, whole_output() as output:
        for place, line in _texts(corpus, options.on_error, errors):
            try:
                symbols = code.encode(line)
            except InputError as error:
                raise InputError(f"{corpus.where(place)}: {error}") from None
            output.write(shown(printer.print(symbols)).encode() + b"\n")
    _say(options, errors, "bytes that are not UTF-8")


def decode(options: argparse.Namespace) -> None:
    """Print the text of every line of tokens."""
    from tokenlab.codes.bits.decoding import decode as decode_symbols
    from tokenlab.codes.bits.printed import TokenParser
    from tokenlab.text.lines import read_lines

    known = None if options.known is None else known_characters(options)
    with named_as_flags(BitOptions):
        chosen = options_from(options, BitOptions)
    as_json = options.json
    parser, tokens_of = TokenParser(known, escaped=not as_json), _json_tokens if as_json else str.split

    def spelled(number: int) -> bytes:
        return (chr(number) if known is None else known[number]).encode()

    errors: Counter[str] = Counter()
    with whole_output() as output:
        for where, line in _numbered(options.input, read_lines(options.input), "decoding"):
            try:
                decoded = decode_symbols(parser.parse(tokens_of(line)), spelled, options.on_error, chosen.emission)
            except InputError as error:
                raise InputError(f"{where}: {error}") from None
            errors.update(error.kind for error in decoded.errors)
            output.write(decoded.text.encode() + b"\n")
    _say(options, errors, _UNDECODABLE)


def _texts(
    corpus: Corpus, on_error: Literal["error", "replace", "skip"], errors: Counter[str]
) -> Iterator[tuple[int | str, str]]:
    """The texts with their places; what is not UTF-8 in a text file is repaired as asked."""
    if corpus.format != "text" or on_error == "error":
        return corpus.read("encoding")
    return enumerate(with_progress(repaired_lines(corpus.path, on_error, errors), "encoding"), 1)


def _numbered(source: str, lines: Iterator[str], what: str) -> Iterator[tuple[str, str]]:
    """The lines with their places."""
    check_no_output([source])
    name = "standard input" if source == "-" else source
    for number, line in enumerate(with_progress(lines, what), 1):
        yield f"{name}:{number}", line


def _json_line(tokens: list[str]) -> str:
    return json.dumps(tokens, ensure_ascii=False)


def _json_tokens(line: str) -> list[str]:
    try:
        tokens = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("not JSON; write a list of strings, such as [] for the empty text") from None
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise InputError("no list of strings; write one, such as [] for the empty text")
    return tokens


def _say(options: argparse.Namespace, errors: Counter[str], what: str) -> None:
    """Say on standard error how many errors were replaced or skipped, and of which kinds where these may differ."""
    if errors.total():
        kinds = ", ".join(f"{count:,} {_KINDS[kind]}" for kind, count in sorted(errors.items()))
        done = "replaced by U+FFFD" if options.on_error == "replace" else "skipped"
        places = "place" if errors.total() == 1 else "places"
        shown = f" ({kinds})" if what == _UNDECODABLE else ""
        print(f"tokenlab: {errors.total():,} {places} with {what} {done}{shown}", file=sys.stderr)
