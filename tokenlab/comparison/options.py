"""Options of a comparison."""

from dataclasses import dataclass
from typing import Literal

from tokenlab.core.devices import check_device_name
from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, check_least, option
from tokenlab.core.shards import check_workers

BodySize = Literal["tiny", "mini", "base"]
"""Of `tokenlab.networks.options.SIZES`."""


@dataclass(frozen=True)
class CompareOptions:
    """How candidates are compared.

    flops: None measures what this machine trains in `minutes`. vocabulary: of the candidates that are trained; None:
    4,000, or twice the different characters of the text, where that is more.

    Raises ParameterError for values out of range.
    """

    minutes: float = option("about how long all of it may take, where --flops is not given", 20.0, metavar="M")
    flops: float | None = option(
        "operations of each training; the same number and seed give the same bytes (default: what fits in --minutes)",
        None,
        metavar="N",
    )
    seeds: int | None = option(
        "trainings of each candidate (default: 7 of two candidates, 4 of three, 3 of more)", None, metavar="N"
    )
    seed: int = option("the first of the seeds, and that of the division of the text", 0, metavar="S")
    size: BodySize = option("size of the models", "tiny")
    vocabulary: int | None = option(
        "entries of the candidates that are trained (default: 4,000, more in scripts of many characters, "
        "fewer for a short text)",
        None,
        metavar="N",
    )
    batch: int = option("rows of 512 bytes in each update", 2, metavar="N")
    workers: int = option("trainings at a time", 2, metavar="N")
    device: str = option("device of the trainings, which share it", "cpu", metavar="cpu|cuda|cuda:N")

    def __post_init__(self) -> None:
        for name in ("minutes", "flops"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise ParameterError(f"{name} is {value}; it must be a number above 0")
        check_least("seeds", self.seeds, 2)
        check_least("seed", self.seed, 0)
        check_choice("size", self.size, BodySize)
        check_least("vocabulary", self.vocabulary, 257)
        check_least("batch", self.batch, 1)
        check_workers(self.workers)
        check_device_name(self.device)
