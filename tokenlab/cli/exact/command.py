"""`tokenlab exact`: character-level probabilities of a tokenized language model, and the check of a tokenizer."""

import argparse

from tokenlab.cli.exact import completions, following, premises, samples, scores

_DESCRIPTION = (
    "Exact probabilities of characters and texts by a language model over tokens: sums over all token sequences that "
    "spell the text, as the tokenizer would produce them."
)


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "exact",
        help="character-level probabilities of a tokenized language model",
        description=_DESCRIPTION,
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for action in (following, scores, samples, completions, premises):
        action.add_parser(actions)
