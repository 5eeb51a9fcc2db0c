"""Options of patchers."""

from dataclasses import dataclass
from typing import Literal

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, check_least, option

PatcherKind = Literal["bpe", "space", "entropy", "character", "fixed", "learned"]
EntropyRule = Literal["threshold", "monotone", "both"]

PUBLISHED_THRESHOLD = 1.335442066192627
"""Nats, as published with BLT's entropy model. It belongs to that model: on others, patches have other lengths."""


@dataclass(frozen=True)
class SpaceOptions:
    """Patches that end with a spacelike byte. Raises ParameterError for a cap below 1."""

    cap: int | None = option("most bytes of a patch", None, metavar="BYTES", none="none")

    def __post_init__(self) -> None:
        check_least("cap", self.cap, 1)


@dataclass(frozen=True)
class FixedOptions:
    """Patches of equal length. Raises ParameterError for a length below 1."""

    length: int = option("bytes of a patch; the last one has the rest", 4, metavar="BYTES")

    def __post_init__(self) -> None:
        check_least("length", self.length, 1)


@dataclass(frozen=True)
class EntropyOptions:
    """Where a patch begins, by the entropy of the next byte.

    Raises ParameterError for a cap below 1 and for a threshold or rise that is no number.
    """

    rule: EntropyRule = option(
        "threshold: a patch begins where the entropy exceeds the threshold; monotone: where it has risen by more than "
        "the rise; both: where it does both",
        "threshold",
    )
    threshold: float = option("entropy of the next byte in nats", PUBLISHED_THRESHOLD, metavar="NATS")
    rise: float = option("rise of the entropy from one byte to the next, in nats", 0.0, metavar="NATS")
    cap: int | None = option("most bytes of a patch", None, metavar="BYTES", none="none")

    def __post_init__(self) -> None:
        check_choice("rule", self.rule, EntropyRule)
        check_least("cap", self.cap, 1)
        for name in ("threshold", "rise"):
            if getattr(self, name) != getattr(self, name):
                raise ParameterError(f"{name} is no number; give it in nats")
