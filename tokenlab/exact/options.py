"""Options of the estimators, of sampling and completion, and of where a model computes."""

from dataclasses import dataclass
from typing import Literal

from tokenlab.core.devices import AutoDtype
from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, check_least, option

Estimator = Literal["incremental", "bpc", "mpc", "naive"]
Encodings = Literal["valid", "all"]


@dataclass(frozen=True)
class ExactOptions:
    """Settings of the estimators. Raises ParameterError for values out of range.

    truncate: appendix G. Without it, sums over characters fall short of 1 for models that are not optimal.
    prune: contexts with a smaller share of the total probability are dropped; what is dropped is a part of the result.
        0 is exact.
    """

    estimator: Estimator = option("how probabilities of characters are computed", "incremental")
    encodings: Encodings = option("sum over the encodings that the tokenizer produces, or over all spellings", "valid")
    truncate: bool = option("remove impossible tokens from the model's distributions and renormalise them", True)
    prune: float = option("drop contexts with a smaller share of the probability", 0.0, metavar="X")
    max_contexts: int = option("largest number of contexts at one place of the text", 4096, metavar="N")

    def __post_init__(self) -> None:
        check_choice("estimator", self.estimator, Estimator)
        check_choice("encodings", self.encodings, Encodings)
        check_least("max_contexts", self.max_contexts, 1)
        if not 0 <= self.prune < 1:
            raise ParameterError(f"prune is {self.prune}; it must be at least 0 and below 1")


DEFAULT = ExactOptions()


SamplingUnit = Literal["characters", "bytes"]
Method = Literal["greedy", "sample", "beam"]


@dataclass(frozen=True)
class PlaceOptions:
    """Where a language model computes, and in which numbers."""

    device: str = option(
        "the first GPU, else the CPU (auto; for small GPT-2s always the CPU); or one device",
        "auto",
        metavar="auto|cpu|cuda|cuda:N",
    )
    dtype: AutoDtype = option(
        "number format of the model (auto: float32, also on GPUs; bfloat16 moves logits by 0.01); sums are in float64",
        "auto",
    )
    threads: int | None = option("threads on the CPU (default: one per core)", None, metavar="N")

    def __post_init__(self) -> None:
        check_choice("dtype", self.dtype, AutoDtype)
        check_least("threads", self.threads, 1)


@dataclass(frozen=True)
class SamplingOptions:
    """How the distribution of the next character is warped before it is sampled. The defaults do not warp it.

    With several of them, the order is top_k, top_p, temperature.

    unit: with `bytes`, each byte of UTF-8 is warped by itself, at no cost. With `characters`, whole characters are; for
        this the most probable characters are searched, which takes further model calls where they have several bytes.
    """

    temperature: float = option("exponent 1/X for the probabilities; 0 takes the most probable", 1.0, metavar="X")
    top_k: int | None = option("sample from the N most probable characters only (default: from all)", None, metavar="N")
    top_p: float | None = option(
        "sample from the fewest characters that have this share of the probability (default: from all)",
        None,
        metavar="P",
    )
    unit: SamplingUnit = option("what temperature, top-k and top-p work on", "characters")

    def __post_init__(self) -> None:
        check_choice("unit", self.unit, SamplingUnit)
        if not 0 <= self.temperature < float("inf"):
            raise ParameterError(f"temperature is {self.temperature}; it must be a number of at least 0")
        check_least("top_k", self.top_k, 1)
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ParameterError(f"top_p is {self.top_p}; it must be above 0 and at most 1")
        if self.temperature > 1 and self.unit == "characters" and self.top_k is None and self.top_p is None:
            raise ParameterError(
                f"temperature is {self.temperature}; above 1, every character there is gets a new probability, which "
                "takes thousands of model calls: give a top_k or top_p too, or the unit bytes"
            )

    @property
    def warps(self) -> bool:
        """Whether anything is changed."""
        return self.temperature != 1 or self.top_k is not None or (self.top_p is not None and self.top_p < 1)


@dataclass(frozen=True)
class CompletionOptions:
    """How prompts are completed."""

    length: int = option("characters after the prompt", 20, flag="-n", metavar="N")
    method: Method = option("take the most probable, sample, or keep the best token sequences", "greedy")
    beams: int = option("token sequences that `beam` keeps", 8, metavar="N")
    healed: int = option("tokens at the end of the prompt that token healing drops", 1, metavar="N")
    seed: int = option("seed of `sample`", 0, metavar="N")

    def __post_init__(self) -> None:
        check_choice("method", self.method, Method)
        for name in ("length", "beams", "healed"):
            check_least(name, getattr(self, name), 1)
        check_least("seed", self.seed, 0)
