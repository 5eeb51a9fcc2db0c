"""Options that several commands share, and the progress bar."""

import argparse
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from tokenlab.errors import ParameterError

if TYPE_CHECKING:
    from tokenlab.ngrams import StatisticsOptions


def add_statistical_options(parser: argparse.ArgumentParser) -> None:
    """Add what decides the n-gram statistics."""
    group = parser.add_argument_group("statistics")
    group.add_argument("--n-max", type=int, default=6, metavar="N", help="longest n-gram (default 6)")
    group.add_argument(
        "--count-tokens",
        choices=["ngram", "unigram", "bigram"],
        default="ngram",
        help="what T of the PMI counts: n-grams of 1..N (default), or those of one length",
    )
    group.add_argument(
        "--edge",
        choices=["skip", "symbol"],
        default="skip",
        help="an edge of a sentence is no neighbour (default), or one more neighbour",
    )
    group.add_argument(
        "--min-frequency",
        type=int,
        default=1,
        metavar="F",
        help="leave out longer n-grams than one character that are seen fewer times (default 1)",
    )
    group.add_argument(
        "--log-base", choices=["e", "2"], default="e", help="PMI and entropy in nats (e, default) or in bits (2)"
    )


def statistics_options(options: argparse.Namespace) -> "StatisticsOptions":
    """The options as the library takes them."""
    from tokenlab.ngrams import StatisticsOptions

    with named_as_options():
        return StatisticsOptions(
            n_max=options.n_max,
            count_tokens=options.count_tokens,
            edge=options.edge,
            min_frequency=options.min_frequency,
            log_base=options.log_base,
        )


def check_parquet(name: str) -> None:
    """`check_output` for the `--output` of commands that write Parquet there."""
    check_output("--output", name, ", since Parquet cannot be written to a stream")


def check_output(option: str, name: str, why: str = "") -> None:
    """Refuse a place that cannot be written to before any work is done. why: a file, no stream, must be named."""
    path = Path(name)
    if name in ("", "-"):
        raise ParameterError(f"{option} is {name!r}; name a file{why}")
    if not path.parent.is_dir():
        raise ParameterError(f"{option} is {name}, but there is no folder {path.parent}; make it first")
    if path.exists() and not path.is_file():
        raise ParameterError(f"{option} is {name}, which is no regular file; name another")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ParameterError(f"{option} is {name}, but nothing may be written to {path.parent}; name another place")


@contextmanager
def named_as_options() -> Iterator[None]:
    """Make errors about a parameter of the library name the option of the command: `n_max is 0` is `--n-max is 0`."""
    try:
        yield
    except ParameterError as error:
        raise ParameterError(re.sub(r"^\w+", lambda name: "--" + name[0].replace("_", "-"), str(error))) from None


def with_progress(lines: Iterable[str], what: str) -> Iterator[str]:
    """The lines, counted in characters on standard error where that is a terminal."""
    with tqdm(desc=what, unit=" characters", unit_scale=True, disable=None, leave=False) as bar:
        for line in lines:
            bar.update(len(line))
            yield line
