"""`tokenlab patches learn`: a second BPE inside the tokens of a tokenizer."""

import argparse
import sys

from tokenlab.cli.options import named_as_flags
from tokenlab.cli.output import check_output, named_errors, written
from tokenlab.cli.patches.checks import check_most

TOKENIZER = (
    "tokenizer.json, a SentencePiece .model, a tiktoken rank file, tekken.json, GPT-2's vocabulary beside its merges, "
    "or a folder with one of them"
)
_DESCRIPTION = """\
Learn the merges with which every token of a BPE tokenizer fits into S symbols: bytes, merges, and the end-of-patch
marker, which counts. Special tokens take no part.

lines printed:
  tokens X           of the vocabulary, each spelling once
  merges X
  vocabulary X       symbols: 256 bytes, the marker, the merges
  mean patch X       symbols of a token, the marker included
  largest patch X"""


def add_parser(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the action."""
    parser = actions.add_parser(
        "learn",
        help="learn a second BPE that shortens the tokens of a tokenizer",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--tokenizer", metavar="FILE", required=True, help=TOKENIZER)
    parser.add_argument(
        "-S",
        "--longest",
        type=int,
        default=10,
        metavar="S",
        help="most symbols of a token, the marker included (default 10)",
    )
    parser.add_argument("-o", "--output", required=True, metavar="PATCHES.json", help="write the merges there")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from tokenlab.formats.byte_level import PAIRS
    from tokenlab.formats.tokenizer_file import tokenizer_file
    from tokenlab.tokenizers.hierarchical import learn_hierarchical, vocabulary_of

    check_most("-S", options.longest)
    file = tokenizer_file(options.tokenizer)
    pair = [str(file.with_name(PAIRS[file.name]))] if file.name in PAIRS else []
    check_output("--output", options.output, [str(file), *pair], endings=[".json"])
    tokens = vocabulary_of(options.tokenizer)
    with named_errors(options.tokenizer), named_as_flags(longest="-S"):
        learned = learn_hierarchical(tokens, options.longest)
    lengths = learned.lengths(tokens)
    with written(options.output):
        learned.save(options.output)
    sys.stdout.write(
        f"tokens {len(tokens)}\nmerges {len(learned.merges)}\nvocabulary {learned.size}\n"
        f"mean patch {lengths.mean():.4f}\nlargest patch {lengths.max()}\n"
    )
