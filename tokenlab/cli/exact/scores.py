"""`tokenlab exact score`: bits per character and byte of texts, exact and of their one encoding."""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokenlab.cli.exact.model_options import add_model_options, cost_json, load_character_model
from tokenlab.cli.exact.text_argument import number, shown_number
from tokenlab.cli.inputs.corpus import Corpus, add_corpus, add_json, open_corpus
from tokenlab.cli.output import with_progress
from tokenlab.core.errors import InputError

if TYPE_CHECKING:
    from tokenlab.exact.character_model import CharacterModel
    from tokenlab.exact.scoring import TextScore

_COLUMNS = ("line", "characters", "bytes", "bits", "per character", "per byte", "naive bits", "naive per byte", "calls")


def add_parser(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the action."""
    parser = actions.add_parser(
        "score",
        help="bits per character of texts",
        description="The information of each text, one per line, in bits: exact, as the sum over all encodings, and "
        "naive, of the one encoding that the tokenizer gives. A text longer than the model's context is scored in "
        "overlapping windows.",
        allow_abbrev=False,
    )
    add_corpus(parser, optional=True)
    parser.add_argument("--with-end", action="store_true", help="add the information of where the text ends")
    add_json(parser, "print an object for each text, and the total as `total`; without, a table with a row for each")
    add_model_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from tokenlab.exact.scoring import TextScore, total

    with open_corpus(options, checked=True) as text:
        model = load_character_model(options)
        if options.with_end and model.model.end is None:
            raise InputError(f"{options.model}: the model has no EOS, so no text ends; leave --with-end out")
        if not options.json:
            sys.stdout.write("\t".join(_COLUMNS) + "\n")
        summed = TextScore()
        for place, score in enumerate(_scores(model, text), 1):
            summed = total([summed, score])
            _write(str(place), score, options)
        _write("total", summed, options)


def _scores(model: "CharacterModel", text: Corpus) -> Iterator["TextScore"]:
    from tokenlab.exact.scoring import score_texts

    # On a terminal, the rows themselves are the progress, and a bar would be written into them.
    lines = text.lines() if sys.stdout.isatty() else with_progress(text.lines(), "scoring")
    return score_texts(model, lines, where=f"{text.name}:")


def _write(place: str, score: "TextScore", options: argparse.Namespace) -> None:
    if options.json:
        record = _record(score)
        line = json.dumps({"total": record} if place == "total" else {"line": int(place), **record}) + "\n"
    else:
        exact = score.exact_bits_with_end if options.with_end else score.exact_bits
        naive = score.naive_bits_with_end if options.with_end else score.naive_bits
        values = (
            exact, score.per_character(exact), score.per_byte(exact), naive, score.per_byte(naive)
        )  # fmt: skip
        cells = [place, score.characters, score.bytes, *map(shown_number, values), score.cost.contexts]
        line = "\t".join(map(str, cells)) + "\n"
    sys.stdout.write(line)
    sys.stdout.flush()


def _record(score: "TextScore") -> dict[str, object]:
    exact, naive = score.exact_bits, score.naive_bits
    return {
        "texts": score.texts,
        "characters": score.characters,
        "bytes": score.bytes,
        "tokens": score.tokens,
        "windows": score.windows,
        "bits": number(exact),
        "bits_with_end": number(score.exact_bits_with_end),
        "bits_per_character": number(score.per_character(exact)),
        "bits_per_byte": number(score.per_byte(exact)),
        "naive_bits": number(naive),
        "naive_bits_with_end": number(score.naive_bits_with_end),
        "naive_bits_per_character": number(score.per_character(naive)),
        "naive_bits_per_byte": number(score.per_byte(naive)),
        "pruned": float(score.pruned) + 0.0,
        "cost": cost_json(score.cost),
    }
