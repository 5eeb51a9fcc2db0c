"""`tokenlab codes learn`: a code from a text, and the figures of its learning on standard output."""

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from tokenlab.cli.options import check_output
from tokenlab.errors import InputError, ParameterError

if TYPE_CHECKING:
    from tokenlab.cli.sequences import Sequences
    from tokenlab.codes.code import Code
    from tokenlab.codes.corpus import CharacterCorpus

PRINTED = """\
lines printed of latom, numbers in full precision:
  iteration I log-likelihood X    before every M-step and after the last, in nats
  objective X                     of the assignment, in nats; no other is better
  random objective X              what a random assignment has on average
  gap X                           the difference
  restart I tokens X              with --restarts: of the corpus, cut by BPE
  chosen restart I                the one with the fewest; the lines above and below are of it
  tokens before refinement X      with --refine: of the corpus, cut by BPE
  tokens after refinement X
  mutual information before X     what an atom says about the next, in bits
  mutual information X
Nothing is printed of the other codes."""

_TABLES = ("radical", "stroke", "myte")
_FLAGS = {"N": "-N", "K": "-K"} | {
    name: "--" + name.replace("_", "-")
    for name in ("seed", "iterations", "end_state", "floor", "backend", "refine", "restarts", "tables")
}
"""Of the library's parameters. Each is in the namespace only where it was given."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what decides the code."""
    kinds = ["latom", "random", "character", "byte", *_TABLES]
    parser.add_argument("--code", required=True, choices=kinds, help="kind of code")
    parser.add_argument("-o", "--output", required=True, metavar="CODE.json", help="write the code there")
    parser.add_argument(
        "--tables", metavar="FOLDER", default=argparse.SUPPRESS, help=f"of {', '.join(_TABLES)}: the downloaded tables"
    )
    group = parser.add_argument_group("latom and random", argument_default=argparse.SUPPRESS)
    group.add_argument("-N", type=int, metavar="N", help="atoms of a character (default 2)")
    group.add_argument("-K", type=_number_or_auto, metavar="K", help="atoms of a digit (auto, default: as few as do)")
    group.add_argument("--seed", type=int, metavar="S", help="default 0; the same seed gives the same bytes")
    group = parser.add_argument_group("latom", argument_default=argparse.SUPPRESS)
    group.add_argument("--iterations", type=int, metavar="I", help="of EM (default 10)")
    group.add_argument("--end-state", action="store_true", help="learn where sequences end")
    group.add_argument("--floor", type=float, metavar="X", help="smallest posterior that counts (default 1e-300)")
    group.add_argument("--backend", choices=["auto", "hmmlearn"], help="hmmlearn: the same numbers, slowly")
    group.add_argument("--refine", choices=["swaps"], help="swap codes until atoms follow each other more regularly")
    group.add_argument("--restarts", type=int, metavar="R", help="learn R codes and keep the best (default 1)")


def _number_or_auto(value: str) -> int | None:
    try:
        return None if value == "auto" else int(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{value!r} is neither a number nor auto") from None


def learn(options: argparse.Namespace) -> None:
    """Learn a code, write it, and print the figures."""
    from tokenlab.cli.sequences import open_sequences
    from tokenlab.codes.saved import write_code

    given = {name: getattr(options, name) for name in _FLAGS if hasattr(options, name)}
    if "tables" in given and options.code not in _TABLES:
        raise ParameterError(f"--tables: the code `{options.code}` has no such option")
    if given.get("seed", 0) < 0:
        raise ParameterError(f"--seed is {options.seed}; it must be at least 0")
    check_output("--output", options.output)
    with open_sequences(options.input, options.format) as sequences:
        corpus = _corpus(sequences)
    try:
        code = _learned(options.code, corpus, given)
    except InputError as error:
        raise error if options.code in _TABLES else sequences.named(error) from None
    write_code(code, options.output)
    if options.code == "latom":
        sys.stdout.write("".join(f"{line}\n" for line in _figures(code.facts)))


def _corpus(sequences: "Sequences") -> "CharacterCorpus":
    from tokenlab.codes.corpus import character_corpus

    try:
        return character_corpus(sequences.texts("reading"))
    except InputError as error:
        raise sequences.named(error) from None


def _learned(kind: Any, corpus: "CharacterCorpus", given: dict[str, Any]) -> "Code":
    from tokenlab.codes.learn import learn_code

    if kind != "latom":
        with _named_as_options():
            return learn_code(kind, corpus, **given)
    with tqdm(desc="learning", unit=" iterations", disable=None, leave=False) as bar, _named_as_options():
        return learn_code(kind, corpus, progress=lambda *_: bar.update(), **given)


@contextmanager
def _named_as_options() -> Iterator[None]:
    """Make errors about a parameter of the library name the option of the command."""
    try:
        yield
    except ParameterError as error:
        names = "|".join(_FLAGS)
        raise ParameterError(re.sub(rf"^({names})(?=:| is )", lambda name: _FLAGS[name[0]], str(error))) from None


def _figures(facts: dict[str, Any]) -> Iterator[str]:
    """The lines of `PRINTED`."""
    for iteration, value in enumerate(facts["log_likelihood"]):
        yield f"iteration {iteration} log-likelihood {value!r}"
    yield f"objective {facts['objective']!r}"
    yield f"random objective {facts['random_objective']!r}"
    yield f"gap {facts['objective'] - facts['random_objective']!r}"
    if facts["tokens"] is not None:
        for restart, tokens in enumerate(facts["tokens"]):
            yield f"restart {restart} tokens {tokens}"
        yield f"chosen restart {facts['restart']}"
    if facts["refine"] is not None:
        yield f"tokens before refinement {facts['refined_tokens'][0]}"
        yield f"tokens after refinement {min(facts['refined_tokens'])}"
        yield f"mutual information before {facts['mutual_information_before']!r}"
        yield f"mutual information {facts['mutual_information']!r}"
