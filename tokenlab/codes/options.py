"""Options of learned codes: their shape, and Latom's training and selection."""

from dataclasses import dataclass
from typing import Literal

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, check_least, option

Backend = Literal["auto", "hmmlearn"]
Refine = Literal["swaps"]

FLOOR = 1e-300
"""Smallest posterior whose logarithm is taken. It changes the result: after tens of iterations most are below it."""


@dataclass(frozen=True)
class CodeShape:
    """Size of a codebook, and the seed it is drawn with.

    K is None for the smallest with K^N >= |C|.
    """

    N: int = option("atoms of a character", 2, flag="-N", metavar="N")
    K: int | None = option(
        "atoms per digit; auto: the smallest K with K^N >= |C|", None, flag="-K", metavar="K", none="auto"
    )
    seed: int = option("the same seed gives the same bytes", 0, metavar="S")

    def __post_init__(self) -> None:
        check_least("seed", self.seed, 0)


@dataclass(frozen=True)
class LatomOptions:
    """Training of the HMM and the assignment of codes.

    floor: posteriors below it count as that much. backend: `hmmlearn` gives the same numbers as `auto`, up to rounding,
    slowly.
    """

    iterations: int = option("iterations of EM", 10, metavar="I")
    end_state: bool = option("learn where sequences end", False)
    floor: float = option("smallest posterior that counts", FLOOR, metavar="X")
    backend: Backend = option("hmmlearn: the same numbers, slowly", "auto")

    def __post_init__(self) -> None:
        check_least("iterations", self.iterations, 0)
        if not 0 < self.floor <= 1:
            raise ParameterError(f"floor is {self.floor}; it must be above 0 and at most 1")
        check_choice("backend", self.backend, Backend)


@dataclass(frozen=True)
class SelectionOptions:
    """Two steps beyond the paper: refinement of the assignment and restarts, with the choice left to BPE.

    vocabulary: entries at which tokens are counted; None: 300, or twice the alphabet where that is more.
    """

    refine: Refine | None = option("swap codes until atoms follow each other more regularly", None)
    restarts: int = option("learn R codes and keep the best", 1, metavar="R")
    vocabulary: int | None = option(
        "entries of the vocabulary at which BPE counts tokens (default: 300, or twice the alphabet)", None, metavar="V"
    )

    def __post_init__(self) -> None:
        if self.refine is not None:
            check_choice("refine", self.refine, Refine)
        check_least("restarts", self.restarts, 1)
