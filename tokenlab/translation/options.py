"""Options of translation models: their size, their training, and how they generate."""

import re
from dataclasses import dataclass
from typing import Literal

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, check_least, option

Dtype = Literal["float32", "bfloat16"]
"""Number format of matrix products. Weights, optimizer and losses are always float32."""

Schedule = Literal["inverse_sqrt", "cosine"]
"""The learning rate after the warm-up: proportional to 1 / sqrt(step) as in Vaswani et al. (2017), whatever the number
of updates; or half a cosine down to 0 at the last update, which is better where that number is small."""


@dataclass(frozen=True)
class TranslationShape:
    """The size of an encoder-decoder Transformer. Raises ParameterError for an impossible size.

    layers: of the encoder, and as many of the decoder. dropout: as in Vaswani et al. (2017), of the embeddings and of
    the output of each sublayer; not of attention weights.
    """

    layers: int = option("blocks of the encoder, and of the decoder", metavar="N")
    width: int = option("size of the hidden states", metavar="N")
    heads: int = option("attention heads; they divide the width", metavar="N")
    feed_forward: int = option("inner size of the feed-forward layers", metavar="N")
    positions: int = option("longest sequence in tokens, the end included", metavar="N")
    dropout: float = option("share of activations set to zero in training", 0.0, metavar="X")

    def __post_init__(self) -> None:
        for name in ("layers", "heads", "feed_forward"):
            check_least(name, getattr(self, name), 1)
        check_least("width", self.width, 2)
        check_least("positions", self.positions, 2)
        if self.width % self.heads:
            raise ParameterError(f"heads is {self.heads}; it must divide the width, {self.width}")
        if not 0 <= self.dropout < 1:
            raise ParameterError(f"dropout is {self.dropout}; it must be at least 0 and below 1")


@dataclass(frozen=True)
class TranslationTraining:
    """Settings of a training. Raises ParameterError for values out of range.

    batch: padding counts. label_smoothing: Szegedy et al. (2016); held-out losses are without it. weight_decay:
    decoupled (Loshchilov & Hutter 2019), of the blocks' matrices; not of embeddings, norms and biases. threads: results
    differ between numbers of threads in the last digits. processes: with several, each batch is divided among them and
    gradients are averaged; on GPUs each process has its own.
    """

    steps: int = option("updates at most", metavar="N")
    batch: int = option("source and target tokens in each update, at most", metavar="N")
    learning_rate: float = option("the highest learning rate, reached after the warm-up", metavar="X")
    warmup: int = option("updates during which the learning rate rises", 0, metavar="N")
    schedule: Schedule = option("the learning rate after the warm-up", "inverse_sqrt")
    weight_decay: float = option("decoupled weight decay of the blocks' matrices", 0.01, metavar="X")
    label_smoothing: float = option("probability that targets share with all other tokens", 0.1, metavar="X")
    gradient_clip: float = option("greatest norm of all gradients together", 1.0, metavar="X")
    evaluate_every: int = option("updates between evaluations; the last update is always evaluated", 100, metavar="N")
    patience: int | None = option("evaluations without improvement that end the training", None, none="never")
    seed: int = option("seed of the weights, the order of the sentences and dropout", 0, metavar="N")
    threads: int = option("threads of PyTorch on the CPU", 1, metavar="N")
    processes: int = option("processes that divide each batch", 1, metavar="N")
    device: str = option("device of the training", "cpu", metavar="cpu|cuda|cuda:N")
    dtype: Dtype = option("number format of matrix products", "float32")

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "evaluate_every", "patience", "threads", "processes"):
            check_least(name, getattr(self, name), 1)
        for name in ("weight_decay", "seed"):
            check_least(name, getattr(self, name), 0)
        for name in ("learning_rate", "gradient_clip"):
            if not getattr(self, name) > 0:
                raise ParameterError(f"{name} is {getattr(self, name)}; it must be above 0")
        if not 0 <= self.label_smoothing < 1:
            raise ParameterError(f"label_smoothing is {self.label_smoothing}; it must be at least 0 and below 1")
        if not 0 <= self.warmup < self.steps:
            raise ParameterError(f"warmup is {self.warmup}; it must be from 0 to {self.steps - 1}, below the steps")
        check_choice("schedule", self.schedule, Schedule)
        check_choice("dtype", self.dtype, Dtype)
        check_device_name(self.device)
        if self.processes > 1 and ":" in self.device:
            raise ParameterError(f"device is {self.device!r}, but there are {self.processes} processes; use cuda")


@dataclass(frozen=True)
class GenerationOptions:
    """How translations are generated. Raises ParameterError for values out of range.

    longest: a translation that has not ended there is cut.
    """

    longest: int = option("tokens of a translation, at most, the end included", metavar="N")
    beams: int = option("hypotheses kept at each step; 1 is greedy", 1, metavar="N")
    batch: int = option("sentences translated at once", 32, metavar="N")
    threads: int = option("threads of PyTorch on the CPU", 1, metavar="N")
    device: str = option("device of the model", "cpu", metavar="cpu|cuda|cuda:N")
    dtype: Dtype = option("number format of matrix products", "float32")

    def __post_init__(self) -> None:
        for name in ("longest", "beams", "batch", "threads"):
            check_least(name, getattr(self, name), 1)
        check_choice("dtype", self.dtype, Dtype)
        check_device_name(self.device)


def check_device_name(device: str) -> None:
    """Check the form of the name of a device. Raises ParameterError for any other."""
    if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise ParameterError(f"device is {device!r}; use cpu, cuda or cuda:N")
