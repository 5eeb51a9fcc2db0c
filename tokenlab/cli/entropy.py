"""`tokenlab entropy`: the entropy of a language model's prediction at every character of a text."""

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokenlab.cli.options import add_options, imports_for_models, named_as_flags, options_from
from tokenlab.cli.output import check_parquet, named_errors, with_progress
from tokenlab.entropy.options import DeviceOptions, ScoringOptions

if TYPE_CHECKING:
    from tokenlab.entropy.scored_lines import Line
    from tokenlab.text.lines import TextInput


_NO_FLAG = ("unit",)
"""The values are always one per character."""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "entropy",
        help="how unsure a language model is at every character",
        description="The entropy, in nats, of a causal language model's prediction at each character of a text, one "
        "sentence per line. Characters inside a token of the model have no value.",
        allow_abbrev=False,
    )
    parser.add_argument("input", metavar="INPUT", help="UTF-8 text, one sentence per line; `-` is standard input")
    parser.add_argument(
        "--model",
        required=True,
        metavar="FOLDER_OR_NAME",
        help="a folder with a model of `transformers` (safetensors), or a name on the Hugging Face hub",
    )
    parser.add_argument("-o", "--output", metavar="FILE.parquet", help="write the values there, and print nothing")
    parser.add_argument(
        "--format",
        choices=["text", "json"],
        default="text",
        help="text (default): a line for each character, its value after a tab, and an empty line after each "
        "sentence; json: a line with `text` and `entropy`, a list with a value or null for each character",
    )
    add_scoring_options(parser)
    parser.set_defaults(run=_run)


def add_scoring_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of scoring with a model."""
    group = parser.add_argument_group("language model")
    add_options(group, DeviceOptions)
    add_options(group, ScoringOptions, without=_NO_FLAG)


def scored_lines(text: "TextInput", options: argparse.Namespace) -> Iterator["Line"]:
    """Each line of a text with its entropies, by the model and the options of the command line.

    The model is loaded, and its errors are raised, before the first line is read.
    """
    place, chosen = options_from(options, DeviceOptions), options_from(options, ScoringOptions, without=_NO_FLAG)
    with imports_for_models():
        import torch

        from tokenlab.entropy.scorer import load_scorer
    if place.threads is not None:
        torch.set_num_threads(place.threads)
    with named_as_flags(DeviceOptions, ScoringOptions, model="--model"):
        scorer = load_scorer(options.model, place.device, place.dtype)
        scorer.window(chosen)
    return _scored(scorer.score_stream(with_progress(text.lines(), "scoring"), chosen), text.name)


def _scored(lines: Iterator["Line"], name: str) -> Iterator["Line"]:
    with named_errors(name):
        yield from lines


def _run(options: argparse.Namespace) -> None:
    from tokenlab.entropy.scored_lines import json_line, write_parquet
    from tokenlab.text.lines import checked_stream

    if options.output is not None:
        check_parquet(options.output, options.input)
    with checked_stream(options.input) as text:
        lines = scored_lines(text, options)
        if options.output is not None:
            write_parquet(lines, options.output)
            return
        for sentence, values in lines:
            if options.format == "json":
                sys.stdout.buffer.write(json_line(sentence, values).encode())
                continue
            cells = [f"{c}\t{'' if v != v else f'{v:.6f}'}\n" for c, v in zip(sentence, values.tolist(), strict=True)]
            sys.stdout.buffer.write(("".join(cells) + "\n").encode())
