"""The option of reading a text."""

from dataclasses import dataclass

from tokenlab.core.options import check_least, option

LONGEST_LINE = 64


@dataclass(frozen=True)
class LineOptions:
    """How long a line may be."""

    longest_line: int = option(
        "MiB that a line, verse or document may have; a longer one is an error, not all of memory",
        LONGEST_LINE,
        metavar="MIB",
    )

    def __post_init__(self) -> None:
        check_least("longest_line", self.longest_line, 1)
