"""`tokenlab segment`: cut sentences by n-gram statistics, or by the predictive entropy of a language model.

Entropy-driven pre-tokenization, sections 3.1 and 3.2.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from tokenlab.cli.entropy import add_scoring_options, scored_lines
from tokenlab.cli.ngram_statistics import count_text
from tokenlab.cli.options import add_options, field_names, flag_of, named_as_flags, options_from
from tokenlab.cli.output import with_progress
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.entropy.options import DeviceOptions, ScoringOptions
from tokenlab.ngrams.options import StatisticsOptions
from tokenlab.segment.options import BoundaryOptions, SegmentOptions

if TYPE_CHECKING:
    from tokenlab.entropy.scored_lines import Line
    from tokenlab.ngrams.counting import NgramStatistics
    from tokenlab.segment.segmentation import Segmentation
    from tokenlab.text.lines import TextInput


_SENTENCES_PER_BATCH = 1 << 10  # by a language model
_ENTROPY_OPTIONS = {*field_names(BoundaryOptions)}
_MODEL_OPTIONS = {*field_names(DeviceOptions), *field_names(ScoringOptions)}
_STATISTICS_OPTIONS = {*field_names(StatisticsOptions), *field_names(SegmentOptions)} - {"isolate"}


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "segment",
        help="cut sentences into words by n-gram statistics or by a language model",
        description="Cut sentences, one per line, into words by PMI and branching entropy, or, with --model or "
        "--entropies, by the entropy of a language model's predictions. Whitespace in a line is always a boundary.",
        allow_abbrev=False,
    )
    parser.add_argument("input", metavar="INPUT", help="UTF-8 text, one sentence per line; `-` is standard input")
    signal = parser.add_mutually_exclusive_group()
    signal.add_argument(
        "--model",
        metavar="FOLDER_OR_NAME",
        help="use the entropies of this language model instead of statistics: a folder, or a name on the Hugging Face "
        "hub",
    )
    signal.add_argument(
        "--entropies",
        metavar="FILE",
        help="use the entropies of INPUT that `tokenlab entropy --format json` or `-o` wrote",
    )
    signal.add_argument(
        "--statistics-from",
        metavar="FILE",
        help="count in this text instead of INPUT, or use the Parquet that `tokenlab statistics` wrote with the same "
        "options",
    )
    alternatives = ("weight", "entropy_only")
    add_options(parser.add_mutually_exclusive_group(), SegmentOptions, only=alternatives)
    add_options(parser, SegmentOptions, without=alternatives)
    parser.add_argument(
        "--format",
        choices=["text", "json"],
        default="text",
        help="text (default): a space at each boundary; json: a line with `text` and the character `offsets` "
        "[start, end) of its segments",
    )
    add_options(parser.add_argument_group("statistics"), StatisticsOptions)
    group = parser.add_argument_group("boundaries by entropy (with --model or --entropies)")
    add_options(group, BoundaryOptions)
    add_scoring_options(parser)
    parser.set_defaults(run=partial(_run, parser))


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
        signal, without_meaning = "statistics", given & (_ENTROPY_OPTIONS | _MODEL_OPTIONS)
    elif options.model is not None:
        signal, without_meaning = "--model", given & _STATISTICS_OPTIONS
    else:
        signal, without_meaning = "--entropies", given & (_STATISTICS_OPTIONS | _MODEL_OPTIONS)
    kinds = (BoundaryOptions, DeviceOptions, ScoringOptions, StatisticsOptions, SegmentOptions)
    for flag in sorted(flag_of(field) for kind in kinds for field in fields(kind) if field.name in without_meaning):
        raise ParameterError(f"{flag} has no meaning with {signal}; leave it out")


def _by_entropy(options: argparse.Namespace) -> Iterator["Segmentation"]:
    from tokenlab.segment.by_entropy import segment_by_entropy
    from tokenlab.text.lines import checked_stream

    boundaries = options_from(options, BoundaryOptions)
    if options.entropies == "-":
        raise InputError("--entropies: standard input cannot be read here; name a file")
    with checked_stream(options.input) as text:
        lines = scored_lines(text, options) if options.model is not None else _read_entropies(text, options.entropies)
        while batch := list(islice(lines, _SENTENCES_PER_BATCH)):
            sentences, entropies = zip(*batch, strict=True)
            yield segment_by_entropy(sentences, entropies, boundaries, options.isolate)


def _read_entropies(text: "TextInput", source: str) -> Iterator["Line"]:
    """The lines of a text with their entropies from a file. It is read once before, so that errors come first."""
    from tokenlab.entropy.scored_lines import read_entropy_lines

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
    from tokenlab.segment.by_statistics import Segmenter
    from tokenlab.text.lines import checked_stream

    counted, chosen = options_from(options, StatisticsOptions), options_from(options, SegmentOptions)
    if options.statistics_from == "-":
        raise InputError("--statistics-from: standard input cannot be read here; name a file")
    with checked_stream(options.input) as text:
        statistics = _statistics(options.statistics_from, text, counted)
        with named_as_flags(SegmentOptions):
            segmenter = Segmenter(statistics, chosen)
        yield from segmenter.segment(with_progress(text.lines(), "segmenting"))


def _statistics(source: str | None, text: "TextInput", options: StatisticsOptions) -> "NgramStatistics":
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
