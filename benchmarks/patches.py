"""Training of language models: patches beside this repository's own GPT (which `gpt` has beside Hugging Face's).

A step is forward and backward pass, clipping of the gradients and AdamW, in float32. All of our models read the same
rows of English: 2,048 bytes, about 512 tokens. Weights are random, and a tokenizer trained on the text gives tokens and
patches; the ids of tokens are spread over GPT-2's vocabulary, so that the output layer has its size. Operations are
those of the models as built (`tokenlab.networks.cost`), three times the forward pass.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks.corpora import verses
from benchmarks.measure import Bench, Task, table_of
from benchmarks.patches_generation import coder_of, shape_of
from tokenlab.networks.cost import training_flops_per_byte
from tokenlab.networks.interface import CodedPassage
from tokenlab.networks.options import ChunkShape
from tokenlab.networks.stored import build_network

TITLE = "Training of language models"
TEXTS = ()
_KINDS = {
    "tokens": "our GPT over tokens",
    "bpe": "patches: bpe, S = 10",
    "space": "patches: space, at most 6 bytes",
    "space-hash": "the same with hash n-grams",
    "learned": "learned chunks",
    "bytes": "our GPT over bytes",
}
_VOCABULARY = 50_257
_ROWS = 2


def table(bench: Bench) -> list[str]:
    size, row = ("tiny", 256) if bench.quick else ("small", 2048)
    found = {kind: bench.measure("patches:ours", kind, size, str(row)) for kind in _KINDS}
    rows = []
    for kind, one in found.items():
        speed, own = (some.facts["flops"] / some.median for some in (one, found["tokens"]))
        kilobytes = one.facts["bytes"] / 1e3 / one.median
        cells = f"{kilobytes:.3g}", f"{speed / 1e9:.3g}", f"{speed / own:.0%}", f"{one.peak / 1e6:.0f}"
        rows.append([_KINDS[kind], one.rate(1), *cells])
    return [
        f"Size `{size}`, {_ROWS} rows of {row:,} bytes a step, one thread; torch {torch.__version__}. MB of a step: "
        "peak above weights, gradients and optimizer.",
        "",
        *table_of(["model", "steps/s", "kB/s", "GFLOP/s", "of our GPT", "MB of a step"], rows),
    ]


def _ours(kind: str, size: str, row: str) -> Task:
    """A step of a network of ours."""
    coder = coder_of("bytes" if kind == "learned" else kind.removesuffix("-hash"))
    text, length = " ".join(verses("en", 400_000)).encode(), int(row)
    pieces = list(coder.code([text[number * length : (number + 1) * length] for number in range(_ROWS)]))
    if kind == "tokens":
        pieces = [_spread(piece) for piece in pieces]
    shape = shape_of(kind, size, len(coder.spellings))
    network = build_network(shape, 0)

    def loss(rows: list[CodedPassage]) -> torch.Tensor:
        batch = network.collate([[piece] for piece in rows])
        found = network(batch)
        return (found.nats + found.extra) / batch.symbols

    def facts(_: Any) -> dict[str, float]:
        size = sum(piece.size for piece in pieces)
        symbols = sum(len(piece.ids) for piece in pieces) / size
        patches = sum(len(piece.starts) for piece in pieces) / size
        if isinstance(shape, ChunkShape):
            patches = float(network.boundaries(network.collate([pieces])).float().mean())
        return {"bytes": size, "flops": size * training_flops_per_byte(shape, length, symbols, patches or 1.0)}

    return Task(training_step(network, loss), [_beginning(pieces[0])], pieces, facts)


def training_step(network: torch.nn.Module, loss: Callable[[Any], torch.Tensor]) -> Callable[[Any], None]:
    """A step of training on the rows that `loss` takes."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)

    def step(rows: Any) -> None:
        loss(rows).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)  # so that the gradients are no part of a step's memory

    return step


def _spread(piece: CodedPassage) -> CodedPassage:
    """Other ids, all over the vocabulary."""
    return piece._replace(ids=(piece.ids.astype(np.int64) * 7919 % _VOCABULARY).astype(np.int32))


def _beginning(piece: CodedPassage) -> CodedPassage:
    """The first patch, or the first 16 symbols of a piece without patches."""
    end = int(piece.starts[1]) if len(piece.starts) else 16
    return CodedPassage(piece.ids[:end], piece.starts[:1], end)


TASKS = {"ours": _ours}
