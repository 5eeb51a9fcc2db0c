"""A language model over bytes that learns its own chunks: one stage of H-Net (Hwang, Wang & Gu 2025, arXiv 2507.07955).

1. Encoder over bytes.
2. Router: neighbouring states are compared; where they differ, a chunk begins (`boundary_probabilities`, eq. 4). The
   ratio loss steers the mean length of chunks (`ratio_loss`, eq. 10).
3. Latent Transformer over these states.
4. Smoothing by the confidence of the boundaries (`smooth`, eq. 5), and back to the bytes: each state gets the output
   for its chunk, times its confidence in the gradient only (`upsample`, eqs. 6-9), and a residual from the encoder.
5. Decoder over bytes, which predicts the next byte.

State t, of which state 0 is the start vector, has seen the bytes before byte t and predicts byte t. State 0 always
begins a chunk; byte t begins a chunk where state t + 1 does.

Deviations from H-Net: encoder and decoder are Transformers, not Mamba-2; projections join stacks of different widths,
where H-Net pads with a learned vector; the embedding is the output matrix; all parts have the same learning rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tokenlab.networks.attention import Cache
from tokenlab.networks.batches import Layout, packed_passages, sequence_layout
from tokenlab.networks.blocks import Stack, matrix
from tokenlab.networks.compiled import outside
from tokenlab.networks.interface import CodedPassage, Loss, Network, Scores
from tokenlab.networks.options import DEFAULT, ChunkShape, Computation
from tokenlab.networks.output import output_nats, output_scores
from tokenlab.networks.products import linear
from tokenlab.networks.token_network import TokenBatch

_BYTES = 256
_START = 256
"""Row of the embedding with the start vector."""
_BOUNDARY = 0.5
"""A chunk begins where the probability is at least this."""
_DOUBLINGS = 6


@dataclass
class ChunkCache:
    """What generation keeps of the bytes of each row."""

    encoder: Cache
    latent: Cache
    decoder: Cache
    key: Tensor
    """float32[rows, local width]: the router's, of the last state."""
    smoothed: Tensor
    """float32[rows, local width]: of the current chunk."""

    def select(self, rows: Tensor) -> "ChunkCache":
        """A cache with some of the rows (int64, may repeat), in their order."""
        there = rows.to(self.key.device)
        return ChunkCache(
            self.encoder.select(rows),
            self.latent.select(rows),
            self.decoder.select(rows),
            self.key[there],
            self.smoothed[there],
        )


class _Routed(NamedTuple):
    """States of the encoder, [states, local width]; the probability that each begins a chunk; whether it does."""

    states: Tensor
    p: Tensor
    boundary: Tensor


