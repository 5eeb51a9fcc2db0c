"""Options of a training, the same for every network."""

import math
from dataclasses import dataclass

from tokenlab.core.devices import Dtype, check_device_name
from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, check_least, option


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Settings of a training. Raises ParameterError for values out of range.

    weight_decay: decoupled (Loshchilov & Hutter 2019), of the blocks' matrices; not of embeddings, norms and biases.
    accumulate: the gradients of an update are those of the whole batch, up to rounding, in the memory of a part of it.
    checkpoint_activations: activations inside the blocks are computed again in the backward pass instead of kept.
    threads: results differ between numbers of threads in the last digits. processes: with several, each batch is
    divided among them and gradients are averaged; on GPUs each process has its own. deterministic: on the CPU all
    operations are so anyway.
    """

    steps: int = option("updates", metavar="N")
    batch: int = option("rows in each update", metavar="N")
    learning_rate: float = option("the highest learning rate, reached after the warm-up", metavar="X")
    final_learning_rate: float = option("learning rate of the last update", 0.0, metavar="X")
    warmup: int = option("updates during which the learning rate rises", 0, metavar="N")
    weight_decay: float = option("decoupled weight decay of the blocks' matrices", 0.1, metavar="X")
    gradient_clip: float = option("greatest norm of all gradients together", 1.0, metavar="X")
    accumulate: int = option("parts in which each batch is computed, one after the other", 1, metavar="N")
    checkpoint_activations: bool = option("keep fewer activations, and compute them again", False)
    evaluate_every: int = option("updates between evaluations; the last update is always evaluated", 100, metavar="N")
    seed: int = option("seed of the weights, the order of the data and dropout", 0, metavar="N")
    threads: int = option("threads of PyTorch on the CPU", 1, metavar="N")
    processes: int = option("processes that divide each batch", 1, metavar="N")
    device: str = option("device of the training", "cpu", metavar="cpu|cuda|cuda:N")
    dtype: Dtype = option("number format of matrix products", "float32")
    deterministic: bool = option("deterministic algorithms alone on a GPU", True)
    compile: bool = option("compile the network with torch.compile", False)

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "accumulate", "evaluate_every", "threads", "processes"):
            check_least(name, getattr(self, name), 1)
        for name in ("weight_decay", "final_learning_rate", "seed"):
            check_least(name, getattr(self, name), 0)
        for name in ("learning_rate", "gradient_clip"):
            if not getattr(self, name) > 0:
                raise ParameterError(f"{name} is {getattr(self, name)}; it must be above 0")
        if not self.final_learning_rate <= self.learning_rate:
            raise ParameterError(
                f"final_learning_rate is {self.final_learning_rate}; it must be at most the learning rate, "
                f"{self.learning_rate}"
            )
        if not 0 <= self.warmup < self.steps:
            raise ParameterError(f"warmup is {self.warmup}; it must be from 0 to {self.steps - 1}, below the steps")
        check_choice("dtype", self.dtype, Dtype)
        check_device_name(self.device)
        if self.processes > self.batch:
            raise ParameterError(f"processes is {self.processes}; it must be at most the rows of a batch, {self.batch}")
        if self.processes > 1 and ":" in self.device:
            raise ParameterError(f"device is {self.device!r}, but there are {self.processes} processes; use cuda")

    def learning_rate_at(self, step: int) -> float:
        """The learning rate of update `step` (from 0): linear up to the highest, then half a cosine down to the final
        one, which the last update has."""
        high, low = self.learning_rate, self.final_learning_rate
        if step < self.warmup:
            return high * (step + 1) / (self.warmup + 1)
        share = (step - self.warmup) / max(1, self.steps - 1 - self.warmup)
        return low + (high - low) * (1 + math.cos(math.pi * share)) / 2
