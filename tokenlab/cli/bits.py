"""Bit-level codes, below the byte: neighbouring three-byte characters of UTF-8 share their first six bits as one
prefix, and the others are two payloads of nine bits each."""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from tokenlab.cli.corpus import Corpus, add_corpus, add_json, add_lines, numbered_lines, open_corpus
from tokenlab.cli.options import Commands, add_command, add_family, add_options, named_as_flags, options_from
from tokenlab.cli.output import check_stdin, json_line, named_errors, note, tabbed, whole_output, with_progress, write
from tokenlab.codes.bits.options import BitOptions
from tokenlab.core.batches import in_batches
from tokenlab.core.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from tokenlab.codes.bits.bit_code import CharacterBits
    from tokenlab.codes.bits.counting import SymbolCounts

Row = dict[str, Any]

_KINDS = {"prefix": "prefix alone", "payload": "payload alone", "outside": "payload outside a run", "utf8": "not UTF-8"}
_NOT_UTF8 = re.compile("[\udc80-\udcff]+")  # What Python decodes such bytes to, one each.
_BATCH = 1 << 18
"""Characters of a batch of lines, unless a single line has more."""
_CONTINUATION = slice(0x80, 0xC0)
"""The bytes that begin no character."""
# fmt: off
_COLUMNS = [
    "mode", "prefixes", "emission", "tokens", "saved", "resets", "ambiguous", "dead", "types", "vocabulary",
    "renyi_nominal", "renyi_observed",
]
# fmt: on


def add_parser(commands: Commands) -> None:
    actions = add_family(commands, "bits", "bit-level codes: encode, decode, measure what they save", __doc__)
    parser = add_command(actions, _encode, "print the tokens of a text")
    add_corpus(parser, optional=True)
    _add_code(parser, "bytes of INPUT that are not UTF-8: an error (default), one U+FFFD for each run, or nothing")
    add_json(parser, "print a list of strings a line; without, tokens with a space between them")
    parser = add_command(actions, _decode, "print the text of tokens")
    add_lines(parser, "lines of tokens")
    _add_code(parser, "tokens that are no text: an error (default), one U+FFFD for each run of them, or nothing")
    add_json(parser, "INPUT has a list of strings a line, as `encode --json` prints")
    parser = add_command(actions, _measure, "the tokens of a text, by code and by script")
    add_corpus(parser)
    _add_known(parser)
    order = "order of the Rényi efficiency (default 2.5)"
    parser.add_argument("--alpha", type=float, default=2.5, metavar="A", help=order)
    add_json(parser, "print one object; without, tables, cells separated by tabs")


def _add_code(parser: argparse.ArgumentParser, errors: str) -> None:
    add_options(parser, BitOptions)
    _add_known(parser)
    parser.add_argument("--on-error", choices=["error", "replace", "skip"], default="error", help=errors)


def _add_known(parser: argparse.ArgumentParser) -> None:
    known = "text whose characters are single tokens, spaces too, line ends not (default: all fall back to bytes)"
    parser.add_argument("--known", metavar="FILE", help=known)


def _known_characters(options: argparse.Namespace) -> str:
    """The characters of `--known` in the order of their code points; none without it."""
    from tokenlab.text.lines import read_lines

    if options.known is None:
        return ""
    check_stdin(options.input, options.known)
    return "".join(sorted(set().union(*read_lines(options.known))))


def _encode(options: argparse.Namespace) -> None:
    """Print the tokens of every line on a line of its own. T:x is a known character, B:E4 a byte, P:39 a prefix, N:05C
    a payload, R a reset. In T:, whitespace, controls and backslashes are \\uXXXX or \\UXXXXXXXX; in JSON, T: holds the
    character itself.
    """
    from tokenlab.codes.bits.bit_code import CharacterBits
    from tokenlab.codes.bits.printed import TokenPrinter

    known, chosen = _known_characters(options), options_from(options, BitOptions)
    code = CharacterBits(known, chosen)
    printer = TokenPrinter(known, chosen.emission, escaped=not options.json)
    errors: Counter[str] = Counter()
    with open_corpus(options) as corpus, whole_output() as keep:
        for place, line in _texts(corpus, options.on_error, errors):
            with named_errors(place):
                tokens = printer.print(code.encode(line))
            keep(json_line(tokens) if options.json else " ".join(tokens) + "\n")
    _report(options, errors, "bytes that are not UTF-8")