class ChunkNetwork(Network[TokenBatch]):
    """Encoder, router, latent Transformer, decoder."""

    shape: ChunkShape

    def __init__(self, shape: ChunkShape, computation: Computation = DEFAULT) -> None:
        super().__init__()
        self.shape = shape
        local, latent = shape.local.width, shape.latent.width
        self.embedding = matrix(_BYTES + 1, local)
        self.encoder = Stack(shape.local, computation)
        # As H-Net begins: the router compares the states as they are, and the decoder sees nothing but the chunks.
        self.queries, self.keys = nn.Parameter(torch.eye(local)), nn.Parameter(torch.eye(local))
        self.residual = nn.Parameter(torch.zeros(local, local))
        self.to_latent = matrix(latent, local)
        self.latent = Stack(shape.latent, computation)
        self.to_local = matrix(local, latent)
        self.decoder = Stack(shape.local, computation)

    def collate(self, rows: Sequence[Sequence[CodedPassage]]) -> TokenBatch:
        """See `Network.collate`; starts of patches are not looked at."""
        passages, ids = packed_passages(rows, _BYTES)
        layout = sequence_layout(np.array([len(passage.ids) for passage in passages]))
        inputs = np.concatenate(([_START], ids[:-1]))
        inputs[layout.offsets[:-1].numpy()] = _START
        size = sum(passage.size for passage in passages)
        return TokenBatch(torch.from_numpy(inputs), torch.from_numpy(ids), layout, size, len(ids))

    def forward(self, batch: TokenBatch) -> Loss:
        """See `Network.forward`; `extra` is the ratio loss with its weight, times the number of bytes."""
        routed = self._encode(batch.inputs, batch.passages)
        states = self._decode(routed, batch.passages)
        ratio = ratio_loss(routed.p, routed.boundary, self.shape.ratio)
        nats = output_nats(states, self.embedding, batch.targets, _BYTES)
        return Loss(nats, self.shape.ratio_weight * batch.symbols * ratio)

    @torch.no_grad()
    def symbol_scores(self, batch: TokenBatch) -> Scores:
        """See `Network.symbol_scores`."""
        states = self._decode(self._encode(batch.inputs, batch.passages), batch.passages)
        return output_scores(states, self.embedding, batch.targets, _BYTES)

    @torch.no_grad()
    def boundaries(self, batch: TokenBatch) -> Tensor:
        """bool[symbols]: whether each byte begins a chunk, by the bytes up to this one; the first of a passage does."""
        # One state more than for predictions: that after the last byte.
        ends = batch.passages.offsets[1:].cpu().numpy()
        starts = batch.passages.offsets[:-1].cpu().numpy()
        inputs = np.insert(batch.targets.cpu().numpy(), starts, _START)
        layout = sequence_layout(ends - starts + 1).to(batch.targets.device)
        boundary = self._encode(torch.from_numpy(inputs).to(batch.targets.device), layout).boundary
        return (boundary | (layout.positions == 1))[layout.positions > 0]

    def _encode(self, inputs: Tensor, layout: Layout, cache: Cache | None = None) -> _Routed:
        """From the byte or start vector that each state reads, int64[states]."""
        states = self.encoder(functional.embedding(inputs, self.embedding), layout, cache)
        states = self.encoder.norm(states)
        queries, keys = linear(states, self.queries), linear(states, self.keys)
        p = boundary_probabilities(queries, torch.cat((keys[:1], keys[:-1])))
        p = torch.where(layout.positions == 0, 1.0, p)
        return _Routed(states, p, p >= _BOUNDARY)

    def _decode(self, routed: _Routed, layout: Layout, cache: ChunkCache | None = None) -> Tensor:
        """The decoder's states, [states, local width], before the output matrix. A given cache is filled."""
        begins, chunk_layout = outside(_chunks)(routed.boundary, layout.sequences)
        states = linear(routed.states.index_select(0, begins), self.to_latent)
        states = self.latent(states.float(), chunk_layout, None if cache is None else cache.latent)
        smoothed = smooth(self._to_local(states), routed.p.index_select(0, begins))
        if cache is not None:
            cache.smoothed = smoothed[chunk_layout.offsets[1:] - 1]
        states = upsample(smoothed, routed.p, routed.boundary) + linear(routed.states, self.residual).float()
        return self.decoder.norm(self.decoder(states, layout, None if cache is None else cache.decoder))

    def _to_local(self, latent: Tensor) -> Tensor:
        return linear(self.latent.norm(latent), self.to_local).float()

    # --- Generation: the caches of all three stacks ---

    @torch.no_grad()
    def begin(self, texts: Sequence[Sequence[int]], capacity: int) -> tuple[Tensor, ChunkCache]:
        """Read texts (bytes; may be empty), one a row.

        Returns:
            float32[texts, 256], the logits of the next byte of each; a cache with room for `capacity` bytes.
        """
        rows, device = len(texts), self.embedding.device
        inputs = torch.tensor([id for text in texts for id in (_START, *text)], device=device)
        layout = sequence_layout(np.array([len(text) + 1 for text in texts])).to(device)
        none = self.embedding.new_zeros(rows, self.shape.local.width)
        encoder, decoder = (stack.cache(rows, capacity + 1) for stack in (self.encoder, self.decoder))
        cache = ChunkCache(encoder, self.latent.cache(rows, int(capacity / self.shape.ratio) + 1), decoder, none, none)
        routed = self._encode(inputs, layout, cache.encoder)
        last = layout.offsets[1:] - 1
        cache.key = linear(routed.states.index_select(0, last), self.keys)
        return self._logits(self._decode(routed, layout, cache).index_select(0, last)), cache

    @torch.no_grad()
    def step(self, ids: Tensor, cache: ChunkCache, rows: Tensor | None = None) -> Tensor:
        """Append a byte, int64[rows], to some rows (int64, distinct; None: all) of the cache.

        Returns float32[rows, 256], the logits of the next byte of these rows.
        """
        where = torch.arange(len(cache.key), device=ids.device) if rows is None else rows.to(ids.device)
        states = self.encoder.step(functional.embedding(ids, self.embedding), cache.encoder, rows)
        states = self.encoder.norm(states)
        queries, keys = linear(states, self.queries), linear(states, self.keys)
        p = boundary_probabilities(queries, cache.key[where])
        cache.key[where] = keys
        begins = (p >= _BOUNDARY).nonzero()[:, 0]
        if len(begins):
            there = where[begins]
            vectors = linear(states[begins], self.to_latent).float()
            made = self._to_local(self.latent.step(vectors, cache.latent, there))
            cache.smoothed[there] = torch.lerp(cache.smoothed[there], made, p[begins, None])
        states = cache.smoothed[where] + linear(states, self.residual).float()
        return self._logits(self.decoder.norm(self.decoder.step(states, cache.decoder, rows)))

    def _logits(self, states: Tensor) -> Tensor:
        return linear(states, self.embedding[:_BYTES]).float()


