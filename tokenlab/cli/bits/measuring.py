"""`tokenlab bits measure`: lengths of a text in tokens, by byte fallback and by bit-level codes."""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from math import isfinite
from typing import TYPE_CHECKING, Any

from tokenlab.cli.bits.known import add_known, known_characters
from tokenlab.cli.inputs.corpus import Corpus, add_corpus, add_json, open_corpus
from tokenlab.cli.options import named_as_flags
from tokenlab.cli.output import in_batches, with_progress
from tokenlab.core.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from tokenlab.cli.bits.by_script import TokensByScript
    from tokenlab.codes.bits.counting import SymbolCounts
    from tokenlab.codes.bits.symbols import Dead

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

Row = dict[str, Any]


def add_parser(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the action."""
    parser = actions.add_parser(
        "measure",
        help="the tokens of a text, by code and by script",
        description="The tokens of INPUT, a line a text, by byte fallback and by every bit-level code over the same "
        "known characters. saved: the share of the tokens of byte fallback that a code does without; ambiguous: lines "
        "at which mode paper raises (its tokens are those it would write if it went on); dead: bytes and added tokens "
        "that no text can have; renyi: Rényi efficiency over the whole vocabulary (nominal) and over the types that "
        "occur (observed).",
        allow_abbrev=False,
    )
    add_corpus(parser)
    add_known(parser)
    parser.add_argument(
        "--alpha", type=float, default=2.5, metavar="A", help="order of the Rényi efficiency (default 2.5)"
    )
    add_json(parser, "print one object; without, tables, cells separated by tabs")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from tokenlab.cli.bits.by_script import TokensByScript
    from tokenlab.codes.bits.bit_code import CharacterBits
    from tokenlab.codes.bits.counting import count_symbols
    from tokenlab.metrics.renyi import renyi_efficiency

    with named_as_flags(alpha="--alpha"):
        renyi_efficiency([1], options.alpha)  # A wrong order is said before the text is read.
    code = CharacterBits(known_characters(options))
    scripts, size = TokensByScript(code), {"lines": 0, "characters": 0, "bytes": 0}
    with open_corpus(options) as corpus:
        counts = count_symbols(map(scripts.add, in_batches(_counted(corpus, size), _BATCH)), len(code.known))
    if not size["characters"]:
        raise InputError(f"{corpus.name}: no character in it; nothing can be measured")
    found: Row = {
        **size,
        "known": len(code.known),
        **_fallback(counts.plain, size["characters"]),
        "alpha": options.alpha if isfinite(options.alpha) else "inf",  # JSON has no infinity.
        "codes": list(_codes(counts, len(code.known), options.alpha)),
        "scripts": list(_scripts(scripts)),
        "dead": list(_dead()),
    }
    if all(row["tokens"] == found["codes"][0]["tokens"] for row in found["codes"]):
        print(
            f"tokenlab: {corpus.name}: no two neighbours of three bytes in UTF-8 that share a prefix, as Chinese, "
            "Japanese, Korean, Thai or Hindi have; bit-level codes change nothing here",
            file=sys.stderr,
        )
    if options.json:
        print(json.dumps(found))
    else:
        sys.stdout.buffer.write(_tables(found).encode())


def _counted(corpus: Corpus, size: dict[str, int]) -> Iterator[str]:
    """The lines; `size` counts them."""
    for line in with_progress(corpus.lines(), "measuring"):
        size["lines"] += 1
        size["characters"] += len(line)
        size["bytes"] += len(line.encode())
        yield line


def _fallback(plain: "np.ndarray", characters: int) -> dict[str, float]:
    """The share of characters that fall back to bytes, and of tokens that are bytes."""
    in_bytes = int(plain[:0x100].sum())
    begun = in_bytes - int(plain[_CONTINUATION].sum())
    return {"fallback_characters": begun / characters, "byte_tokens": in_bytes / int(plain.sum())}


def _codes(counts: "SymbolCounts", known: int, alpha: float) -> Iterator[Row]:
    """A row for byte fallback and for each bit-level code."""
    from tokenlab.codes.bits.symbols import ADDED, LONG, RESET, dead_symbols

    tokens = int(counts.plain.sum())
    yield {"code": "bytes", **_measures(counts.plain, LONG + known, tokens, alpha)}
    for options, found in counts.rewritten.items():
        yield {
            "code": "bits",
            "mode": options.mode,
            "prefixes": options.prefixes,
            "emission": options.emission,
            **_measures(found, LONG + known + ADDED, tokens, alpha),
            "resets": int(found[RESET]),
            "ambiguous": counts.ambiguous[replace(options, mode="lossless")],
            "dead": len(dead_symbols(options)),
        }


def _measures(counts: "np.ndarray", vocabulary: int, plain: int, alpha: float) -> Row:
    from tokenlab.metrics.renyi import renyi_efficiency

    tokens = int(counts.sum())
    return {
        "tokens": tokens,
        "saved": 1 - tokens / plain,
        "types": int((counts > 0).sum()),
        "vocabulary": vocabulary,
        "renyi_nominal": renyi_efficiency(counts, alpha, vocabulary),
        "renyi_observed": renyi_efficiency(counts, alpha),
    }


def _scripts(counted: "TokensByScript") -> Iterator[Row]:
    for script, characters, plain, tokens in counted.rows():
        codes = {f"{options.prefixes}_{options.emission}": count for options, count in tokens.items()}
        yield {
            "script": script,
            "characters": characters,
            "bytes": plain,
            **codes,
            "saved_4_run": 1 - codes["4_run"] / plain,
        }


def _dead() -> Iterator[Row]:
    """The dead tokens of both sets of prefixes in mode `lossless`, those with the same reason together."""
    from tokenlab.codes.bits.options import BitOptions
    from tokenlab.codes.bits.symbols import dead_symbols

    for prefixes in (3, 4):
        for reason, dead in groupby(dead_symbols(BitOptions(prefixes=prefixes)), lambda one: one.reason):
            ranges = list(_ranges(dead))
            yield {"prefixes": prefixes, "reason": reason, "tokens": ranges}


def _ranges(dead: Iterable["Dead"]) -> Iterator[str]:
    """Names of tokens, of consecutive ones the first and the last."""
    from tokenlab.codes.bits.symbols import symbol_name

    numbered = enumerate(one.symbol for one in dead)
    for _, group in groupby(numbered, lambda pair: pair[1] - pair[0]):
        names = [symbol_name(symbol) for _, symbol in group]
        yield names[0] if len(names) == 1 else f"{names[0]}-{names[-1].split(':')[-1]}"


def _tables(found: Row) -> str:
    """The text that is printed: facts, then a table of codes, one of scripts, and one of dead tokens."""
    shown = [
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
    names = list(found["scripts"][0])
    scripts = [names, *([_cell(name, row[name]) for name in names] for row in found["scripts"])]
    dead = [["prefixes", "dead tokens", "reason"]]
    dead += [[row["prefixes"], " ".join(row["tokens"]), row["reason"]] for row in found["dead"]]
    return "\n".join(
        "".join("\t".join(map(str, row)) + "\n" for row in table) for table in (shown, codes, scripts, dead)
    )


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name.startswith("saved"):
        return _share(value)
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _share(value: float) -> str:
    return f"{100 * value:.2f} %"
