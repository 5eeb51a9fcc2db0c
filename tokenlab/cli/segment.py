"""`tokenlab segment`: cut sentences by n-gram statistics, or where a language model is unsure what comes next.

Entropy-driven pre-tokenization, sections 3.1 and 3.2.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from tokenlab.cli.entropy import add_scoring_options, scored_lines
from tokenlab.cli.options import add_statistical_options, named_as_options, statistics_options, with_progress
from tokenlab.cli.statistics import count_text
from tokenlab.errors import InputError, ParameterError

if TYPE_CHECKING:
    from tokenlab.entropy.lines import Line
    from tokenlab.ngrams import NgramStatistics, StatisticsOptions
    from tokenlab.segment import Segmentation
    from tokenlab.text.lines import TextInput


_SENTENCES_PER_BATCH = 1 << 10  # by a language model
_SHARED_OPTIONS = ("input", "model", "entropies", "isolate", "format")
_BOUNDARY_OPTIONS = ("boundaries", "threshold")
_MODEL_OPTIONS = ("device", "dtype", "context", "stride", "batch_tokens", "threads")


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "segment",
        help="cut sentences into words by n-gram statistics or by a language model",
        description="Cut sentences, one a line, into words by PMI and branching entropy, or, with --model or "
        "--entropies, where a language model's prediction is unsure. Whitespace in a line is a boundary already.",
        allow_abbrev=False,
    )
    parser.add_argument("input", metavar="INPUT", help="UTF-8 text, a sentence a line; `-` is standard input")
    signal = parser.add_mutually_exclusive_group()
    signal.add_argument(
        "--model",
        metavar="FOLDER_OR_NAME",
        help="no statistics, but the entropies of this language model: a folder, or a name on the Hugging Face hub",
    )
    signal.add_argument(
        "--entropies",
        metavar="FILE",
        help="no statistics, but the entropies of INPUT that `tokenlab entropy --format json` or `-o` wrote",
    )
    signal.add_argument(
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
    group = parser.add_argument_group("boundaries by entropy (with --model or --entropies)")
    group.add_argument(
        "--boundaries",
        choices=["maxima", "prominence", "threshold", "rise"],
        default="maxima",
        help="before characters whose entropy is a local maximum (default), one of at least the prominence, above the "
        "threshold, or that much higher than the one before",
    )
    group.add_argument("--threshold", type=float, metavar="NATS", help="prominence, threshold or rise")
    add_scoring_options(parser)
    parser.set_defaults(run=partial(_run, parser))


def _number_or_name(value: str) -> str | float:
    try:
        return float(value)
    except ValueError:
        return value


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    by_model = options.model is not None or options.entropies is not None
    _check_meaning(parser, options, by_model)
    for batch in _by_entropy(options) if by_model else _by_statistics(options):
        if options.format == "text":
            sys.stdout.buffer.write(batch.text().encode())
            continue
        for sentence, spans in zip(batch.sentences(), batch.spans(), strict=True):
            line = json.dumps({"text": sentence, "offsets": spans}, ensure_ascii=False)
            sys.stdout.buffer.write(line.encode() + b"\n")


def _check_meaning(parser: argparse.ArgumentParser, options: argparse.Namespace, by_model: bool) -> None:
    """Refuse options, other than at their default, that belong to another way of segmenting."""
    given = {name for name, value in vars(options).items() if value != parser.get_default(name)}
    if not by_model:
        signal, without_meaning = "statistics", given & {*_BOUNDARY_OPTIONS, *_MODEL_OPTIONS}
    elif options.model is not None:
        signal, without_meaning = "--model", given - {*_SHARED_OPTIONS, *_BOUNDARY_OPTIONS, *_MODEL_OPTIONS}
    else:
        signal, without_meaning = "--entropies", given - {*_SHARED_OPTIONS, *_BOUNDARY_OPTIONS}
    for name in sorted(without_meaning):
        flag = "lambda" if name == "weight" else name.replace("_", "-")
        raise ParameterError(f"--{flag} has no meaning with {signal}; leave it out")


def _by_entropy(options: argparse.Namespace) -> Iterator["Segmentation"]:
    from tokenlab.entropy import BoundaryOptions, segment_by_entropy
    from tokenlab.text.lines import checked_stream

    with named_as_options():
        boundaries = BoundaryOptions(options.boundaries, options.threshold)
    if options.entropies == "-":
        raise InputError("--entropies: standard input cannot be read here; name a file")
    with checked_stream(options.input) as text:
        lines = scored_lines(text, options) if options.model is not None else _read_entropies(text, options.entropies)
        while batch := list(islice(lines, _SENTENCES_PER_BATCH)):
            sentences, entropies = zip(*batch, strict=True)
            yield segment_by_entropy(sentences, entropies, boundaries, options.isolate)


def _read_entropies(text: "TextInput", source: str) -> Iterator["Line"]:
    """The lines of a text with the entropies that a file has of them; read once before, so that errors come first."""
    from tokenlab.entropy.lines import read_entropy_lines

    def checked() -> Iterator["Line"]:
        records = read_entropy_lines(source)
        number = 0
        for number, sentence in enumerate(text.lines(), 1):
            record = next(records, None)
            if record is None or record[0] != sentence:
                raise InputError(
                    f"{source}: line {number} of {text.name} is not its line {number}; score the text again"
                )
            yield record
        if next(records, None) is not None:
            raise InputError(f"{source}: goes on behind line {number}, the last of {text.name}; score the text again")

    for _ in checked():
        pass
    return checked()


def _by_statistics(options: argparse.Namespace) -> Iterator["Segmentation"]:
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
        yield from segmenter.segment(with_progress(text.lines(), "segmenting"))


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