def _texts(corpus: Corpus, on_error: str, errors: Counter[str]) -> Iterator[tuple[str, str]]:
    """The texts with their places. Runs of bytes that are not UTF-8 in a text file are replaced, and counted."""
    if corpus.format != "text" or on_error == "error":
        yield from corpus.read("encoding")
        return
    mark = "\ufffd" if on_error == "replace" else ""
    lines = with_progress(corpus.plain_lines(errors="surrogateescape"), "encoding")
    for number, line in enumerate(lines, 1):
        text, count = _NOT_UTF8.subn(mark, line)
        errors["utf8"] += count
        yield f"{corpus.name}:{number}", text


def _decode(options: argparse.Namespace) -> None:
    """Print the text of every line of tokens, as `encode` prints them, on a line of its own; tokens may spell line
    ends, too. It depends on --emission, but not on --mode and --prefixes, which are there so that both actions take the
    same options. With --known, other characters in T: are an error.
    """
    from tokenlab.codes.bits.decoding import decode
    from tokenlab.codes.bits.printed import TokenParser

    known = None if options.known is None else _known_characters(options)
    emission = options_from(options, BitOptions).emission
    parser, tokens_of = TokenParser(known, escaped=not options.json), _json_tokens if options.json else str.split

    def spelled(number: int) -> bytes:
        return (chr(number) if known is None else known[number]).encode()

    errors: Counter[str] = Counter()
    with whole_output() as keep:
        for where, line in numbered_lines(options, "decoding"):
            with named_errors(where):
                decoded = decode(parser.parse(tokens_of(line)), spelled, options.on_error, emission)
            errors.update(error.kind for error in decoded.errors)
            keep(decoded.text + "\n")
    kinds = ", ".join(f"{count:,} {_KINDS[kind]}" for kind, count in sorted(errors.items()))
    _report(options, errors, "undecodable tokens", f" ({kinds})")


def _json_tokens(line: str) -> list[str]:
    try:
        tokens = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("not JSON; write a list of strings, such as [] for the empty text") from None
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise InputError("no list of strings; write one, such as [] for the empty text")
    return tokens


def _report(options: argparse.Namespace, errors: Counter[str], what: str, kinds: str = "") -> None:
    """Print on standard error how many errors were replaced or skipped."""
    if number := errors.total():
        done = "replaced by U+FFFD" if options.on_error == "replace" else "skipped"
        note(f"{number:,} {'place' if number == 1 else 'places'} with {what} {done}{kinds}")


def _measure(options: argparse.Namespace) -> None:
    """The tokens of INPUT, a line a text, by byte fallback and by every bit-level code over the same known characters.
    saved: the share of the tokens of byte fallback that a code does without; ambiguous: lines at which mode paper
    raises (its tokens are those it would write if it went on); dead: bytes and added tokens that no text can have;
    renyi: Rényi efficiency over the whole vocabulary (nominal) and over the types that occur (observed).
    """
    from tokenlab.codes.bits.bit_code import CharacterBits
    from tokenlab.metrics.renyi import renyi_efficiency

    with named_as_flags(alpha="--alpha"):
        renyi_efficiency([1], options.alpha)  # A wrong order is an error before the text is read.
    code = CharacterBits(_known_characters(options))
    size = {"lines": 0, "characters": 0, "bytes": 0}
    with open_corpus(options) as corpus:
        counts, scripts = _counted(corpus, code, size)
    if not size["characters"]:
        raise InputError(f"{corpus.name}: no character in it; nothing can be measured")
    plain = counts.plain
    in_bytes = int(plain[:0x100].sum())
    begun = in_bytes - int(plain[_CONTINUATION].sum())
    found: Row = {
        **size,
        "known": len(code.known),
        "fallback_characters": begun / size["characters"],
        "byte_tokens": in_bytes / int(plain.sum()),
        "alpha": options.alpha if isfinite(options.alpha) else "inf",  # JSON has no infinity.
        "codes": list(_codes(counts, code.known, options.alpha)),
        "scripts": scripts,
    }
    if all(row["tokens"] == found["codes"][0]["tokens"] for row in found["codes"]):
        others = ", the characters of --known aside" if code.known else ""
        note(
            f"{corpus.name}: no two neighbours of three bytes in UTF-8 share a prefix{others}, as those of Chinese, "
            "Japanese, Korean, Thai or Hindi do; bit-level codes change nothing here"
        )
    write(json_line(found) if options.json else _tables(found))


