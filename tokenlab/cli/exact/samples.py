"""`tokenlab exact sample`: text after a prompt, sampled character by character."""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokenlab.cli.exact.model_options import add_model_options, cost_json, load_character_model
from tokenlab.cli.exact.text_argument import add_text, bits, given_text, number, readable
from tokenlab.cli.inputs.corpus import add_former_json, add_json
from tokenlab.cli.options import add_options, named_as_flags, options_from
from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_least
from tokenlab.exact.options import ExactOptions, SamplingOptions

if TYPE_CHECKING:
    from tokenlab.exact.character_model import CharacterModel


def add_parser(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the action."""
    parser = actions.add_parser(
        "sample",
        help="sample text after a prompt, character by character",
        description="Sample the text after a prompt from the exact distribution of each next character, and print it "
        "as it comes. If the prompt ends inside a character, this character is printed as a whole.",
        allow_abbrev=False,
    )
    add_text(parser, "PROMPT")
    parser.add_argument("-n", type=int, default=200, metavar="N", help="characters at most (default 200)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the sample (default 0)")
    parser.add_argument(
        "--by",
        choices=["characters", "tokens"],
        default="characters",
        help="draw characters (default), or a cover of the prompt and then tokens: the same distribution, faster",
    )
    add_options(parser, SamplingOptions)
    add_json(parser, "print one object at the end; without, the text as it comes")
    add_former_json(parser)
    add_model_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    check_least("-n", options.n, 0)
    check_least("--seed", options.seed, 0)
    chosen = options_from(options, SamplingOptions)
    if options.by == "tokens" and chosen.warps:
        raise ParameterError("--by tokens knows no characters to warp; leave --temperature, --top-k and --top-p out")
    prompt = given_text(options, "PROMPT")
    model = load_character_model(options)
    if options.json:
        print(json.dumps(_record(model, prompt, options, chosen), ensure_ascii=False))
        return
    for piece in _pieces(model, prompt, options, chosen):
        sys.stdout.buffer.write(piece.encode())
        sys.stdout.buffer.flush()
    sys.stdout.buffer.write(b"\n")


def _pieces(
    model: "CharacterModel", prompt: bytes, options: argparse.Namespace, chosen: SamplingOptions
) -> Iterator[str]:
    if options.by == "tokens":
        from tokenlab.exact.token_walk import sample_by_tokens

        with named_as_flags(ExactOptions):
            return sample_by_tokens(model, prompt, options.n, seed=options.seed)
    from tokenlab.exact.sampling import sample_stream

    return (drawn.character for drawn in sample_stream(model, prompt, options.n, chosen, seed=options.seed))


def _record(
    model: "CharacterModel", prompt: bytes, options: argparse.Namespace, chosen: SamplingOptions
) -> dict[str, object]:
    if options.by == "tokens":
        text = "".join(_pieces(model, prompt, options, chosen))
        return {"prompt": readable(prompt), "text": text, "ended": len(text) < options.n}
    from tokenlab.exact.sampling import sample

    found = sample(model, prompt, options.n, chosen, seed=options.seed)
    return {
        "prompt": readable(prompt),
        "text": found.text,
        "ended": found.ended,
        "log2": number(bits(found.log_probability)),
        "cost": cost_json(found.cost),
    }