def _chunks(boundary: Tensor, sequences: Tensor) -> tuple[Tensor, Layout]:
    """Where chunks begin, int64[chunks], and their layout."""
    begins = boundary.nonzero()[:, 0]
    counts = torch.bincount(sequences[begins]).cpu()  # Every sequence has one.
    return begins, sequence_layout(counts.numpy()).to(begins.device)


def boundary_probabilities(queries: Tensor, keys: Tensor) -> Tensor:
    """p_t = (1 - cos(q_t, k_{t-1})) / 2.

    Args:
        queries: [states, width]: W_q x_t.
        keys: [states, width]: W_k x_{t-1}, of the state before each.

    Returns:
        float32[states], 0..1.
    """
    cosine = functional.cosine_similarity(queries.float(), keys.float(), dim=-1)
    return ((1 - cosine) / 2).clamp(0.0, 1.0)  # Rounding can take a cosine beyond 1.


def smooth(chunks: Tensor, p: Tensor) -> Tensor:
    """The moving average s_t = p_t z_t + (1 - p_t) s_{t-1} along packed sequences.

    Probabilities of boundaries are at least 1/2, those of a sequence's first chunk 1. So no sequence sees another,
    and chunk t - 64 has a weight of at most 2^-64, nothing in float32; six doublings of a window replace the loop.

    Args:
        chunks: float32[chunks, width]: z.
        p: float32[chunks], at least 1/2, and 1 for the first chunk of each sequence.

    Returns:
        float32[chunks, width].
    """
    p = p[:, None]
    sums, left = p * chunks, 1 - p
    for doubling in range(_DOUBLINGS):
        shift = 1 << doubling
        if shift >= len(chunks):
            break
        # What the window [t - shift + 1, t] leaves over goes to the window [t - 2 shift + 1, t - shift].
        sums = torch.cat((sums[:shift], sums[shift:] + left[shift:] * sums[:-shift]))
        left = torch.cat((left[:shift], left[shift:] * left[:-shift]))
    return sums


def upsample(chunks: Tensor, p: Tensor, boundary: Tensor) -> Tensor:
    """The chunk of each state, times the straight-through confidence: 1, with the gradient of p_t at boundaries and of
    1 - p_t elsewhere.

    Args:
        chunks: [chunks, width], smoothed.
        p: float32[states].
        boundary: bool[states]; the first state is one.

    Returns:
        [states, width].
    """
    confidence = torch.where(boundary, p, 1 - p)
    through = confidence - confidence.detach() + 1.0
    return chunks.index_select(0, boundary.cumsum(0) - 1) * through[:, None]


def ratio_loss(p: Tensor, boundary: Tensor, ratio: float) -> Tensor:
    """N / (N - 1) ((N - 1) F G + (1 - F) (1 - G)), with the share of boundaries F and the mean probability G.

    It is 1 where F = G = 1 / N. Only G has a gradient.

    Args:
        p: float32[states].
        boundary: bool[states].
        ratio: N, the mean length of a chunk that is aimed at.

    Returns:
        float32 scalar.
    """
    share, mean = boundary.float().mean(), p.mean()
    return ratio / (ratio - 1) * ((ratio - 1) * share * mean + (1 - share) * (1 - mean))
