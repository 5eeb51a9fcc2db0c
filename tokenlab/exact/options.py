"""Options of the estimators."""

from dataclasses import dataclass
from typing import Literal

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
