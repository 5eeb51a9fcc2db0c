"""Flags made from dataclasses of options."""

import argparse
from dataclasses import dataclass
from typing import Literal

import pytest

from tokenlab.cli.options import add_options, named_as_flags, options_from
from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, check_least, option

Colour = Literal["red", "blue"]


@dataclass(frozen=True)
class Toy:
    """One option of every type."""

    size: int = option("its size", 3, metavar="S")
    share: float = option("part of it, in %", 0.5)
    colour: Colour = option("its colour", "red")
    loud: bool = option("with noise", False)
    limit: int | None = option("greatest size (default: none)", None)
    count: int | None = option("how many", None, none="auto")
    height: Colour | float = option("a name or a number", "blue")
    weight_of_it: float = option("its weight", 1.0, flag="--lambda", aliases=("--mass",))

    def __post_init__(self) -> None:
        check_least("size", self.size, 1)
        check_choice("colour", self.colour, Colour)


def parsed(line: str, **settings: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False, **settings)
    add_options(parser.add_argument_group(), Toy)
    return parser.parse_args(line.split())


def test_defaults_are_those_of_the_dataclass():
    assert options_from(parsed(""), Toy) == Toy()


def test_every_type():
    line = "--size 4 --share .25 --colour blue --loud --limit 9 --count 2 --height 1.5 --lambda 7"
    assert options_from(parsed(line), Toy) == Toy(4, 0.25, "blue", True, 9, 2, 1.5, 7.0)
    assert options_from(parsed("--count auto --height red --mass 2"), Toy) == Toy(height="red", weight_of_it=2.0)


@pytest.mark.parametrize("line", ["--size x", "--colour green", "--count some", "--limit 1.5"])
def test_values_of_another_type_are_refused(line):
    with pytest.raises(argparse.ArgumentError, match=line.split()[0]):
        parsed(line)


def test_only_the_given_options_where_defaults_are_suppressed():
    given = parsed("--size 4", argument_default=argparse.SUPPRESS)
    parser = argparse.ArgumentParser(argument_default=argparse.SUPPRESS)
    add_options(parser, Toy, only=["size", "share"])
    assert vars(parser.parse_args(["--size", "4"])) == {"size": 4}
    assert options_from(given, Toy) == Toy(4)


def test_errors_name_the_flag():
    with pytest.raises(ParameterError, match=r"^--size is 0"):
        options_from(parsed("--size 0"), Toy)
    for message, named in [
        ("weight_of_it is 1", "--lambda is 1"),
        ("lambda: 1", "--lambda: 1"),
        ("sizes is", "sizes is"),
    ]:
        with pytest.raises(ParameterError, match=f"^{named}"), named_as_flags(Toy):
            raise ParameterError(message)
