"""`tokenlab score`: precision, recall and F1 of a segmentation against gold words."""

import argparse
import json
import sys

from tokenlab.core.errors import InputError


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "score",
        help="score a segmentation against gold words",
        description="Compare two segmentations of the same text, one sentence per line, words separated by whitespace.",
        allow_abbrev=False,
    )
    parser.add_argument("gold", metavar="GOLD", help="the gold words; `-` is standard input")
    parser.add_argument("predicted", metavar="PREDICTED", help="the words to score; `-` is standard input")
    parser.add_argument(
        "--words", metavar="LIST", help="words of the training text, one per line: adds OOV and IV recall"
    )
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from tokenlab.metrics.registry import SEGMENTATION, of_segmentation
    from tokenlab.metrics.segmentation import score_segmentation
    from tokenlab.text.lines import read_lines

    if [options.gold, options.predicted, options.words].count("-") > 1:
        raise InputError("standard input can be only one of GOLD, PREDICTED and LIST; name files for the others")
    known = None if options.words is None else {line.strip() for line in read_lines(options.words)}
    gold, predicted = (map(str.split, read_lines(name)) for name in (options.gold, options.predicted))
    score = score_segmentation(gold, predicted, known, (options.gold, options.predicted))
    if not score.words.gold:
        raise InputError(f"{options.gold}: no word in it; nothing can be scored")
    values = of_segmentation(score)
    if options.format == "json":
        print(json.dumps(values))
        return
    for metric in SEGMENTATION:
        if known is not None or not metric.needs_known_words:
            shown = _shown(values[metric.name], metric.unit)
            sys.stdout.write(f"{metric.name.replace('_', ' '):<20}{shown:>12}\n")


def _shown(value: float | int | None, unit: str) -> str:
    if value is None:
        return "undefined"
    if unit == "share":
        return f"{100 * value:.2f} %"
    return str(value) if unit == "count" else f"{value:.4f} {unit}"
