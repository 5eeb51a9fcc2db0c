"""Options of scoring texts with a language model."""

from dataclasses import dataclass
from typing import Literal

from tokenlab.core.devices import AutoDtype
from tokenlab.core.options import check_choice, check_least, option

Unit = Literal["characters", "bytes"]


@dataclass(frozen=True)
class DeviceOptions:
    """Where a language model computes, and in which numbers."""

    device: str = option("every GPU (auto), else the CPU; or one device", "auto", metavar="auto|cpu|cuda|cuda:N")
    dtype: AutoDtype = option(
        "number format of the layers (auto: bfloat16 on GPUs that support it); the softmax is always float32", "auto"
    )
    threads: int | None = option("threads on the CPU (default: one per core)", None, metavar="N")

    def __post_init__(self) -> None:
        check_choice("dtype", self.dtype, AutoDtype)
        check_least("threads", self.threads, 1)


@dataclass(frozen=True)
class ScoringOptions:
    """How texts go through a model. None is the default of model and device."""

    context: int | None = option(
        "tokens that the model sees at most, prefix included (default: its own limit, up to 1024)", None, metavar="N"
    )
    stride: int | None = option(
        "tokens from one window of a longer sentence to the next (default: half the context)", None, metavar="N"
    )
    batch_tokens: int | None = option(
        "tokens in a batch, padding included (default: 1024 on CPU, 16384 on GPU)", None, metavar="N"
    )
    unit: Unit = option("one value per character, or per byte of UTF-8", "characters")

    def __post_init__(self) -> None:
        check_choice("unit", self.unit, Unit)
        for name in ("context", "stride", "batch_tokens"):
            check_least(name, getattr(self, name), 1)
