"""Options of a method, declared once: a field of a frozen dataclass with its type, its default and its help.

The library validates them in `__post_init__`, the pipeline reads them from params.yaml (`tasks.runtime.stage`), the
command line makes its flags from them (`tokenlab.cli.options`). The dataclasses of a package are in its module
`options.py`, which imports only the standard library and `tokenlab.core`, so that `tokenlab --help` starts at once.
"""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any, get_args

from tokenlab.core.errors import ParameterError


def option(
    help: str,
    default: Any = dataclasses.MISSING,
    *,
    flag: str | None = None,
    metavar: str | None = None,
    aliases: Sequence[str] = (),
    none: str | None = None,
) -> Any:
    """A field of a dataclass of options.

    Args:
        help: what the option decides, in half a sentence without the default.
        default: none for a required option.
        flag: its name on the command line, where this is not the field's name with hyphens, such as `--lambda` for
            `weight`.
        metavar: its value in the help of the command line; not needed for a `Literal`.
        aliases: further flags.
        none: the word that means None on the command line, such as `auto`.
    """
    metadata = {
        "help": help,
        "flag": flag,
        "metavar": metavar,
        "aliases": tuple(aliases),
        "none": none,
    }
    return dataclasses.field(default=default, metadata=metadata)


def check_choice(name: str, value: Any, choices: Any) -> None:
    """Check a value of a `Literal` type, or one of several names.

    Raises ParameterError naming the option and its choices.
    """
    names = get_args(choices) or choices
    if value not in names:
        raise ParameterError(f"{name} is {value!r}; use one of {', '.join(names)}")


def check_least(name: str, value: float | None, least: float) -> None:
    """Check that a number, unless it is None, is at least `least`.

    Raises ParameterError naming the option.
    """
    if value is not None and not value >= least:
        raise ParameterError(f"{name} is {value}; it must be at least {least}")


def size(name: str, given: str) -> int:
    """The number that is written as 50M, 2G and the like, in powers of 1,000.

    Raises ParameterError naming the option.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT])i?B?", given, re.IGNORECASE)
    if not found:
        raise ParameterError(f"{name} is {given!r}; it must be a number and K, M, G or T, such as 2G")
    return int(float(found[1]) * 1000 ** (1 + "KMGT".index(found[2].upper())))


@dataclasses.dataclass(frozen=True)
class MemoryOptions:
    """How much memory work may use that else grows with the text. The result does not depend on it.

    Raises ParameterError where it is no size of at least 500M.
    """

    memory: str | None = option(
        "keep within this much memory, such as 2G, with temporary files; the result is the same",
        None,
        metavar="SIZE",
        none="all",
    )

    def __post_init__(self) -> None:
        if self.memory is not None and self.bytes < _LEAST_MEMORY - _PROCESS:
            raise ParameterError(f"memory is {self.memory}; it must be at least 500M")

    @property
    def bytes(self) -> int:
        """What remains of it beside Python and its libraries."""
        return size("memory", self.memory or "") - _PROCESS


_PROCESS = 250_000_000
_LEAST_MEMORY = 500_000_000
