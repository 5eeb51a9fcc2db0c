"""Training of language models: patches beside this repository's own GPT, and that beside Hugging Face's GPT-2.

A step is forward and backward pass, clipping of the gradients and AdamW, in float32. All of our models read the same
rows of English: 2,048 bytes, about 512 tokens. Weights are random, and a tokenizer trained on the text gives tokens and
patches; the ids of tokens are spread over GPT-2's vocabulary, so that the output layer has its size. Operations are
those of the models as built (`tokenlab.models.networks.cost`), three times the forward pass.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel
from transformers import __version__ as transformers_version

from benchmarks.corpora import verses
from benchmarks.measure import Bench, Measurement, Task
from benchmarks.patches_generation import coder_of
from tokenlab.models.language.coding import Coder
from tokenlab.models.networks.cost import training_flops_per_byte
from tokenlab.models.networks.options import SIZES, ChunkShape, HashShape, PatchShape, Shape, TokenShape
from tokenlab.models.networks.pieces import Piece
from tokenlab.models.networks.stored import build_network

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
_PRODUCT = 4096
_ROWS = 2


def table(bench: Bench) -> list[str]:
    """Measure every model on one thread, and the two GPTs on two; Markdown."""
    quick = bench.runs == 1
    size, width, row = ("tiny", 256, 256) if quick else ("small", _PRODUCT, 2048)
    given = (size, str(row))
    lines = [
        "| model | threads | steps/s | kB/s | GFLOP/s | of the product | MB of a step |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    ratios = []
    for threads in (1, 2):
        product = bench.measure("patches:product", str(width), threads=threads)
        most = product.facts["flops"] / product.median
        lines.append(
            f"| product {width:,} x {width:,} | {threads} | | | {product.rate(product.facts['flops'] / 1e9)} | | |"
        )
        theirs = bench.measure("patches:hugging", *given, threads=threads)
        lines.append(_row("`GPT2LMHeadModel`", threads, theirs, most))
        found = {}
        for kind in _KINDS if threads == 1 else ["tokens"]:
            found[kind] = bench.measure("patches:ours", kind, *given, threads=threads)
            lines.append(_row(_KINDS[kind], threads, found[kind], most))
        faster = theirs.median / found["tokens"].median
        ratios.append(
            f"- {threads} thread{'s' * (threads > 1)}: our GPT is {faster:.2f} times as fast as `GPT2LMHeadModel`."
        )
        if threads == 1:
            own = _speed(found["tokens"])
            shares = ", ".join(f"{kind} {_speed(one) / own:.0%}" for kind, one in found.items() if kind != "tokens")
            ratios.append(f"- GFLOP/s of our GPT over tokens: {shares}.")
    return [
        f"Size `{size}`, {_ROWS} rows of {row:,} bytes ({theirs.facts['tokens']} tokens) a step; torch "
        f"{torch.__version__}, transformers {transformers_version}. MB of a step: peak above weights, gradients and "
        "optimizer.",
        "",
        *lines,
        "",
        *ratios,
    ]


def _speed(found: Measurement) -> float:
    """Operations a second."""
    return found.facts["flops"] / found.median


def _row(name: str, threads: int, found: Measurement, most: float) -> str:
    facts = found.facts
    return (
        f"| {name} | {threads} | {found.rate(1)} | {facts['bytes'] / 1e3 / found.median:.3g} "
        f"| {_speed(found) / 1e9:.3g} | {_speed(found) / most:.0%} | {found.peak / 1e6:.0f} |"
    )


def _product(width: str) -> Task:
    """One product of square matrices."""
    one, other = (torch.randn(int(width), int(width)) for _ in range(2))
    return Task(lambda rows: one[:rows] @ other, 64, int(width), lambda _: {"flops": 2 * int(width) ** 3})


def _ours(kind: str, size: str, row: str) -> Task:
    """A step of a network of ours."""
    coder = _coder(kind)
    pieces = list(_pieces(coder, int(row)))
    if kind == "tokens":
        pieces = [_spread(piece) for piece in pieces]
    shape = _shape(kind, size, len(coder.spellings))
    network = build_network(shape, 0)

    def loss(rows: list[Piece]) -> torch.Tensor:
        batch = network.collate([[piece] for piece in rows])
        found = network(batch)
        return (found.nats + found.extra) / batch.symbols

    def facts(_: Any) -> dict[str, float]:
        size = sum(piece.size for piece in pieces)
        symbols = sum(len(piece.ids) for piece in pieces) / size
        patches = sum(len(piece.starts) for piece in pieces) / size
        if isinstance(shape, ChunkShape):
            patches = float(network.boundaries(network.collate([pieces])).float().mean())
        return {"bytes": size, "flops": size * training_flops_per_byte(shape, int(row), symbols, patches or 1.0)}

    return Task(_trained(network, loss), [_beginning(pieces[0])], pieces, facts)


def _hugging(size: str, row: str) -> Task:
    """A step of GPT-2 in `transformers`, of the size of our GPT over tokens, with its rows."""
    pieces = [_spread(piece) for piece in _pieces(_coder("tokens"), int(row))]
    latent, _ = SIZES[size]
    length = min(len(piece.ids) for piece in pieces)
    config = GPT2Config(
        vocab_size=_VOCABULARY,
        n_positions=max(len(piece.ids) for piece in pieces),
        n_embd=latent.width,
        n_layer=latent.layers,
        n_head=latent.heads,
        embd_pdrop=0.0,
        resid_pdrop=0.0,
        attn_pdrop=0.0,
    )
    torch.manual_seed(0)
    network = GPT2LMHeadModel(config)

    def loss(ids: torch.Tensor) -> torch.Tensor:
        return network(input_ids=ids, labels=ids, use_cache=False).loss

    shape = TokenShape(_VOCABULARY, latent)
    tokens = len(pieces) * length
    flops = tokens * int(row) / length * training_flops_per_byte(shape, int(row), length / int(row))
    ids = torch.from_numpy(np.stack([piece.ids[:length] for piece in pieces]).astype(np.int64))
    counted = {"bytes": len(pieces) * int(row), "tokens": tokens, "flops": flops}
    return Task(_trained(network, loss), ids[:1, :16], ids, lambda _: counted)


def _trained(network: torch.nn.Module, loss: Callable[[Any], torch.Tensor]) -> Callable[[Any], None]:
    """A step of training."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)

    def step(rows: Any) -> None:
        loss(rows).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)  # so that the gradients are no part of a step's memory

    return step


