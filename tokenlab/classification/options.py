"""Options of classifiers: their size and their training."""

from dataclasses import dataclass
from typing import Literal

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, check_least, option
from tokenlab.training.options import TrainingOptions

Kind = Literal["transformer", "bilstm"]


@dataclass(frozen=True)
class ClassifierShape:
    """The size of a classifier; the defaults are the Transformer of appendix B.1.1. Raises ParameterError for an
    impossible one.

    The paper's BiLSTM has a dropout of 0.5. It has no use for heads, feed_forward and positions. The paper does not
    say how wide the feed-forward layers are.
    """

    kind: Kind = option("architecture", "transformer")
    layers: int = option("blocks, or bidirectional LSTM layers", 3, metavar="N")
    width: int = option("size of the embeddings and of the hidden states, of each direction", 256, metavar="N")
    heads: int = option("attention heads; they divide the width", 4, metavar="N")
    feed_forward: int = option("inner size of the feed-forward layers", 1024, metavar="N")
    positions: int = option("longest text in tokens, the end included", 5001, metavar="N")
    dropout: float = option("share of activations set to zero in training", 0.2, metavar="X")

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, Kind)
        for name in ("layers", "heads", "feed_forward", "positions"):
            check_least(name, getattr(self, name), 1)
        check_least("width", self.width, 2)
        if self.width % self.heads:
            raise ParameterError(f"heads is {self.heads}; it must divide the width, {self.width}")
        if not 0 <= self.dropout < 1:
            raise ParameterError(f"dropout is {self.dropout}; it must be at least 0 and below 1")


@dataclass(frozen=True, kw_only=True)
class ClassifierTraining(TrainingOptions):
    """Settings of a training. Raises ParameterError for values out of range.

    The paper's is Adam with a constant learning rate, 0.001 for the BiLSTM and 0.0001 for the Transformer: without
    weight decay, and with a final learning rate as high as the first. batch: padding counts. With verses and reviews it
    was 1 to 7% in batches of 4,096 tokens, and up to 16% in 16,384.
    """

    batch: int = option("tokens in each update, at most", metavar="N")
    weight_decay: float = option("decoupled weight decay of the blocks' matrices", 0.0, metavar="X")
    patience: int | None = option("evaluations without improvement that end the training", None, none="never")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least("patience", self.patience, 1)
