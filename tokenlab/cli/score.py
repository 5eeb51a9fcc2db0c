"""`tokenlab score`: precision, recall and F1 of a segmentation against gold words."""

import argparse
import json
import sys

from tokenlab.errors import InputError


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "score",
        help="score a segmentation against gold words",
        description="Compare two segmentations of the same text, a sentence a line, words separated by whitespace.",
        allow_abbrev=False,
    )
    parser.add_argument("gold", metavar="GOLD", help="the right words; `-` is standard input")
    parser.add_argument("predicted", metavar="PREDICTED", help="the words to score; `-` is standard input")
    parser.add_argument(
        "--words", metavar="LIST", help="words of the training text, one a line: adds OOV and IV recall"
    )
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from tokenlab.metrics import score_segmentation
    from tokenlab.text.lines import read_lines

    if [options.gold, options.predicted, options.words].count("-") > 1:
        raise InputError("standard input can be only one of GOLD, PREDICTED and LIST; name files for the others")
    known = None if options.words is None else {line.strip() for line in read_lines(options.words)}
    gold, predicted = (map(str.split, read_lines(name)) for name in (options.gold, options.predicted))
    score = score_segmentation(gold, predicted, known, (options.gold, options.predicted))
    if not score.words.gold:
        raise InputError(f"{options.gold}: no word in it; nothing can be scored")
    figures = score.as_dict()
    if options.format == "json":
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        shown = "undefined" if value is None else f"{100 * value:.2f} %" if isinstance(value, float) else str(value)
        if known is not None or not name.startswith(("oov", "iv")):
            sys.stdout.write(f"{name.replace('_', ' '):<20}{shown:>12}\n")