def _coder(kind: str) -> Coder:
    return coder_of("bytes" if kind == "learned" else kind.removesuffix("-hash"))


def _pieces(coder: Coder, size: int) -> Iterator[Piece]:
    """Rows of text."""
    text = " ".join(verses("en", 400_000)).encode()
    yield from coder.code([text[number * size : (number + 1) * size] for number in range(_ROWS)])


def _spread(piece: Piece) -> Piece:
    """Other ids, all over the vocabulary."""
    return piece._replace(ids=(piece.ids.astype(np.int64) * 7919 % _VOCABULARY).astype(np.int32))


def _beginning(piece: Piece) -> Piece:
    """The first patch, or the first 16 symbols of a piece without patches."""
    end = int(piece.starts[1]) if len(piece.starts) else 16
    return Piece(piece.ids[:end], piece.starts[:1], end)


def _shape(kind: str, size: str, symbols: int) -> Shape:
    latent, local = SIZES[size]
    if kind in ("tokens", "bytes"):
        return TokenShape(_VOCABULARY if kind == "tokens" else symbols, latent)
    if kind == "learned":
        return ChunkShape(latent, local)
    return PatchShape(symbols, kind == "bpe", latent, local, HashShape() if kind == "space-hash" else None)


TASKS = {"product": _product, "ours": _ours, "hugging": _hugging}
