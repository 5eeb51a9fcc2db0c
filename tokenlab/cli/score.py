"""`tokenlab score`: precision, recall and F1 of a segmentation against gold words."""

import argparse
from contextlib import ExitStack
from itertools import zip_longest

from tokenlab.cli.corpus import Corpus, add_json, open_source
from tokenlab.cli.options import Commands, add_command
from tokenlab.cli.output import check_stdin, json_line, note, write
from tokenlab.core.errors import InputError

_NAMED = 20
"""Lines that differ, as many as a message names."""


def add_parser(commands: Commands) -> None:
    parser = add_command(commands, _score, "score a segmentation against gold words")
    parser.add_argument("gold", metavar="GOLD", help="the gold words; `-` is standard input")
    parser.add_argument("predicted", metavar="PREDICTED", help="the words to score; `-` is standard input")
    words = "the words of the training text, separated by whitespace: adds OOV and IV recall"
    parser.add_argument("--words", metavar="LIST", help=words)
    skip = "leave out lines in which both differ in more than whitespace, and say which; without, there must be none"
    parser.add_argument("--skip-differing", action="store_true", help=skip)
    add_json(parser, "print one object")


def _score(options: argparse.Namespace) -> None:
    """Compare two segmentations of the same text, one sentence per line, words separated by whitespace."""
    from tokenlab.metrics.registry import SEGMENTATION, of_segmentation
    from tokenlab.metrics.segmentation import score_segmentation
    from tokenlab.text.lines import read_lines

    check_stdin(options.gold, options.predicted, options.words)
    known = None if options.words is None else {word for line in read_lines(options.words) for word in line.split()}
    with ExitStack() as stack:
        gold, predicted = (stack.enter_context(open_source(name)) for name in (options.gold, options.predicted))
        for text in (gold, predicted):
            if text.format != "text":
                raise InputError(
                    f"{text.name}: looks like {text.format}; name a text with words separated by whitespace, such as "
                    "`tokenlab segment` prints without --json"
                )
        differing = _differing(gold, predicted, options.skip_differing)
        right, ours = (
            (line.split() for number, line in enumerate(text.lines(), 1) if number not in differing)
            for text in (gold, predicted)
        )
        score = score_segmentation(right, ours, known, (gold.name, predicted.name))
    if not score.words.gold:
        raise InputError(f"{gold.name}: no word in it; nothing can be scored")
    values = of_segmentation(score)
    if options.json:
        write(json_line({**values, "skipped_lines": sorted(differing)} if options.skip_differing else values))
        return
    for metric in SEGMENTATION:
        if known is not None or not metric.needs_known_words:
            write(f"{metric.name.replace('_', ' '):<20}{_shown(values[metric.name], metric.unit):>12}\n")


def _differing(gold: Corpus, predicted: Corpus, skip: bool) -> set[int]:
    """The numbers of the lines in which two texts differ in more than whitespace; an error unless they are to be
    skipped."""
    found: dict[int, str] = {}
    number = 0
    for number, (right, ours) in enumerate(zip_longest(gold.lines(), predicted.lines()), 1):
        if right is None or ours is None:
            shorter, longer = (gold, predicted) if right is None else (predicted, gold)
            raise InputError(
                f"{shorter.name} ends before line {number} of {longer.name}; both must cut the same text, line by line"
            )
        right, ours = "".join(right.split()), "".join(ours.split())
        if right != ours:
            found[number] = "" if found else _difference(right, ours)
    if not found:
        return set()
    names = ", ".join(map(str, list(found)[:_NAMED])) + (" ..." if len(found) > _NAMED else "")
    counted = f"{len(found):,} of {number:,} lines"
    if not skip:
        raise InputError(
            f"{gold.name} and {predicted.name} differ in the characters of {counted}: {names}; the first "
            f"{next(iter(found.values()))}; both must cut the same text, and --skip-differing scores the other lines"
        )
    if len(found) == number:
        raise InputError(f"{gold.name} and {predicted.name} differ in the characters of every line; name two of a text")
    note(f"left out {counted}, whose characters differ: {names}")
    return set(found)


def _difference(gold: str, predicted: str) -> str:
    place = next(i for i, (a, b) in enumerate(zip_longest(gold, predicted)) if a != b)
    return f"from its character {place + 1} on ({gold[place : place + 8]!r} against {predicted[place : place + 8]!r})"


def _shown(value: float | int | None, unit: str) -> str:
    if value is None:
        return "undefined"
    if unit == "share":
        return f"{100 * value:.2f} %"
    return str(value) if unit == "count" else f"{value:.4f} {unit}"
