"""`tokenlab measure`: the measures of any tokenizer files on a text, side by side."""

import argparse
from typing import TYPE_CHECKING

from tokenlab.cli.corpus import TOKENIZER, Corpus, add_corpus, add_json, open_corpus
from tokenlab.cli.options import Commands, add_command
from tokenlab.cli.output import json_line, named_errors, with_progress, write
from tokenlab.core.errors import InputError

if TYPE_CHECKING:
    from tokenlab.metrics.tokenizer_measures import TokenizerCounts

_WIDTH = 14


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "measure",
        _run,
        "measure tokenizers on a text",
        "Measure tokenizers on a text, a line at a time: fertility, words kept whole (STRR), characters "
        "and bytes per token, Rényi efficiency and others. Words are what stands between whitespace; measures of words "
        "are undefined in scripts without spaces.",
    )
    add_corpus(parser, name="TEXT")
    several = f"{TOKENIZER}; give it several times to compare"
    parser.add_argument("--tokenizer", metavar="FILE", action="append", required=True, help=several)
    parser.add_argument(
        "--reference", metavar="FILE", help="a tokenizer: adds the length relative to its length (normalised length)"
    )
    add_json(parser, "print a list with an object for each tokenizer")


def _run(options: argparse.Namespace) -> None:
    from dataclasses import replace

    from tokenlab.metrics.registry import TOKENIZERS, of_tokenizer

    with open_corpus(options) as corpus:
        counts = {name: _count(name, corpus) for name in dict.fromkeys(options.tokenizer)}
        if options.reference is not None:
            length = (counts.get(options.reference) or _count(options.reference, corpus)).tokens
            counts = {name: replace(found, reference_tokens=length) for name, found in counts.items()}
    rows = [{"tokenizer": name, **_sizes(found), **of_tokenizer(found)} for name, found in counts.items()]
    if options.json:
        write(json_line(rows))
        return
    for number, row in enumerate(rows, 1):
        write(f"[{number}] {row['tokenizer']}\n")
    write(_line("", [f"[{number}]" for number in range(1, len(rows) + 1)]))
    for size in _sizes(next(iter(counts.values()))):
        write(_line(size, [_shown(row[size], "count") for row in rows]))
    for metric in TOKENIZERS:
        if any(row[metric.name] is not None for row in rows):
            write(_line(metric.name, [_shown(row[metric.name], metric.unit) for row in rows]))


def _count(path: str, corpus: Corpus) -> "TokenizerCounts":
    """The counts of a tokenizer on the lines of the text that are not blank."""
    from tokenlab.metrics.counting import count_tokens
    from tokenlab.metrics.words import texts_with_words
    from tokenlab.tokenizers.measured import read_text_tokenizer

    tokenizer = read_text_tokenizer(path)
    documents = with_progress(corpus.documents(), "measuring", size=lambda one: len(one.text))
    with named_errors(path):
        counts = count_tokens(tokenizer, texts_with_words(one for one in documents if one.text.strip()))
    if not counts.texts:
        raise InputError(f"{corpus.name}: no text in it; nothing can be measured")
    return counts


def _sizes(counts: "TokenizerCounts") -> dict[str, int | None]:
    """What is counted beside the measures."""
    names = ("texts", "words", "characters", "bytes", "vocabulary")
    return {name: getattr(counts, name) for name in names} | {"types": len(counts.types)}


def _shown(value: float | int | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "share":
        return f"{100 * value:.2f} %"
    return f"{value:,}" if unit == "count" else f"{value:.4f}"


def _line(name: str, cells: list[str]) -> str:
    return f"{name.replace('_', ' '):<28}" + "".join(cell.rjust(_WIDTH) for cell in cells) + "\n"
