"""`tokenlab exact complete`: a prompt completed in three ways side by side."""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from tokenlab.cli.exact.model_options import add_model_options, cost_json, load_character_model
from tokenlab.cli.exact.text_argument import (
    add_text,
    bits,
    given_text,
    number,
    readable,
    shown_number,
    shown_text,
)
from tokenlab.cli.inputs.corpus import add_former_json, add_json
from tokenlab.cli.options import add_options, named_as_flags, options_from
from tokenlab.exact.options import CompletionOptions, ExactOptions

if TYPE_CHECKING:
    from tokenlab.exact.completion import Completion

_COLUMNS = ("way", "log2 by itself", "log2 exact", "text", "tokens")


def add_parser(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the action."""
    parser = actions.add_parser(
        "complete",
        help="complete a prompt that may end inside a word: exactly, by plain prompting, by token healing",
        description="Complete a prompt in three ways. exact: from the distribution of texts that start with the "
        "prompt. plain: tokens after the encoding of the prompt as it is. healing: the last tokens of this encoding "
        "are dropped, and the next token begins with their text. Of each: the logarithm of its probability by the way "
        "itself and in the exact distribution, the text, and the tokens chosen.",
        allow_abbrev=False,
    )
    add_text(parser, "PROMPT")
    add_options(parser, CompletionOptions)
    add_json(parser, "print one object; without, a row for each way, cells separated by tabs")
    add_former_json(parser)
    add_model_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from tokenlab.exact.completion import complete

    chosen = options_from(options, CompletionOptions)
    prompt = given_text(options, "PROMPT")
    model = load_character_model(options)
    with named_as_flags(ExactOptions):
        found = complete(model, prompt, chosen)
    if options.json:
        print(json.dumps({"prompt": readable(prompt), **{way.way: _record(way) for way in found}}, ensure_ascii=False))
        return
    lines = ["\t".join(_COLUMNS), *map(_line, found)]
    sys.stdout.buffer.write("".join(line + "\n" for line in lines).encode())


def _line(found: "Completion") -> str:
    text = shown_text(found.text) + ("(end)" if found.ended else "")
    tokens = "|".join(shown_text(readable(token)) for token in found.tokens)
    own, exact = (shown_number(bits(value)) for value in (found.log_probability, found.exact))
    return "\t".join((found.way, own, exact, text, tokens))


def _record(found: "Completion") -> dict[str, object]:
    return {
        "text": found.text,
        "ended": found.ended,
        "log2": number(bits(found.log_probability)),
        "exact_log2": number(bits(found.exact)),
        "tokens": [readable(token) for token in found.tokens],
        "cost": cost_json(found.cost),
    }
