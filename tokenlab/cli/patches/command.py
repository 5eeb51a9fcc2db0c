"""`tokenlab patches`: text as patches of bytes, and what models over patches cost."""

import argparse

from tokenlab.cli.patches import cut, flops, learn


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "patches",
        help="patches of bytes: cut texts, learn a second BPE, compare costs",
        description="Patches of bytes, for language models that read and predict a patch at a time: the tokens of a "
        "tokenizer, words by spaces, bytes up to one that is hard to predict, characters, or equal lengths.",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for action in (learn, cut, flops):
        action.add_parser(actions)
