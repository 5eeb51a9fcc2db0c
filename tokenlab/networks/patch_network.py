"""The hierarchical model (paper, section 2.2), in the order in which it computes.

1. Local encoder: the symbols of each patch, by themselves, to one vector, that of the patch's last symbol.
2. Latent Transformer: the vectors of a passage's patches, a start vector first; its output at patch t - 1 knows the
   patches before t.
3. Local decoder: that output, then the symbols of patch t; predicts the symbols of patch t, its marker included.

All is computed over packed symbols: no patch and no passage is padded in a linear layer. Encoder and decoder share the
embedding of symbols, which is tied to the output matrix.

Hash n-gram embeddings (BLT, Pagnoni et al. 2024, section 3.2.1), where there are any: a rolling polynomial hash of the
last symbols chooses rows of a table, which are added to the embedding of a symbol. One table serves all lengths; the
length is part of the hash. The paper has no such detail; as there, the sum of symbol and n-gram embeddings is divided
by the number of lengths plus one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tokenlab.core.errors import InputError
from tokenlab.networks.attention import Cache
from tokenlab.networks.batches import Layout, on_device, packed_passages, sequence_layout
from tokenlab.networks.blocks import Stack, matrix
from tokenlab.networks.interface import CodedPassage, Loss, Network, Scores
from tokenlab.networks.options import DEFAULT, Computation, HashShape, PatchShape
from tokenlab.networks.output import output_nats, output_scores
from tokenlab.networks.products import linear

_PRIME = np.uint64(1_000_000_007)
_MIX = np.uint64(0x9E3779B97F4A7C15)
"""Multiplier that spreads hashes over the table (2^64 divided by the golden ratio; Knuth, volume 3, 6.4)."""
NONE = -1
"""Instead of a row, where fewer symbols stand before."""


@dataclass(frozen=True)
class PatchBatch:
    """Patches of passages, end to end."""

    ids: Tensor
    """int64[symbols]."""
    patches: Layout
    """Of the symbols, a sequence for each patch."""
    passages: Layout
    """Of the patches, a sequence for each passage."""
    hashes: Tensor | None
    """int64[symbols, lengths]: rows of the hash n-grams, where the network has them."""
    size: int
    symbols: int

    def to(self, device: torch.device | str) -> Self:
        """The same batch on a device."""
        return on_device(self, device)


class PatchNetwork(Network[PatchBatch]):
    """Local encoder, latent Transformer, local decoder."""

    shape: PatchShape

    def __init__(self, shape: PatchShape, computation: Computation = DEFAULT) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = matrix(shape.symbols, shape.local.width)
        self.ngrams = HashNgrams(shape.hash, shape.local.width) if shape.hash else None
        self.encoder = Stack(shape.local, computation)
        self.to_latent = matrix(shape.latent.width, shape.local.width)
        self.start = nn.Parameter(torch.empty(shape.latent.width).normal_(0.0, 0.02))
        self.latent = Stack(shape.latent, computation)
        self.to_local = matrix(shape.local.width, shape.latent.width)
        self.decoder = Stack(shape.local, computation)

    def collate(self, rows: Sequence[Sequence[CodedPassage]]) -> PatchBatch:
        """See `Network.collate`."""
        passages, ids = packed_passages(rows, self.shape.symbols)
        begins = np.cumsum([0, *(len(passage.ids) for passage in passages)])
        counts = np.array([len(passage.starts) for passage in passages])
        if not counts.all():
            raise InputError("a passage has symbols but no patches; cut it with a patcher")
        starts = np.concatenate([passage.starts for passage in passages]) + np.repeat(begins[:-1], counts)
        firsts = np.concatenate(([0], np.cumsum(counts)[:-1]))
        lengths = np.diff(starts, append=len(ids))
        if (starts[firsts] != begins[:-1]).any() or (lengths < 1).any():
            raise InputError("the patches of a passage do not begin at its first symbol and ascend; cut it again")
        return PatchBatch(
            torch.from_numpy(ids),
            sequence_layout(lengths),
            sequence_layout(counts),
            self._hashes(ids, begins),
            sum(passage.size for passage in passages),
            len(ids),
        )

    def forward(self, batch: PatchBatch) -> Loss:
        """See `Network.forward`."""
        nats = output_nats(self._states(batch), self.embedding, batch.ids, self.shape.symbols)
        return Loss(nats, torch.zeros_like(nats))

    @torch.no_grad()
    def symbol_scores(self, batch: PatchBatch) -> Scores:
        """See `Network.symbol_scores`."""
        return output_scores(self._states(batch), self.embedding, batch.ids, self.shape.symbols)

    # --- The parts, for training and generation ---

    def encode(self, ids: Tensor, patches: Layout, hashes: Tensor | None = None) -> Tensor:
        """The vectors of patches, float32[patches, latent width], from their symbols end to end, int64[symbols]."""
        states = functional.embedding(ids, self.embedding)
        if self.ngrams is not None and hashes is not None:
            states = self.ngrams(states, hashes)
        states = self.encoder(states, patches)
        last = states.index_select(0, patches.offsets[1:] - 1)
        return linear(self.encoder.norm(last), self.to_latent)

    def open_decoder(self, latent: Tensor) -> Tensor:
        """The decoder's first inputs, [patches, local width], from the latent states before their last norm, [patches,
        latent width]."""
        return linear(self.latent.norm(latent), self.to_local)

    def _states(self, batch: PatchBatch) -> Tensor:
        """The decoder's output at each symbol, [symbols, local width]."""
        vectors = self.encode(batch.ids, batch.patches, batch.hashes)
        # Each patch's input is the vector of the patch before it; the first of a passage has the start vector.
        before = torch.arange(len(vectors), device=vectors.device)
        before = torch.where(batch.passages.positions == 0, 0, before)
        latent = torch.cat((self.start[None].to(vectors.dtype), vectors)).index_select(0, before)
        opened = self.open_decoder(self.latent(latent.float(), batch.passages))
        # Each symbol's input is the symbol before it; the first of a patch has the latent Transformer's output.
        table = torch.cat((self.embedding, opened.float()))
        inputs = torch.where(
            batch.patches.positions == 0, self.shape.symbols + batch.patches.sequences, batch.ids.roll(1)
        )
        return self.decoder.norm(self.decoder(functional.embedding(inputs, table), batch.patches))

    def _hashes(self, ids: NDArray[np.int64], begins: NDArray[np.int64]) -> Tensor | None:
        return torch.from_numpy(ngram_rows(ids, begins, self.shape.hash)) if self.shape.hash else None

    # --- Generation: the caches of both levels ---

    @torch.no_grad()
    def encode_patches(self, patches: Sequence[Sequence[int]], before: Sequence[Sequence[int]] | None = None) -> Tensor:
        """The vectors of whole patches, float32[patches, latent width].

        Args:
            patches: the symbols of each.
            before: for a network with hash n-grams, the symbols of the passage before each patch; the last few suffice.
        """
        device = self.embedding.device
        hashes = None
        if self.shape.hash:
            most = self.shape.hash.largest - 1
            pasts = [list(past)[-most:] if most else [] for past in before or [[]] * len(patches)]
            ids = np.array([id for past, patch in zip(pasts, patches, strict=True) for id in (*past, *patch)], np.int64)
            sizes = [len(past) + len(patch) for past, patch in zip(pasts, patches, strict=True)]
            rows = ngram_rows(ids, np.cumsum([0, *sizes]), self.shape.hash)
            own = [here >= len(past) for past, size in zip(pasts, sizes, strict=True) for here in range(size)]
            hashes = torch.from_numpy(rows[np.array(own)]).to(device)
        layout = sequence_layout(np.array([len(patch) for patch in patches])).to(device)
        flat = torch.tensor([id for patch in patches for id in patch], device=device)
        return self.encode(flat, layout, hashes)

    @torch.no_grad()
    def begin_latent(self, vectors: Sequence[Tensor], capacity: int) -> tuple[Tensor, Cache]:
        """Read the vectors of the whole patches of passages, [patches, latent width] (may be empty), one passage a row.

        Returns:
            float32[passages, local width], the decoder's first input for the next patch of each passage; the latent
            Transformer's cache with room for `capacity` patches.
        """
        cache = self.latent.cache(len(vectors), capacity + 1)
        layout = sequence_layout(np.array([len(some) + 1 for some in vectors])).to(self.start.device)
        states = torch.cat([part for some in vectors for part in (self.start[None], some.to(self.start.dtype))])
        states = self.latent(states, layout, cache).index_select(0, layout.offsets[1:] - 1)
        return self.open_decoder(states), cache

    @torch.no_grad()
    def step_latent(self, vectors: Tensor, cache: Cache, rows: Tensor | None = None) -> Tensor:
        """Append a patch, [rows, latent width], to some rows (int64, distinct; None: all) of the latent cache.

        Returns float32[rows, local width], the decoder's first input for the next patch.
        """
        return self.open_decoder(self.latent.step(vectors.float(), cache, rows))

    def decoder_cache(self, rows: int, capacity: int = 16) -> Cache:
        """An empty cache of the decoder, for `rows` patches of about `capacity` symbols."""
        return self.decoder.cache(rows, capacity)

    @torch.no_grad()
    def begin_patch(self, opened: Tensor, cache: Cache, rows: Tensor | None = None) -> Tensor:
        """Begin a patch in some rows of the decoder's cache, which forgets their patches before.

        `opened` [rows, local width]: what `begin_latent` and `step_latent` return. Returns float32[rows, symbols], the
        logits of the patch's first symbol.
        """
        cache.forget(rows)
        return self._logits(self.decoder.step(opened.float(), cache, rows))

    @torch.no_grad()
    def step_symbol(self, ids: Tensor, cache: Cache, rows: Tensor | None = None) -> Tensor:
        """Append a symbol, int64[rows], to the patches of some rows of the decoder's cache.

        Returns float32[rows, symbols], the logits of the next symbol.
        """
        return self._logits(self.decoder.step(functional.embedding(ids, self.embedding), cache, rows))

    def _logits(self, states: Tensor) -> Tensor:
        return linear(self.decoder.norm(states), self.embedding).float()


