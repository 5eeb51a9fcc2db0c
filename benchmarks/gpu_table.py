"""`python -m benchmarks gpu_table`: the tables of docs/gpu.json, which `python -m benchmarks gpu` left, on the page."""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gpu import PARTS
from benchmarks.measure import table_of
from benchmarks.tables import write_section

_FILE = Path(__file__).resolve().parent.parent / "docs/gpu.json"
_Facts = dict[str, Any]


def main(arguments: Sequence[str]) -> int:
    """Put the tables into docs/benchmarks.md; returns the exit status."""
    argparse.ArgumentParser(prog="python -m benchmarks gpu_table", description=__doc__).parse_args(arguments)
    write_section("gpu", tables(json.loads(_FILE.read_text(encoding="utf-8"))))
    return 0


def tables(report: _Facts) -> list[str]:
    """The lines of the section, from the file of a GPU, which must have all parts."""
    parts = report["parts"]
    if missing := [name for name in PARTS if name not in parts or "error" in parts[name]]:
        raise SystemExit(f"{_FILE.name}: not measured: {', '.join(missing)}; python -m benchmarks gpu measures a part")
    return [
        f"{report['date']}, {report['device']}, torch {report['torch']}, transformers {report['transformers']}. A "
        f"product of two bfloat16 matrices of 8,192 x 8,192: {report['product_flops'] / 1e12:.0f} TFLOP/s; MFU is the "
        f"share of {report['peak_flops'] / 1e12:.0f}.",
        "",
        *table_of(["step of training", "ms", "MFU", "peak GB", "ms, not compiled", "MFU, not compiled"], _steps(parts)),
        "",
        *table_of(["bytes generated a second, greedily, float32", *_GENERATED], _generated(parts["generation"])),
        "",
        *table_of(["what", "measured"], _others(parts)),
    ]


_GENERATED = {
    "our GPT": "tokens",
    "`GPT2LMHeadModel.generate`": "transformers_generate",
    "GPT over bytes": "bytes",
    "patches of four bytes": "patches",
}


def _generated(facts: _Facts) -> Iterable[list[str]]:
    for name, title in (("bytes_per_second_batch_1", "one text"), ("bytes_per_second_batch_64", "64 texts at once")):
        yield [title, *(f"{facts[name][way]:,.0f}" for way in _GENERATED.values())]


def _steps(parts: _Facts) -> Iterable[list[str]]:
    gpt, patch = parts["gpt_step"], parts["patch_step"]
    names = {
        "our GPT": gpt["ours"],
        "`GPT2LMHeadModel`": gpt["GPT2LMHeadModel"],
        "our GPT, packed documents of 2,000 bytes in the mean": patch["tokens"],
        "patches: bpe, packed": patch["bpe"],
        "patches: space with hash n-grams, packed": patch["space"],
        "learned chunks, packed": patch["learned"],
    }
    for name, facts in names.items():
        compiled, plain = (
            [f"{1e3 * facts[way]['step_seconds']:.1f}", f"{facts[way]['mfu']:.1%}"] for way in ("compiled", "plain")
        )
        yield [name, *compiled, f"{facts['compiled']['peak_bytes'] / 1e9:.1f}", *plain]


def _others(parts: _Facts) -> Iterable[list[str]]:
    entropy, masks, exact = parts["entropy"], parts["masks"], parts["exact"]
    for dtype in ("float32", "bfloat16"):
        facts = entropy[dtype]
        yield [
            f"predictive entropy of {entropy['characters']:,} Chinese characters, GPT-2 of 24 x 1,024, {dtype}",
            f"{facts['scoring_seconds']:.2f} s; {facts['greatest_difference_nats']:.1g} nats from float64 (a sentence)",
        ]
    plain = masks["causal_sdpa"]["seconds"]
    yield [f"attention over {masks['build']['states']:,} states, causal rows of one length", f"{1e3 * plain:.1f} ms"]
    for name, way in (("by a block mask", "flex"), ("in blocks of similar lengths", "blocks_sdpa")):
        seconds, pairs = masks[way]["seconds"], masks["times_the_pairs"]
        yield [
            f"the same, documents with {pairs:.2f} times the pairs of positions, {name}",
            f"{1e3 * seconds:.1f} ms, {seconds / plain / pairs:.1f} times as long a pair",
        ]
    yield ["building the block mask", f"{1e3 * masks['build']['again_seconds']:.1f} ms"]
    stepping = exact["stepping"]
    yield [
        "exact next-byte distribution, GPT-2 small, one byte after another",
        f"{stepping['ms_per_byte']:.1f} ms a byte, calls of the model: {stepping['calls_per_byte']:.2f}",
    ]
    yield ["plain steps over its tokens, per byte of the same text", f"{exact['tokens']['ms_per_byte']:.2f} ms"]
    yield ["exact probability of known text", f"{exact['known_text']['ms_per_byte']:.3f} ms a byte"]
    translation, memory = parts["translation"], parts["memory"]
    ways = (("compiled", translation["ours"]["compiled"]), ("not compiled", translation["ours"]["plain"]))
    ours = ", ".join(f"{1e3 * facts['step_seconds']:.0f} ms {name}" for name, facts in ways)
    peer = translation["MarianMTModel"]["step_seconds"]
    yield [
        f"step of our translation model of {translation['parameters'] / 1e6:.0f}M weights, 256 pairs of 64 tokens",
        f"{ours}; `MarianMTModel`, float32: {1e3 * peer:.0f} ms",
    ]
    for name, kept in (
        ("kept", "states kept"),
        ("checkpointed", "states computed again"),
        ("checkpointed_paper", "the same, the batch of the preset `paper`"),
    ):
        facts = memory[name]
        yield [
            f"step of the GPT over bytes, {facts['rows']} rows of 8,192, {kept}",
            f"{facts['step_seconds']:.2f} s, {facts['peak_bytes'] / 1e9:.1f} GB",
        ]