def _counted(corpus: Corpus, code: "CharacterBits", size: dict[str, int]) -> "tuple[SymbolCounts, list[Row]]":
    """The symbols of a text, and for each of its scripts its characters and their tokens by byte fallback and by every
    lossless code, most characters first; `size` counts the text."""
    import numpy as np

    from tokenlab.codes.bits.counting import VARIANTS, count_symbols, joined
    from tokenlab.codes.bits.printed import tokens_of_characters
    from tokenlab.codes.bits.stream import rewrite_batch
    from tokenlab.codes.script import script_blocks

    lossless = [options for options in VARIANTS if options.mode == "lossless"]
    names = ["characters", "bytes", *(f"{options.prefixes}_{options.emission}" for options in lossless)]
    blocks = script_blocks()
    scripts, script_of_block = np.unique([name.split(":")[0] for name in blocks.names], return_inverse=True)
    script_of = script_of_block[blocks.block]  # Of each code point.
    columns = np.zeros((len(names), len(scripts)), np.int64)

    def count(texts: list[str]) -> list[np.ndarray]:
        """Count the characters of texts; returns their plain byte fallback."""
        size["lines"] += len(texts)
        size["characters"] += sum(map(len, texts))
        size["bytes"] += sum(len(text.encode()) for text in texts)
        plain = [code.fallback(text) for text in texts]
        symbols, starts = joined(plain)
        found = script_of[np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)]
        tokens = [np.ones(found.size, np.int64), tokens_of_characters(symbols, starts)]
        tokens += [
            tokens_of_characters(*rewrite_batch(symbols, starts, options), options.emission) for options in lossless
        ]
        for column, weights in zip(columns, tokens, strict=True):
            column += np.bincount(found, weights, len(scripts)).astype(np.int64)
        return plain

    counts = count_symbols(map(count, in_batches(with_progress(corpus.lines(), "measuring"), _BATCH)), len(code.known))
    rows: list[Row] = [
        {"script": str(script), **dict(zip(names, numbers, strict=True))}
        for script, numbers in zip(scripts, columns.T.tolist(), strict=True)
        if numbers[0]
    ]
    for row in rows:
        row["saved_4_run"] = 1 - row["4_run"] / row["bytes"]
    return counts, sorted(rows, key=lambda row: (-row["characters"], row["script"]))


def _codes(counts: "SymbolCounts", known: str, alpha: float) -> Iterator[Row]:
    """A row for byte fallback and for each bit-level code."""
    from tokenlab.codes.bits.symbols import ADDED, LONG, RESET, dead_symbols, is_first, is_second
    from tokenlab.metrics.renyi import renyi_efficiency

    def measures(found: "np.ndarray", vocabulary: int) -> Row:
        tokens = int(found.sum())
        return {
            "tokens": tokens,
            "saved": 1 - tokens / int(counts.plain.sum()),
            "types": int((found > 0).sum()),
            "vocabulary": vocabulary,
            "renyi_nominal": renyi_efficiency(found, alpha, vocabulary),
            "renyi_observed": renyi_efficiency(found, alpha),
        }

    # The byte of a known character occurs as a payload alone.
    spelled = {byte for byte in map(ord, known) if byte < 0x80 and not is_first(byte) and not is_second(byte)}
    yield {"code": "bytes", **measures(counts.plain, LONG + len(known))}
    for options, found in counts.rewritten.items():
        yield {
            "code": "bits",
            "mode": options.mode,
            "prefixes": options.prefixes,
            "emission": options.emission,
            **measures(found, LONG + len(known) + ADDED),
            "resets": int(found[RESET]),
            "ambiguous": counts.ambiguous[replace(options, mode="lossless")],
            "dead": len(spelled | dead_symbols(options).keys()),
        }


def _tables(found: Row) -> str:
    """The text that is printed: facts, then a table of codes and one of scripts."""
    facts = [
        ("lines", found["lines"]),
        ("characters", found["characters"]),
        ("bytes", found["bytes"]),
        ("known characters", found["known"]),
        ("characters that fall back", _share(found["fallback_characters"])),
        ("tokens of byte fallback that are bytes", _share(found["byte_tokens"])),
        ("alpha", found["alpha"]),
    ]
    codes = [_COLUMNS, *([_cell(name, row.get(name)) for name in _COLUMNS] for row in found["codes"])]
    codes[1][0] = "bytes"
    scripts = [list(found["scripts"][0]), *([_cell(*item) for item in row.items()] for row in found["scripts"])]
    return "\n".join([tabbed(facts), tabbed(codes, places=4), tabbed(scripts, places=4)])


def _cell(name: str, value: Any) -> Any:
    return _share(value) if name.startswith("saved") else value


def _share(value: float) -> str:
    return f"{100 * value:.2f} %"
