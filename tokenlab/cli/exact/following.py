"""`tokenlab exact next`: the characters that may follow a text, with their probabilities."""

import argparse
import json
import sys
from math import exp
from typing import TYPE_CHECKING

from tokenlab.cli.exact.model_options import add_model_options, cost_json, cost_line, load_character_model
from tokenlab.cli.exact.text_argument import (
    add_text,
    bits,
    given_text,
    number,
    readable,
    shown_character,
    shown_number,
)
from tokenlab.cli.inputs.corpus import add_former_json, add_json
from tokenlab.core.options import check_least

if TYPE_CHECKING:
    from tokenlab.exact.interface import NextCharacters


def add_parser(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the action."""
    parser = actions.add_parser(
        "next",
        help="the characters that may follow a text",
        description="The most probable characters after a text, and the probability that it ends there. A text may end "
        "inside a word, a token or a character.",
        allow_abbrev=False,
    )
    add_text(parser, "TEXT")
    parser.add_argument("--top", type=int, default=20, metavar="N", help="how many characters (default 20)")
    add_json(parser, "print one object; without, character, probability and its binary logarithm, separated by tabs")
    add_former_json(parser)
    add_model_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    check_least("--top", options.top, 1)
    text = given_text(options, "TEXT")
    model = load_character_model(options)
    found = model.next_character(text, options.top)
    printed = _json(found, text, options) if options.json else _text(found)
    sys.stdout.buffer.write(printed.encode())


def _json(found: "NextCharacters", text: bytes, options: argparse.Namespace) -> str:
    pairs = zip(found.characters, found.log_probability.tolist(), strict=True)
    record = {
        "text": readable(text),
        "estimator": options.estimator,
        "encodings": options.encodings,
        "characters": [{"character": character, **_probability(log_p)} for character, log_p in pairs],
        "end": _probability(found.end),
        "rest": _probability(found.rest),
        "pruned": float(found.pruned) + 0.0,
        "cost": cost_json(found.cost),
    }
    return json.dumps(record, ensure_ascii=False) + "\n"


def _probability(log_p: float) -> dict[str, float | None]:
    return {"probability": number(exp(log_p)), "log2": number(bits(log_p))}


def _text(found: "NextCharacters") -> str:
    rows = [
        (shown_character(character), log_p)
        for character, log_p in zip(found.characters, found.log_probability.tolist(), strict=True)
    ]
    rows += [("(end)", found.end), ("(others)", found.rest)]
    lines = [f"{name}\t{shown_number(exp(log_p), 6)}\t{shown_number(bits(log_p))}\n" for name, log_p in rows]
    pruned = f"pruned: {found.pruned:.2e} of the probability\n" if found.pruned else ""
    return "".join(lines) + pruned + cost_line(found.cost)
