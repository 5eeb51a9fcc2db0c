"""Options of the training of language models."""

from dataclasses import dataclass
from typing import Literal

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, check_least, option
from tokenlab.translation.options import check_device_name

Dtype = Literal["float32", "bfloat16"]
"""Number format of matrix products. Weights, optimizer and losses are always float32."""


@dataclass(frozen=True)
class LanguageTraining:
    """Settings of a training. Raises ParameterError for values out of range.

    A batch is `batch` rows of whole pieces, at most `context` bytes each, whatever the network reads: at equal options,
    all networks see the same bytes in every update. weight_decay: decoupled (Loshchilov & Hutter 2019), of the blocks'
    matrices; not of embeddings and norms. threads: results differ between numbers of threads in the last digits.
    processes: with several, each batch is divided among them and gradients are averaged; on GPUs each process has its
    own. evaluate_bytes: pieces are taken in their order until they have this many bytes.
    """

    steps: int = option("updates", metavar="N")
    batch: int = option("rows in each update", metavar="N")
    context: int = option("bytes of a row, and of the longest piece", metavar="N")
    learning_rate: float = option("the highest learning rate, reached after the warm-up", metavar="X")
    final_learning_rate: float = option("learning rate of the last update", 0.0, metavar="X")
    warmup: int = option("updates during which the learning rate rises", 0, metavar="N")
    weight_decay: float = option("decoupled weight decay of the blocks' matrices", 0.1, metavar="X")
    gradient_clip: float = option("greatest norm of all gradients together", 1.0, metavar="X")
    evaluate_every: int = option("updates between evaluations; the last update is always evaluated", 100, metavar="N")
    evaluate_bytes: int | None = option("bytes of held-out text in each evaluation", None, metavar="N", none="all")
    seed: int = option("seed of the order of the pieces", 0, metavar="N")
    threads: int = option("threads of PyTorch on the CPU", 1, metavar="N")
    processes: int = option("processes that divide each batch", 1, metavar="N")
    device: str = option("device of the training", "cpu", metavar="cpu|cuda|cuda:N")
    dtype: Dtype = option("number format of matrix products", "float32")
    compile: bool = option("compile the network with torch.compile", False)

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "evaluate_every", "evaluate_bytes", "threads", "processes"):
            check_least(name, getattr(self, name), 1)
        check_least("context", self.context, 4)
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
