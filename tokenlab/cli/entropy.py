"""`tokenlab entropy`: the entropy of a language model's prediction at every character of a text."""

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokenlab.cli.options import check_parquet, named_as_options, with_progress
from tokenlab.errors import InputError, ParameterError

if TYPE_CHECKING:
    from tokenlab.entropy.lines import Line
    from tokenlab.text.lines import TextInput


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "entropy",
        help="how unsure a language model is at every character",
        description="The entropy, in nats, of a causal language model's prediction before it sees each character of a "
        "text, a sentence a line. Characters inside a token of the model have no value.",
        allow_abbrev=False,
    )
    parser.add_argument("input", metavar="INPUT", help="UTF-8 text, a sentence a line; `-` is standard input")
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
        help="text (default): a line for each character, its value behind a tab, and an empty line behind each "
        "sentence; json: a line with `text` and `entropy`, a list with a value or null for each character",
    )
    add_scoring_options(parser)
    parser.set_defaults(run=_run)


def add_scoring_options(parser: argparse.ArgumentParser) -> None:
    """Add what decides how texts go through a model."""
    group = parser.add_argument_group("language model")
    group.add_argument(
        "--device", default="auto", metavar="auto|cpu|cuda|cuda:N", help="default auto: every GPU, else the CPU"
    )
    group.add_argument(
        "--dtype",
        choices=["auto", "float32", "bfloat16"],
        default="auto",
        help="of the layers (default auto: bfloat16 on GPUs that have it); the softmax is always float32",
    )
    group.add_argument(
        "--context", type=int, metavar="N", help="tokens that the model sees at most (default: its own, up to 1024)"
    )
    group.add_argument(
        "--stride",
        type=int,
        metavar="N",
        help="tokens from one window of a longer sentence to the next (default: half the context)",
    )
    group.add_argument(
        "--batch-tokens", type=int, metavar="N", help="tokens in a batch (default 1024 on CPU, 16384 on GPU)"
    )
    group.add_argument("--threads", type=int, metavar="N", help="threads on CPU (default: one a core)")


def scored_lines(text: "TextInput", options: argparse.Namespace) -> Iterator["Line"]:
    """Each line of a text with its entropies, by the model and the options of the command line.

    The model is loaded, and its errors are raised, before the first line is asked for.
    """
    with named_as_options():
        if options.threads is not None and options.threads < 1:
            raise ParameterError(f"threads is {options.threads}; it must be at least 1")
        try:
            import torch

            from tokenlab.entropy.scorer import ScoringOptions, load_scorer
        except ImportError as error:
            raise ParameterError(
                f"model needs {error.name}, which is not installed; pip install tokenlab[models]"
            ) from None
        if options.threads is not None:
            torch.set_num_threads(options.threads)
        chosen = ScoringOptions(context=options.context, stride=options.stride, batch_tokens=options.batch_tokens)
        scorer = load_scorer(options.model, options.device, options.dtype)
        scorer.window(chosen)
    return _scored(scorer.score_stream(with_progress(text.lines(), "scoring"), chosen), text.name)


def _scored(lines: Iterator["Line"], name: str) -> Iterator["Line"]:
    try:
        yield from lines
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _run(options: argparse.Namespace) -> None:
    from tokenlab.entropy.lines import json_line, write_parquet
    from tokenlab.text.lines import checked_stream

    if options.output is not None:
        check_parquet(options.output)
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
