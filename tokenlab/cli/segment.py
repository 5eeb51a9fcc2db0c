"""`tokenlab segment`: cut sentences by n-gram statistics (Entropy-driven pre-tokenization, section 3.1)."""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from tokenlab.cli.options import add_statistical_options, named_as_options, statistics_options, with_progress
from tokenlab.cli.statistics import count_text
from tokenlab.errors import InputError

if TYPE_CHECKING:
    from tokenlab.ngrams import NgramStatistics, StatisticsOptions
    from tokenlab.text.lines import TextInput


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "segment",
        help="cut sentences into words by n-gram statistics",
        description="Cut sentences, one a line, into words by PMI and branching entropy. Whitespace in a line is a "
        "boundary already.",
        allow_abbrev=False,
    )
    parser.add_argument("input", metavar="INPUT", help="UTF-8 text, a sentence a line; `-` is standard input")
    parser.add_argument(
        "--statistics-from",
        metavar="FILE",
        help="count in this text instead of in INPUT, or take the Parquet that `tokenlab statistics` wrote with equal "
        "options",
    )
    utility = parser.add_mutually_exclusive_group()
    utility.add_argument(
        "--lambda", dest="weight", type=float, default=1.0, metavar="X", help="weight of the entropies (default 1)"
    )
    utility.add_argument("--entropy-only", action="store_true", help="no PMI, entropies alone")
    parser.add_argument(
        "--single-character",
        type=_number_or_name,
        default="literal",
        metavar="literal|self|fallback|NUMBER",
        help="utility of a lone character: lambda times its entropy (default), log(T / f), only where nothing longer "
        "begins (greedy), or a number",
    )
    parser.add_argument(
        "--variation",
        type=float,
        default=0.0,
        metavar="X",
        help="weight of the variation of branching entropy, which is not in the paper (default 0; 0.5 with --lambda "
        "1.25 finds Chinese words better)",
    )
    parser.add_argument("--decoder", choices=["viterbi", "greedy"], default="viterbi", help="default viterbi")
    parser.add_argument(
        "--isolate",
        choices=["script", "punctuation", "none"],
        default="script",
        help="script (default): Latin runs whole, other characters that are not Han alone; punctuation: P, S and Z "
        "alone",
    )
    parser.add_argument(
        "--tie", choices=["short", "long"], default="short", help="which of equal spans (default short)"
    )
    parser.add_argument(
        "--format",
        choices=["text", "json"],
        default="text",
        help="text (default): a space at each boundary; json: a line with `text` and the character `offsets` "
        "[start, end) of its segments",
    )
    add_statistical_options(parser)
    parser.set_defaults(run=_run)


def _number_or_name(value: str) -> str | float:
    try:
        return float(value)
    except ValueError:
        return value


def _run(options: argparse.Namespace) -> None:
    from tokenlab.segment import Segmenter, SegmentOptions
    from tokenlab.text.lines import checked_stream

    counted = statistics_options(options)
    with named_as_options():
        chosen = SegmentOptions(
            weight=options.weight,
            entropy_only=options.entropy_only,
            single_character=options.single_character,
            decoder=options.decoder,
            isolate=options.isolate,
            tie=options.tie,
            variation=options.variation,
        )
    if options.statistics_from == "-":
        raise InputError("--statistics-from: standard input cannot be read here; name a file")
    with checked_stream(options.input) as text:
        statistics = _statistics(options.statistics_from, text, counted)
        with named_as_options():
            segmenter = Segmenter(statistics, chosen)
        sentences = with_progress(text.lines(), "segmenting")
        for batch in segmenter.segment(sentences):
            if options.format == "text":
                sys.stdout.buffer.write(batch.text().encode())
                continue
            for sentence, spans in zip(batch.sentences(), batch.spans(), strict=True):
                line = json.dumps({"text": sentence, "offsets": spans}, ensure_ascii=False)
                sys.stdout.buffer.write(line.encode() + b"\n")


def _statistics(source: str | None, text: "TextInput", options: "StatisticsOptions") -> "NgramStatistics":
    from tokenlab.ngrams import is_parquet, read_statistics
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
