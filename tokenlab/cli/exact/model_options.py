"""The model of `tokenlab exact`: its options, loading, and what it cost."""

import argparse
from typing import TYPE_CHECKING

from tokenlab.cli.options import add_options, imports_for_models, named_as_flags, options_from
from tokenlab.exact.options import ExactOptions, PlaceOptions

if TYPE_CHECKING:
    from tokenlab.exact.character_model import CharacterModel
    from tokenlab.exact.interface import Cost

_NO_FLAG = ("truncate",)
"""It is on by default; the flag is `--no-truncate`."""


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a model and of how its probabilities are summed."""
    group = parser.add_argument_group("language model")
    group.add_argument(
        "--model",
        required=True,
        metavar="FOLDER_OR_NAME",
        help="a folder with a model of `transformers` (safetensors), or a name on the Hugging Face hub",
    )
    add_normalizer_flag(group)
    add_options(group, PlaceOptions)
    group = parser.add_argument_group("probabilities")
    add_options(group, ExactOptions, without=_NO_FLAG)
    group.add_argument(
        "--no-truncate",
        dest="truncate",
        action="store_false",
        help="leave probability on tokens that no text's encoding has there; sums are then below 1",
    )


def add_normalizer_flag(target: argparse._ActionsContainer) -> None:
    """Add `--ignore-normalizer`."""
    target.add_argument(
        "--ignore-normalizer",
        action="store_true",
        help="use a tokenizer that changes texts, such as by lower case or NFC, without this step: all texts must be "
        "normalised already, and the probabilities are those of normalised texts; refused without",
    )


def load_character_model(options: argparse.Namespace) -> "CharacterModel":
    """The model of the command line.

    Raises InputError and SourceError for a model that cannot be loaded or used, ParameterError for options.
    """
    place, chosen = options_from(options, PlaceOptions), options_from(options, ExactOptions)
    with imports_for_models():
        from tokenlab.exact.character_model import CharacterModel
        from tokenlab.exact.transformers_model import load
    with named_as_flags(PlaceOptions, ExactOptions, model="--model"):
        model, real = load(
            options.model,
            threads=place.threads,
            device=place.device,
            dtype=place.dtype,
            ignore_normalizer=options.ignore_normalizer,
        )
        return CharacterModel(model, real.automaton, chosen)


def cost_json(cost: "Cost") -> dict[str, int]:
    """What a result took, for `--json`."""
    return cost._asdict()


def cost_line(cost: "Cost") -> str:
    """What a result took, as a line of text."""
    undefined = f", {cost.undefined:,} contexts undefined" if cost.undefined else ""
    return f"{cost.contexts:,} contexts, {cost.passes:,} passes, {cost.tokens:,} tokens evaluated{undefined}\n"
