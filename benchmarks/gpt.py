"""Training of this repository's GPT beside Hugging Face's `GPT2LMHeadModel`: 12 x 768, vocabulary 50,257, rows of 512.

A step is forward and backward pass, clipping of the gradients and AdamW, in float32, on two rows of random tokens.
Steps of all models and a product of two 4096 x 4096 matrices alternate in one process, so that all meet the same
neighbours. GPT-2 runs twice: without dropout, which our GPT does not have, and with that of its configuration.
Operations are those of our GPT as built (`tokenlab.networks.cost`), three times the forward pass; those of GPT-2
are as many, up to its positions and biases.
"""

import statistics
from collections.abc import Callable

import torch
from transformers import GPT2Config, GPT2LMHeadModel
from transformers import __version__ as transformers_version

from benchmarks.measure import Bench, Facts, Task, seconds_of, table_of
from benchmarks.patches import training_step
from tokenlab.networks.cost import training_flops_per_byte
from tokenlab.networks.interface import CodedPassage
from tokenlab.networks.options import SIZES, TokenShape
from tokenlab.networks.stored import build_network

TITLE = "Training of our GPT"
TEXTS = ()
_NAMES = {
    "ours": "our GPT",
    "plain": "`GPT2LMHeadModel` without dropout",
    "default": "`GPT2LMHeadModel` as configured, dropout 0.1",
}
_VOCABULARY = 50_257
_BATCH = 2
_ROUNDS = 5
_PRODUCT = 4096


def table(bench: Bench) -> list[str]:
    size, context, rounds = ("tiny", "32", "1") if bench.quick else ("small", "512", str(_ROUNDS))
    peaks = {kind: bench.measure("gpt:steps", size, context, "1", kind, runs=1).peak for kind in _NAMES}
    heads = ["model", "threads", "tokens/s", "GFLOP/s", "of the product", "time / that of ours", "MB of a step"]
    rows: list[list[object]] = []
    for threads in (1, 2):
        facts = bench.measure("gpt:steps", size, context, rounds, *_NAMES, threads=threads, runs=1).facts
        found = facts["rounds"]
        most = 2 * _PRODUCT**3 / statistics.median(one["product"] for one in found)
        rows.append([f"product {_PRODUCT:,} x {_PRODUCT:,}", threads, "", f"{most / 1e9:.3g}", "", "", ""])
        for kind, name in _NAMES.items():
            seconds = statistics.median(one[kind] for one in found)
            ratio = statistics.median(one[kind] / one["ours"] for one in found)
            speed = facts["flops"] / seconds
            speeds = f"{facts['tokens'] / seconds:.3g}", f"{speed / 1e9:.3g}", f"{speed / most:.0%}"
            rows.append([name, threads, *speeds, f"{ratio:.2f}", f"{peaks[kind] / 1e6:.0f}"])
    return [
        f"Size `{size}`, {_BATCH} rows of {context} tokens a step; torch {torch.__version__}, transformers "
        f"{transformers_version}. Medians of {rounds} rounds, of the ratios too. MB of a step: peak above weights, "
        "gradients and optimizer, on one thread.",
        "",
        *table_of(heads, rows),
    ]


def _steps(size: str, context: str, rounds: str, *kinds: str) -> Task:
    """Rounds of a product and of a step of each model."""
    ids = torch.randint(_VOCABULARY, (_BATCH, int(context)), generator=torch.Generator().manual_seed(0))
    steps = {kind: _step(kind, size, int(context)) for kind in kinds}
    left, right = torch.rand(2, _PRODUCT, _PRODUCT)

    def run(batches: list[torch.Tensor]) -> list[dict[str, float]]:
        return [
            {"product": seconds_of(torch.mm, left, right)}
            | {kind: seconds_of(step, ids) for kind, step in steps.items()}
            for ids in batches
        ]

    def facts(found: list[dict[str, float]]) -> Facts:
        shape = TokenShape(_VOCABULARY, SIZES[size][0])
        flops = ids.numel() * training_flops_per_byte(shape, int(context))  # a token is a symbol as a byte is
        return {"tokens": ids.numel(), "flops": flops, "rounds": found}

    return Task(run, [ids[:, :16]], [ids] * int(rounds), facts)


def _step(kind: str, size: str, context: int) -> Callable[[torch.Tensor], None]:
    """A step of training a model of random weights."""
    shape = TokenShape(_VOCABULARY, SIZES[size][0])
    if kind == "ours":
        network = build_network(shape, 0)

        def our_loss(ids: torch.Tensor) -> torch.Tensor:
            batch = network.collate([[CodedPassage(row.int().numpy(), row[:0].numpy(), len(row))] for row in ids])
            return network(batch).nats / batch.symbols

        return training_step(network, our_loss)
    stack, off = shape.stack, {"embd_pdrop": 0.0, "resid_pdrop": 0.0, "attn_pdrop": 0.0}
    sizes = {"vocab_size": _VOCABULARY, "n_positions": context, "n_embd": stack.width, "n_layer": stack.layers}
    config = GPT2Config(**sizes, n_head=stack.heads, **(off if kind == "plain" else {}))
    torch.manual_seed(0)
    peer = GPT2LMHeadModel(config).train()
    return training_step(peer, lambda ids: peer(input_ids=ids, labels=ids, use_cache=False).loss)


TASKS = {"steps": _steps}
