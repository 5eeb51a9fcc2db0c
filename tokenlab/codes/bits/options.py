"""Options of a bit-level code."""

from dataclasses import dataclass
from typing import Literal

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, option

Mode = Literal["lossless", "paper"]
Emission = Literal["run", "change"]


@dataclass(frozen=True)
class BitOptions:
    """What a bit-level code rewrites, and when it writes a prefix.

    mode: at a byte that would be misread as a payload, `lossless` writes a reset, `paper` raises. prefixes: 3 are the
    paper's, for the lead bytes E4 to EF; 4 rewrite all three-byte characters, with kana, Thai and the Indic scripts.
    emission: `run` ends a run at every other token, as in the paper; with `change` (its future work) a prefix stays in
    force after other tokens, and is written again only where it differs.
    """

    mode: Mode = option("lossless: a reset where a byte could be misread; paper: an error there", "lossless")
    prefixes: int = option("rewrite the lead bytes E4-EF (3) or E0-EF (4)", 4, metavar="3|4")
    emission: Emission = option("write the prefix in every run, or only where it changes", "run")

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, Mode)
        check_choice("emission", self.emission, Emission)
        if isinstance(self.prefixes, bool) or self.prefixes not in (3, 4):
            raise ParameterError(f"prefixes is {self.prefixes!r}; use 3 or 4")


DEFAULT = BitOptions()
"""Lossless, with four prefixes, one at the beginning of every run."""
