"""`tokenlab statistics`: counts, PMI and branching entropies of all n-grams of a text."""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from tokenlab.cli.options import add_options, options_from
from tokenlab.cli.output import check_parquet, named_errors, with_progress
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.ngrams.options import StatisticsOptions

if TYPE_CHECKING:
    from tokenlab.ngrams.counting import NgramStatistics
    from tokenlab.text.lines import TextInput

_TOP = 20


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "statistics",
        help="count n-grams; their PMI and branching entropies",
        description="Count all n-grams of a text, one sentence per line, and compute their smallest adjacent PMI and "
        "their left and right branching entropy.",
        allow_abbrev=False,
    )
    parser.add_argument("input", metavar="INPUT", help="UTF-8 text, one sentence per line; `-` is standard input")
    parser.add_argument("-o", "--output", metavar="FILE.parquet", help="write every n-gram there")
    parser.add_argument(
        "--top", type=int, metavar="N", help=f"print the N most frequent n-grams (default {_TOP}; none with -o)"
    )
    parser.add_argument("--format", choices=["text", "json"], default="text", help="format of the printed rows")
    add_options(parser.add_argument_group("statistics"), StatisticsOptions)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from tokenlab.ngrams.table import write_statistics
    from tokenlab.text.lines import checked_stream

    top = options.top if options.top is not None else (_TOP if options.output is None else 0)
    if top < 0:
        raise ParameterError(f"--top is {top}; it must be at least 0")
    if options.output is not None:
        check_parquet(options.output, options.input)
    with checked_stream(options.input) as text:
        statistics = count_text(text, options_from(options, StatisticsOptions))
    if options.output is not None:
        write_statistics(statistics, options.output)
    if top:
        sys.stdout.buffer.write(_most_frequent(statistics, top, options.format).encode())


def count_text(text: "TextInput", options: StatisticsOptions) -> "NgramStatistics":
    """The statistics of a text; errors contain its name."""
    from tokenlab.ngrams.counting import ngram_statistics

    with named_errors(text.name):
        return ngram_statistics(with_progress(text.lines(), "counting"), options)


def statistics_of(text: "TextInput", source: str | None, options: StatisticsOptions) -> "NgramStatistics":
    """The statistics of another text, or those in a Parquet file, where `source` names one; else of this text.

    Raises InputError for a Parquet file that was made with other options.
    """
    from tokenlab.ngrams.table import is_parquet, read_statistics
    from tokenlab.text.lines import checked_stream

    if source is None:
        return count_text(text, options)
    if not is_parquet(source):
        with checked_stream(source) as counted:
            return count_text(counted, options)
    statistics = read_statistics(source)
    if statistics.options != options:
        theirs, ours = vars(statistics.options), vars(options)
        differences = [f"{name} {theirs[name]} there, {ours[name]} here" for name in ours if theirs[name] != ours[name]]
        raise InputError(f"{source}: made with other options ({', '.join(differences)}); give equal ones")
    return statistics


def _most_frequent(statistics: "NgramStatistics", top: int, form: str) -> str:
    import numpy as np
    import pyarrow as pa

    from tokenlab.ngrams.table import statistics_batches

    rows = np.argsort(-statistics.count, kind="stable")[:top]
    table = pa.Table.from_batches(list(statistics_batches(statistics))).take(pa.array(rows))
    if form == "json":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())
    lines = [table.column_names, *(map(_cell, row.values()) for row in table.to_pylist())]
    return "".join("\t".join(line) + "\n" for line in lines)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6f}" if isinstance(value, float) else str(value)
