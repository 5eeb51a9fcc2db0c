"""Generation of language models with caches, beside one full pass over the text for each symbol.

Weights are random, so that all kinds have the same size; the symbols are those of a real text, so that patches have
their usual lengths: each symbol is drawn, then the text's own is appended. A full pass for each symbol would take hours
with the small size; it is measured for 8 prefixes of the text, evenly spaced, and their mean time stands for all.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from benchmarks.corpora import verses
from benchmarks.measure import Bench, Task, table_of
from tokenlab.language.coding import ByteCoder, Coder, PatchCoder, TokenCoder
from tokenlab.language.generation import begin, draw, uniforms
from tokenlab.language.stored import LanguageModel
from tokenlab.networks.options import SIZES, ChunkShape, HashShape, PatchShape, Shape, TokenShape
from tokenlab.networks.stored import build_network
from tokenlab.patches.bpe import read_bpe_patcher
from tokenlab.patches.by_bytes import SpacePatcher
from tokenlab.patches.options import SpaceOptions
from tokenlab.tokenizers.bpe import train_byte_level
from tokenlab.tokenizers.hierarchical import learn_hierarchical

TITLE = "Generation of language models"
TEXTS = ()
_KINDS = {
    "tokens": "tokens (vocabulary 50,257)",
    "bytes": "bytes",
    "bpe": "patches: bpe, S = 10",
    "space": "patches: space, at most 6 bytes",
}
_PREFIXES = 8
_TOKENS = 8192
_VOCABULARY = 50_257


def table(bench: Bench) -> list[str]:
    size, length = ("tiny", 64) if bench.quick else ("small", 512)
    rows = []
    for kind, shown in _KINDS.items():
        cached = bench.measure("patches_generation:cached", kind, size, str(length))
        full = bench.measure("patches_generation:full", kind, size, str(length))
        symbols = cached.facts["symbols"]
        slow = full.median / _PREFIXES * symbols
        times = (1e3 * cached.median / length, 1e3 * slow / length, slow / cached.median)
        rows.append([shown, *(f"{time:.3g}" for time in times), symbols])
    heads = ["model", "ms/byte, caches", "ms/byte, a full pass each", "times faster", "symbols"]
    return [
        f"Size `{size}`, {length} bytes of English after an empty prompt, one text, one thread, float32, CPU; "
        f"torch {torch.__version__}.",
        "",
        *table_of(heads, rows),
    ]


def _cached(kind: str, size: str, length: str) -> Task:
    """Generate a text symbol by symbol."""
    model, text = _model(kind, size), _text(int(length))
    (piece,) = model.coder.code([text])

    @torch.inference_mode()
    def run(count: int) -> int:
        rows = begin(model, [b""], int(length))
        for position, symbol in enumerate(piece.ids[:count].tolist()):
            uniform = uniforms(0, np.array([0]), np.array([position]))
            draw(rows.logits, uniform, 1.0, None, rows.allowed()).tolist()
            rows.append([symbol])
        return count

    return Task(run, 8, len(piece.ids), lambda symbols: {"symbols": symbols})


def _full(kind: str, size: str, length: str) -> Task:
    """The logits after each of some prefixes, without what an earlier one computed."""
    model, text = _model(kind, size), _text(int(length))
    ends = [len(text) * (2 * number + 1) // (2 * _PREFIXES) for number in range(_PREFIXES)]

    @torch.inference_mode()
    def run(prefixes: list[bytes]) -> None:
        for prefix in prefixes:
            begin(model, [prefix], 1)

    return Task(run, [text[:8]], [text[:end] for end in ends], lambda _: {})


def _text(length: int) -> bytes:
    return " ".join(verses("en", 400_000)).encode()[:length]


def _model(kind: str, size: str) -> LanguageModel:
    torch.set_num_threads(1)
    coder = coder_of(kind)
    return LanguageModel(build_network(shape_of(kind, size, len(coder.spellings)), 0).eval(), coder, 512)


def coder_of(kind: str) -> Coder:
    """How text becomes the symbols of a model."""
    if kind == "bytes":
        return ByteCoder()
    if kind == "space":
        return PatchCoder(SpacePatcher(SpaceOptions(cap=6)))
    with TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        train_byte_level(verses("en", 400_000), _TOKENS).save(str(path))
        if kind == "tokens":
            return TokenCoder(path)
        patcher = read_bpe_patcher(path)
    return PatchCoder(patcher, learn_hierarchical([token for token in patcher.tokens if token], 10))


def shape_of(kind: str, size: str, symbols: int) -> Shape:
    """The network of a kind of model, over tokens, bytes or patches, or with learned chunks."""
    latent, local = SIZES[size]
    if kind in ("tokens", "bytes"):
        return TokenShape(_VOCABULARY if kind == "tokens" else symbols, latent)
    if kind == "learned":
        return ChunkShape(latent, local)
    return PatchShape(symbols, kind == "bpe", latent, local, HashShape() if kind == "space-hash" else None)


TASKS = {"cached": _cached, "full": _full}
