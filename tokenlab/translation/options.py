"""Options of translation models: their size, their training, and how they generate."""

import math
from dataclasses import dataclass
from typing import Literal

from tokenlab.core.devices import Dtype, check_device_name
from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, check_least, option
from tokenlab.training.options import TrainingOptions

Schedule = Literal["inverse_sqrt", "cosine"]
"""The learning rate after the warm-up: proportional to 1 / sqrt(step) as in Vaswani et al. (2017), whatever the number
of updates; or half a cosine that reaches 0 one update after the last, which is better where that number is small."""


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


@dataclass(frozen=True, kw_only=True)
class TranslationTraining(TrainingOptions):
    """Settings of a training. Raises ParameterError for values out of range.

    batch: padding counts. final_learning_rate: the schedule does not go below it. label_smoothing: Szegedy et al.
    (2016); held-out losses are without it.
    """

    batch: int = option("source and target tokens in each update, at most", metavar="N")
    schedule: Schedule = option("the learning rate after the warm-up", "inverse_sqrt")
    weight_decay: float = option("decoupled weight decay of the blocks' matrices", 0.01, metavar="X")
    label_smoothing: float = option("probability that targets share with all other tokens", 0.1, metavar="X")
    patience: int | None = option("evaluations without improvement that end the training", None, none="never")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least("patience", self.patience, 1)
        if not 0 <= self.label_smoothing < 1:
            raise ParameterError(f"label_smoothing is {self.label_smoothing}; it must be at least 0 and below 1")
        check_choice("schedule", self.schedule, Schedule)

    def learning_rate_at(self, step: int) -> float:
        """The learning rate of update `step` (from 0): linear up to the highest, then down by the schedule."""
        rise = self.warmup + 1
        if step < self.warmup:
            return self.learning_rate * (step + 1) / rise
        if self.schedule == "inverse_sqrt":
            rate = self.learning_rate * math.sqrt(rise / (step + 1))
        else:
            share = (step - self.warmup) / max(1, self.steps - self.warmup)
            rate = self.learning_rate * (1 + math.cos(math.pi * share)) / 2
        return max(rate, self.final_learning_rate)


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
