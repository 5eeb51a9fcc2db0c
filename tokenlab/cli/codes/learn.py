"""`tokenlab codes learn`: a code from a text, with the numbers of its training on standard output."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from tokenlab.cli.inputs.corpus import Corpus, open_corpus
from tokenlab.cli.options import add_options, field_names, flag_of, named_as_flags, options_from
from tokenlab.cli.output import check_output, written
from tokenlab.codes.registry import KINDS
from tokenlab.core.errors import InputError, ParameterError

if TYPE_CHECKING:
    from tokenlab.codes.corpus import CharacterCorpus
    from tokenlab.codes.interface import Code

PRINTED = """\
lines printed of latom, numbers in full precision:
  iteration I log-likelihood X    before every M-step and after the last, in nats
  objective X                     of the assignment, in nats; the best possible
  random objective X              mean over random assignments
  gap X                           the difference
  restart I tokens X              with --restarts: of the corpus, cut by BPE
  chosen restart I                the one with the fewest; the other lines describe it
  tokens before refinement X      with --refine: of the corpus, cut by BPE
  tokens after refinement X
  mutual information before X     of adjacent atoms, in bits
  mutual information X
Nothing is printed of the other codes."""


def add_code_options(parser: argparse.ArgumentParser) -> None:
    """Add the kind of code and the options of all kinds; the parsed arguments hold only the given options."""
    parser.add_argument("--code", required=True, choices=list(KINDS), help="kind of code")
    parser.add_argument("-o", "--output", required=True, metavar="CODE.json", help="write the code there")
    with_tables = ", ".join(name for name, kind in KINDS.items() if kind.table)
    parser.add_argument(
        "--tables", metavar="FOLDER", default=argparse.SUPPRESS, help=f"of {with_tables}: the downloaded tables"
    )
    kinds_of: dict[type, list[str]] = {}
    for name, kind in KINDS.items():
        for options in kind.options:
            kinds_of.setdefault(options, []).append(name)
    for title in dict.fromkeys(map(" and ".join, kinds_of.values())):
        group = parser.add_argument_group(title, argument_default=argparse.SUPPRESS)
        for options, names in kinds_of.items():
            if " and ".join(names) == title:
                add_options(group, options)


def learn(options: argparse.Namespace) -> None:
    """Learn a code, write it, and print the numbers of its training."""
    from tokenlab.codes.interface import write_code

    given = _given(options)
    inputs = [options.input, getattr(options, "tables", None)]
    check_output("--output", options.output, inputs, endings=[".json"])
    with open_corpus(options) as text:
        corpus = _corpus(text)
    try:
        code = _learned(options.code, corpus, given)
    except InputError as error:
        raise error if KINDS[options.code].table else text.named(error) from None
    _check_described(code, text.name)
    with written(options.output):
        write_code(_with_table_order(code, corpus), options.output)
    if options.code == "latom":
        sys.stdout.write("".join(f"{line}\n" for line in _figures(code.facts)))


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The options of the code that were given, checked.

    Raises ParameterError for a bad value, and for an option that this kind of code does not have.
    """
    own = KINDS[options.code]
    every = [field for kind in KINDS.values() for options_of in kind.options for field in fields(options_of)]
    flags = {"tables": "--tables"} | {field.name: flag_of(field) for field in every}
    given = {name: value for name, value in vars(options).items() if name in flags}
    known = {name for kind in own.options for name in field_names(kind)} | ({"tables"} if own.table else set())
    for name in given:
        if name not in known:
            raise ParameterError(f"{flags[name]}: the code `{options.code}` has no such option")
    for kind in own.options:
        options_from(options, kind)
    return given


def _corpus(text: Corpus) -> "CharacterCorpus":
    from tokenlab.codes.corpus import character_corpus

    try:
        return character_corpus(text.texts("reading"))
    except InputError as error:
        raise text.named(error) from None


def _learned(kind: Any, corpus: "CharacterCorpus", given: dict[str, Any]) -> "Code":
    from tokenlab.codes.registry import learn_code

    with tqdm(desc="learning", unit=" iterations", disable=None, leave=False) as bar:
        if KINDS[kind].iterative:
            given = given | {"progress": lambda *_: bar.update()}
        with named_as_flags(*KINDS[kind].options, tables="--tables"):
            return learn_code(kind, corpus, **given)


def _check_described(code: "Code", name: str) -> None:
    """Refuse a code of components that takes no character of the text apart: each would stand for itself."""
    from tokenlab.codes.baselines import ComponentCode

    if isinstance(code, ComponentCode) and all(len(names) == 1 for names in code.components.values()):
        raise InputError(
            f"{name}: the table of the code `{code.kind}`, which describes Chinese characters, takes none of its "
            "characters apart; learn another code, such as latom, byte or random"
        )


def _with_table_order(code: "Code", corpus: "CharacterCorpus") -> "Code":
    """A codebook of atoms with the order of its table, for `tokenlab codes show`; another code as it is."""
    from tokenlab.codes.codebook import Codebook
    from tokenlab.codes.table import with_table_order

    return with_table_order(code, corpus) if isinstance(code, Codebook) and KINDS[code.kind].shaped else code


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
