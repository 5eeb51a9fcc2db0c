"""Options of segmentation by the entropy of a language model."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import option

if TYPE_CHECKING:
    from tokenlab.segment.boundaries import Rule


def _rules() -> Mapping[str, "Rule"]:
    """The registry of rules, imported late: it needs NumPy."""
    from tokenlab.segment.boundaries import RULES

    return RULES


@dataclass(frozen=True)
class BoundaryOptions:
    """The rule that turns entropies into boundaries.

    rule: a name in `tokenlab.segment.boundaries.RULES`.
    threshold: in nats; required by the rules that have one, and an error with the others.
    """

    rule: str = option(
        "boundary before a character whose entropy is a local maximum (maxima), one of at least the threshold's "
        "prominence, above the threshold, or higher than the one before by more than it (rise)",
        "maxima",
        flag="--boundaries",
        choices=_rules,
    )
    threshold: float | None = option(
        "least prominence, entropy or rise at a boundary; needed by all but maxima", None, metavar="NATS"
    )

    def __post_init__(self) -> None:
        rules = _rules()
        if self.rule not in rules:
            raise ParameterError(f"rule is {self.rule!r}; use one of {', '.join(rules)}")
        if not rules[self.rule].needs_threshold and self.threshold is not None:
            raise ParameterError(f"threshold has no meaning with the rule `{self.rule}`; leave it out")
        if rules[self.rule].needs_threshold and (self.threshold is None or not math.isfinite(self.threshold)):
            raise ParameterError(f"threshold is {self.threshold}; the rule `{self.rule}` needs a number, in nats")
