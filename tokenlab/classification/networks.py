"""The classifiers of the Latom paper (appendix B.1.1): token ids in, a logit for each class out.

Transformer: the encoder of Vaswani et al. (2017), Marian's in `transformers`; its states are max-pooled, and a linear
layer gives the logits. BiLSTM: bidirectional LSTM layers, a linear layer at each token, max pooling, a linear layer.
Padding is in no maximum and in no state. Dropout is applied to the inputs of each LSTM layer and of the linear ones, or
as in Vaswani et al.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import MarianConfig
from transformers.models.marian.modeling_marian import MarianEncoder

from tokenlab.classification.options import ClassifierShape
from tokenlab.networks.products import use_openblas


class Classifier(nn.Module):
    """A network from ids to classes; the last id is that of the padding."""

    def __init__(self, shape: ClassifierShape, vocabulary: int, classes: int) -> None:
        super().__init__()
        self.shape, self.padding = shape, vocabulary - 1
        self.encoder = (_Transformer if shape.kind == "transformer" else _BiLstm)(shape, vocabulary)
        self.output = nn.Linear(shape.width, classes)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits, [rows, classes], of ids, int64[rows, tokens]; each row has a token before its padding."""
        inside = ids != self.padding
        return self.output(self.encoder(ids, inside).masked_fill(~inside[..., None], -torch.inf).amax(1))


class _Transformer(nn.Module):
    def __init__(self, shape: ClassifierShape, vocabulary: int) -> None:
        super().__init__()
        config = MarianConfig(
            vocab_size=vocabulary,
            max_position_embeddings=shape.positions,
            encoder_layers=shape.layers,
            encoder_attention_heads=shape.heads,
            encoder_ffn_dim=shape.feed_forward,
            d_model=shape.width,
            activation_function="relu",
            dropout=shape.dropout,
            attention_dropout=0.0,
            activation_dropout=0.0,
            scale_embedding=True,
            init_std=shape.width**-0.5,  # As in `tokenlab.translation.model`.
            pad_token_id=vocabulary - 1,
            bos_token_id=None,
            eos_token_id=None,
            forced_eos_token_id=None,
            decoder_start_token_id=vocabulary - 1,
        )
        self.marian = MarianEncoder(config)
        use_openblas(self.marian)

    def forward(self, ids: Tensor, inside: Tensor) -> Tensor:
        """States [rows, tokens, width]; `inside`: bool[rows, tokens], false for padding."""
        return self.marian(input_ids=ids, attention_mask=inside.long()).last_hidden_state


class _BiLstm(nn.Module):
    def __init__(self, shape: ClassifierShape, vocabulary: int) -> None:
        super().__init__()
        self.dropout, width = shape.dropout, shape.width
        self.embedding = nn.Embedding(vocabulary, width)
        sizes = [width] + [2 * width] * (shape.layers - 1)
        self.forwards = nn.ModuleList(nn.LSTM(size, width, batch_first=True) for size in sizes)
        self.backwards = nn.ModuleList(nn.LSTM(size, width, batch_first=True) for size in sizes)
        self.hidden = nn.Linear(2 * width, width)
        use_openblas(self)

    def forward(self, ids: Tensor, inside: Tensor) -> Tensor:
        """See `_Transformer.forward`."""
        # A row is mirrored inside its length, so that neither direction begins in the padding. Packed sequences do that
        # too, but on the CPU their backward pass grows with the square of the length.
        places = torch.arange(ids.shape[1], device=ids.device)
        mirror = torch.where(inside, inside.sum(1, keepdim=True) - 1 - places, places)[..., None]
        states = self._dropped(self.embedding(ids))
        with _without_onednn():
            for forwards, backwards in zip(self.forwards, self.backwards, strict=True):
                mirrored, _ = backwards(states.take_along_dim(mirror, 1))
                both = torch.cat((forwards(states)[0], mirrored.take_along_dim(mirror, 1)), 2)
                states = self._dropped(both)
        return self._dropped(self.hidden(states))

    def _dropped(self, states: Tensor) -> Tensor:
        return functional.dropout(states, self.dropout, self.training)


@contextmanager
def _without_onednn() -> Iterator[None]:
    """oneDNN's LSTM is not pinned to one arithmetic, and knows bfloat16 on few CPUs."""
    backend: Any = torch.backends.mkldnn
    before, backend.enabled = backend.enabled, False
    try:
        yield
    finally:
        backend.enabled = before


def build_classifier(shape: ClassifierShape, vocabulary: int, classes: int, seed: int) -> Classifier:
    """A classifier with random weights that the seed determines; float32 on the CPU.

    Args:
        shape: its architecture and size.
        vocabulary: number of tokens, the last of which is the padding (`vocabulary_size`).
        classes: their number.
        seed: of the weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Classifier(shape, vocabulary, classes)