def ngram_rows(ids: NDArray[np.int64], offsets: NDArray[np.int64], shape: HashShape) -> NDArray[np.int64]:
    """The row of each n-gram that ends at each symbol, int64[symbols, lengths]; NONE where it would begin before its
    passage.

    Args:
        ids: int64[symbols], passages end to end.
        offsets: int64[passages + 1], where each passage begins.
        shape: of the table.
    """
    position = np.arange(len(ids)) - np.repeat(offsets[:-1], np.diff(offsets))
    rows = np.full((len(ids), shape.largest - shape.smallest + 1), NONE, np.int64)
    symbols = ids.astype(np.uint64) + np.uint64(1)
    rolling = np.zeros(len(ids), np.uint64)
    power = np.uint64(1)
    with np.errstate(over="ignore"):
        for n in range(1, shape.largest + 1):
            # rolling[i] = sum over j < n of symbols[i - j] * prime^j; what lies before a passage is masked below.
            rolling[n - 1 :] += symbols[: max(0, len(ids) - n + 1)] * power
            power *= _PRIME
            if n >= shape.smallest:
                mixed = (rolling + np.uint64(n)) * _MIX
                found = ((mixed >> np.uint64(16)) % np.uint64(shape.rows)).astype(np.int64)
                rows[:, n - shape.smallest] = np.where(position >= n - 1, found, NONE)
    return rows


class HashNgrams(nn.Module):
    """The table of embeddings, float32[rows, width]."""

    def __init__(self, shape: HashShape, width: int) -> None:
        super().__init__()
        self.shape = shape
        self.table = matrix(shape.rows, width)

    def forward(self, states: Tensor, rows: Tensor) -> Tensor:
        """Embeddings of symbols [symbols, width] with those of their n-grams (`ngram_rows`) added."""
        there = (rows != NONE).to(self.table.dtype)
        with torch.autocast(states.device.type, enabled=False):
            added = functional.embedding_bag(rows.clamp(min=0), self.table, mode="sum", per_sample_weights=there)
        return (states + added) / (rows.shape[1] + 1)
