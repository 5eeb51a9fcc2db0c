"""All that a GPU is for, in one process: `python -m benchmarks gpu [--quick] --json FILE`; eight minutes on an H200.

Parts run in the order of their weight, each beside its peer. The file is written after every part, so that a lost
machine loses one part. What fails is a line `error` of its part, and the next part begins. `--quick` runs all parts at
toy size, on a CPU too. Needed: torch, transformers, numpy, numba, safetensors, tokenizers and regex.

Weights and ids are random. A step is forward and backward pass, clipping and AdamW, in bfloat16 on a GPU. Operations
are those of the networks as built (`tokenlab.networks.cost`); MFU is their share of the bfloat16 peak of the card, or,
where that is not known, of a product of two large matrices.
"""

import argparse
import datetime
import gc
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor
from torch.nn import functional

from tokenlab.core.errors import one_line
from tokenlab.core.files import write_text
from tokenlab.networks.attention import attend
from tokenlab.networks.batches import sequence_layout
from tokenlab.networks.cost import parameter_count, training_flops_per_byte
from tokenlab.networks.interface import AnyNetwork, CodedPassage
from tokenlab.networks.options import (
    SIZES,
    ChunkShape,
    Computation,
    HashShape,
    PatchShape,
    Shape,
    StackShape,
    TokenShape,
)
from tokenlab.networks.stored import build_network

Facts = dict[str, Any]
_VOCABULARY = 50_257
_PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12}
"""bfloat16 operations a second without sparsity, of cards by a part of their name (NVIDIA's data sheets)."""
_BYTES_PER_TOKEN, _BYTES_PER_PATCH = 4.0, 4.12
_SECONDS = 480
"""No part begins later."""
_RUNS = 3


@dataclass(frozen=True)
class Card:
    """Where the parts run, and at which size."""

    device: torch.device
    quick: bool
    peak: float = 1.0
    """bfloat16 operations a second."""

    @property
    def gpu(self) -> bool:
        """Whether this is a GPU."""
        return self.device.type == "cuda"

    def pick(self, full: Any, quick: Any) -> Any:
        """One of two sizes."""
        return quick if self.quick else full

    def bfloat16(self) -> AbstractContextManager[Any]:
        """Products in bfloat16, on a GPU."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.gpu)

    def wait(self) -> None:
        """Until all kernels are done."""
        if self.gpu:
            torch.cuda.synchronize(self.device)

    def timed(self, work: Callable[[], Any], runs: int = _RUNS, warm: int = 2) -> float:
        """Median seconds of a call, after calls that compile and fill caches."""
        for _ in range(warm):
            work()
        found = []
        for _ in range(runs):
            self.wait()
            start = time.perf_counter()
            work()
            self.wait()
            found.append(time.perf_counter() - start)
        return statistics.median(found)

    def memory(self) -> int:
        """Bytes of the GPU held at most since the last call; 0 on a CPU."""
        if not self.gpu:
            return 0
        found = torch.cuda.max_memory_allocated(self.device)
        torch.cuda.reset_peak_memory_stats(self.device)
        return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all parts, or those named; returns the exit status: 1 where a part failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks gpu", description="Measure what a GPU is for.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="toy sizes: shows that it works, not how fast")
    parser.add_argument(
        "--json",
        required=True,
        type=Path,
        metavar="FILE",
        help="written after every part; parts that are not named stay",
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - PARTS.keys():
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if not options.quick and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU; --quick runs on a CPU")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    # Before the first tensor. With segments of fixed sizes, 21 of 79 GB lay unused where the last part needed 7.
    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    began = time.perf_counter()
    card = Card(torch.device("cuda" if torch.cuda.is_available() else "cpu"), options.quick)
    report: Facts = {**_conditions(card), "parts": {}}
    if options.parts and options.json.exists():
        before = json.loads(options.json.read_text())
        if any(before[name] != report[name] for name in ("device", "torch", "transformers", "quick")):
            parser.error(f"{options.json} is of another device, version or size; name another file")
        report["parts"] = before["parts"]
    card = replace(card, peak=report["peak_flops"])
    names = options.parts or PARTS
    for name in names:
        if time.perf_counter() - began > _SECONDS:
            report["parts"][name] = {"error": f"not begun: {_SECONDS} seconds were over"}
        else:
            report["parts"][name] = _measured(PARTS[name], card)
        print(f"{name}: {json.dumps(report['parts'][name])}", flush=True)
        write_text(options.json, json.dumps(report, indent=2) + "\n")  # whole whenever the machine goes
    return int(any("error" in report["parts"][name] for name in names))


def _measured(part: Callable[[Card, Facts], None], card: Card) -> Facts:
    """The facts of a part, and its error where it failed: what it had found until then is kept."""
    facts: Facts = {}
    card.memory()
    start = time.perf_counter()
    # On a CPU the compiler would take minutes for each model, and say nothing about a GPU.
    stance = "default" if card.gpu else "force_eager"
    try:
        with torch.compiler.set_stance(stance):
            part(card, facts)
    except Exception as error:  # Whatever it is, the next part may work.
        facts["error"] = _reason(error)
    facts["seconds"], facts["peak_bytes"] = time.perf_counter() - start, card.memory()
    gc.collect()
    if card.gpu:
        torch.cuda.empty_cache()
    torch.compiler.reset()
    return facts


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {one_line(error)[:300]}"


def _conditions(card: Card) -> Facts:
    name = torch.cuda.get_device_name(card.device) if card.gpu else "CPU"
    size = card.pick(8192, 256)
    left = torch.randn(size, size, device=card.device, dtype=torch.bfloat16 if card.gpu else torch.float32)
    product = 2 * size**3 / card.timed(lambda: left @ left)
    known = [peak for part, peak in _PEAKS.items() if part in name]
    return {
        "date": str(datetime.date.today()),
        "device": name,
        "memory_bytes": torch.cuda.get_device_properties(card.device).total_memory if card.gpu else None,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "transformers": transformers.__version__,
        "quick": card.quick,
        "product_flops": product,
        "peak_flops": known[0] if known else product,
    }


# --- Training ---


def _entropy(card: Card, facts: Facts) -> None:
    """Predictive entropy of Chinese text by a GPT-2 of the paper's size; the paper took two days on two A100."""
    from tokenlab.entropy import load_scorer
    from tokenlab.networks.gpt import GptShape, build_gpt, save_gpt
    from tokenlab.tokenizers.alphabet import AlphabetOptions, learn_alphabet, save_alphabet

    draws = np.random.default_rng(0)
    count, characters = card.pick((90_000, 6000), (400, 50))
    codes = 0x4E00 + np.minimum(draws.zipf(1.3, count), characters).astype(np.int64)
    text = "".join(map(chr, codes))
    sentences = [text[begin : begin + 45] for begin in range(0, count, 45)]
    facts["characters"] = count
    with tempfile.TemporaryDirectory() as folder:
        alphabet = learn_alphabet(sentences, AlphabetOptions())
        layers, width, heads = card.pick((24, 1024, 16), (2, 32, 2))
        model = build_gpt(GptShape(layers, width, heads, card.pick(1024, 64)), alphabet.size, 0)
        save_gpt(model, folder)
        save_alphabet(alphabet, Path(folder))
        ids = torch.tensor([alphabet.tokenizer.encode(sentences[0]).ids], device=card.device)
        plain = model.double().to(card.device).eval()
        with torch.no_grad():
            # Whatever the tokenizer puts before the text, the last predictions are those of its last characters.
            start = ids if int(ids[0, 0]) == model.config.bos_token_id else functional.pad(ids, (1, 0), value=0)
            shares = plain(input_ids=start).logits[0, :-1].log_softmax(-1)
        exact = -(shares.exp() * shares).sum(-1).cpu().numpy()[-len(sentences[0]) :]
        del plain, model
        for dtype in ("float32", "bfloat16"):
            scorer = load_scorer(folder, str(card.device), dtype)  # type: ignore[arg-type]
            seconds = card.timed(lambda scorer=scorer: scorer.score(sentences), runs=1, warm=1)
            difference = float(np.abs(scorer.score(sentences[:1])[0] - exact).max())
            facts[dtype] = {"scoring_seconds": seconds, "greatest_difference_nats": difference}


def _passages(
    draws: np.random.Generator, rows: int, symbols: int, vocabulary: int, patch: float | None, document: int | None
) -> list[list[CodedPassage]]:
    """Rows of random symbols, cut into documents of `document` symbols in the mean, and these into patches."""
    found = []
    for _ in range(rows):
        row, left = [], symbols
        while left > 0:
            drawn = int(draws.exponential(document)) + 8 if document else left
            size = left if left - drawn < 8 else min(left, drawn)
            ids = draws.integers(0, vocabulary, size).astype(np.int32)
            starts = np.zeros(0, np.int32)
            if patch:
                steps = 1 + draws.poisson(patch - 1, size)
                starts = np.cumsum(np.concatenate(([0], steps)))
                starts = starts[starts < size].astype(np.int32)
            row.append(CodedPassage(ids, starts, size))
            left -= size
        found.append(row)
    return found


def _stacks(card: Card) -> tuple[StackShape, StackShape]:
    return SIZES[card.pick("small", "tiny")]


def _step(card: Card, model: Any, loss: Callable[[Any], Tensor], tuned: bool = True) -> Callable[[], None]:
    """A step of training; `loss` of a model, which may be compiled. tuned: in bfloat16, by the fused optimizer."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=tuned or None)

    def step() -> None:
        with card.bfloat16() if tuned else nullcontext():
            found = loss(model)
        found.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def _compiled_and_plain(card: Card, model: Any, loss: Callable[[Any], Tensor], flops: float) -> Facts:
    """Seconds of a step with torch.compile and without it; a compiler that fails is a line of its own."""
    found: Facts = {}
    for name in ("plain", "compiled"):  # The first step grows the rotary tables; later that would compile again.
        try:
            run = torch.compile(model, dynamic=True) if name == "compiled" else model
            card.memory()
            seconds = card.timed(_step(card, run, loss), warm=3 if name == "compiled" else 1)
        except Exception as error:
            found[f"{name}_error"] = _reason(error)
            model.zero_grad(set_to_none=True)
            continue
        found[name] = {"step_seconds": seconds, "peak_bytes": card.memory(), **_rates(card, flops, seconds)}
    if not found.keys() & {"compiled", "plain"}:
        raise RuntimeError(found["plain_error"])
    return found


def _rates(card: Card, flops: float, seconds: float) -> Facts:
    return {"flops_per_second": flops / seconds, "mfu": flops / seconds / card.peak}


def _network_step(card: Card, shape: Shape, rows: list[list[CodedPassage]]) -> Facts:
    network = build_network(shape, 0, Computation("flex" if card.gpu else "sdpa"), card.device)
    batch = network.collate(rows).to(card.device)
    passages = [passage for row in rows for passage in row]
    size = sum(passage.size for passage in passages)
    context = sum(passage.size**2 for passage in passages) / size
    symbols, patches = (sum(map(len, parts)) / size for parts in zip(*(p[:2] for p in passages), strict=True))
    if isinstance(shape, ChunkShape):
        patches = float(network.boundaries(batch).float().mean())
    flops = size * training_flops_per_byte(shape, context, symbols, patches or 1.0)

    def loss(model: AnyNetwork) -> Tensor:
        found = model(batch)
        return (found.nats + found.extra) / batch.symbols

    found = _compiled_and_plain(card, network, loss, flops)
    return {"parameters": parameter_count(shape), "flops": flops, "symbols": batch.symbols, **found}


def _best(facts: Facts) -> float:
    """Operations a second of the faster of both ways."""
    return max(facts[name]["flops_per_second"] for name in ("compiled", "plain") if name in facts)


def _gpt_step(card: Card, facts: Facts) -> None:
    """The token model beside GPT2LMHeadModel of the same shape; nanochat reports 41 to 50 % MFU."""
    stack, vocabulary = _stacks(card)[0], card.pick(_VOCABULARY, 300)
    # A sixth of the batch of the preset `paper`, 96 rows of 8,192 bytes; six of them are accumulated.
    count, context = card.pick((16, 8192), (2, 256))
    rows = _passages(np.random.default_rng(0), count, int(context / _BYTES_PER_TOKEN), vocabulary, None, None)
    facts["ours"] = _network_step(card, TokenShape(vocabulary, stack), rows)
    ids = torch.from_numpy(np.stack([row[0].ids for row in rows]).astype(np.int64)).to(card.device)
    peer = _gpt2(card, ids.shape[1]).train()
    loss = lambda model: model(input_ids=ids, labels=ids, use_cache=False).loss  # noqa: E731
    facts["GPT2LMHeadModel"] = _compiled_and_plain(card, peer, loss, facts["ours"]["flops"])
    facts["times_faster"] = _best(facts["ours"]) / _best(facts["GPT2LMHeadModel"])


def _gpt2(card: Card, context: int) -> Any:
    """GPT-2 of `transformers` in the size of our token model."""
    stack = _stacks(card)[0]
    config = transformers.GPT2Config(
        vocab_size=card.pick(_VOCABULARY, 300), n_positions=context, n_embd=stack.width, n_layer=stack.layers,
        n_head=stack.heads, embd_pdrop=0.0, resid_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=None,
    )  # fmt: skip
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(config).to(card.device)


def _patch_step(card: Card, facts: Facts) -> None:
    """Patch models over packed documents beside the token model over the same number of bytes."""
    rows, context = card.pick((16, 8192), (2, 256))
    latent, local = _stacks(card)
    shapes: dict[str, tuple[Shape, float | None]] = {
        "bpe": (PatchShape(497, True, latent, local), _BYTES_PER_PATCH),
        "space": (PatchShape(256, False, latent, local, card.pick(HashShape(), HashShape(100))), _BYTES_PER_PATCH),
        "learned": (ChunkShape(latent, local), None),
    }
    vocabulary, tokens = card.pick(_VOCABULARY, 300), int(context / _BYTES_PER_TOKEN)
    draws, document = np.random.default_rng(0), card.pick(2000, 60)
    some = _passages(draws, rows, tokens, vocabulary, None, max(8, int(document / _BYTES_PER_TOKEN)))
    facts["tokens"] = _network_step(card, TokenShape(vocabulary, latent), some)
    for name, (shape, patch) in shapes.items():
        symbols = shape.symbols if isinstance(shape, PatchShape) else 256
        try:
            found = _network_step(card, shape, _passages(draws, rows, context, symbols, patch, document))
        except Exception as error:
            facts[name] = {"error": _reason(error)}
            facts["error"] = f"{name} failed"
            continue
        facts[name] = {**found, "of_tokens": _best(found) / _best(facts["tokens"])}


def _masks(card: Card, facts: Facts) -> None:
    """Packed attention by a block mask beside causal attention of the same length, and by blocks of similar lengths."""
    states, mean, heads, size = card.pick((131_072, 2000, 12, 64), (512, 60, 2, 16))
    draws, lengths = np.random.default_rng(0), []
    while sum(lengths) < states:
        lengths.append(min(states - sum(lengths), int(draws.exponential(mean)) + 8))
    layout = sequence_layout(np.array(lengths)).to(card.device)
    packed = torch.randn(
        states, 3, heads, size, device=card.device, dtype=torch.bfloat16 if card.gpu else torch.float32
    )
    if card.gpu:
        packed.requires_grad_()
    card.memory()
    held = card.memory()  # now that the peak begins anew: what is held
    start = time.perf_counter()
    mask = layout.block_mask
    card.wait()
    facts["build"] = {
        "seconds": time.perf_counter() - start,
        "bytes": card.memory() - held,
        "states": states,
        "blocks": mask.kv_indices.numel(),
    }
    fresh = lambda: replace(layout).block_mask  # noqa: E731
    facts["build"]["again_seconds"] = card.timed(fresh)

    def both(work: Callable[[], Tensor]) -> Callable[[], None]:
        def run() -> None:
            with torch.set_grad_enabled(card.gpu):  # On a CPU, flex_attention computes no gradients.
                found = work()
            if card.gpu:
                found.sum().backward()
                packed.grad = None

        return run

    rows = -(-states // mean)
    whole = packed[: rows * (states // rows)].view(rows, -1, 3, heads, size).permute(2, 0, 3, 1, 4)
    ways = {
        "causal_sdpa": lambda: functional.scaled_dot_product_attention(*whole, is_causal=True),
        "flex": lambda: attend(packed, layout, "flex"),
        "blocks_sdpa": lambda: attend(packed, layout, "sdpa"),
    }
    for name, work in ways.items():
        facts[name] = {"seconds": card.timed(both(work)), "bytes": card.memory()}
    facts["times_the_pairs"] = sum(length**2 for length in lengths) / (rows * whole.shape[3] ** 2)
    with torch.no_grad():
        difference = (attend(packed, layout, "flex").float() - attend(packed, layout, "sdpa").float()).abs().max()
    facts["greatest_difference"] = float(difference)


# --- Generation ---


def _generation(card: Card, facts: Facts) -> None:
    """Bytes a second from caches, greedily, of tokens, bytes and patches, beside `generate` of transformers; all in
    float32, as our commands and stages generate."""
    latent, local = _stacks(card)
    vocabulary, length = card.pick((_VOCABULARY, 512), (300, 24))  # bytes after an empty prompt
    shapes: dict[str, tuple[Shape, float]] = {
        "tokens": (TokenShape(vocabulary, latent), _BYTES_PER_TOKEN),
        "bytes": (TokenShape(256, latent), 1.0),
        "patches": (PatchShape(256, False, latent, local), 1.0),
    }
    for batch in (1, card.pick(64, 3)):
        found: Facts = {}
        for name, (shape, bytes_each) in shapes.items():
            network = build_network(shape, 0, device=card.device).eval()
            way = _patches_generated if name == "patches" else _symbols_generated
            count = int(length / bytes_each)

            def run(network: Any = network, way: Any = way, count: int = count, batch: int = batch) -> None:
                with torch.no_grad():
                    way(network, batch, count)

            found[name] = batch * length / card.timed(run, runs=1, warm=1)
        peer = _gpt2(card, length + 8).eval()
        prompt = torch.zeros(batch, 1, dtype=torch.int64, device=card.device)
        count = int(length / _BYTES_PER_TOKEN)

        def generate(peer: Any = peer, prompt: Tensor = prompt, count: int = count) -> None:
            with torch.no_grad():
                peer.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=count,
                              min_new_tokens=count, do_sample=False, pad_token_id=0)  # fmt: skip

        found["transformers_generate"] = batch * length / card.timed(generate, runs=1, warm=1)
        facts[f"bytes_per_second_batch_{batch}"] = found


def _symbols_generated(network: Any, batch: int, count: int) -> None:
    logits, cache = network.begin([[]] * batch, count)
    for _ in range(count):
        logits = network.step(logits.argmax(1), cache)


def _patches_generated(network: Any, batch: int, count: int) -> None:
    """Patches of four bytes."""
    opened, latent = network.begin_latent([network.start.new_zeros(0, len(network.start))] * batch, count // 4)
    local = network.decoder_cache(batch, 4)
    for _ in range(count // 4):
        logits, drawn = network.begin_patch(opened, local), []
        for place in range(4):
            drawn.append(logits.argmax(1))
            if place < 3:
                logits = network.step_symbol(drawn[-1], local)
        vectors = network.encode_patches(torch.stack(drawn, 1).tolist())
        opened = network.step_latent(vectors, latent)


def _exact(card: Card, facts: Facts) -> None:
    """Next-byte distributions and known text with GPT-2 small, batch 1, beside plain steps over tokens."""
    from benchmarks import exact_models
    from tokenlab.exact import CharacterModel, load

    draws = np.random.default_rng(0)
    words = ["".join(map(chr, draws.integers(97, 123, size))) for size in draws.integers(2, 9, 300)]
    text = " ".join(words[i] for i in np.minimum(draws.zipf(1.3, 3000), 300) - 1)
    stepped, known = (text[:size].encode() for size in card.pick((240, 1500), (12, 40)))
    with tempfile.TemporaryDirectory() as folder:
        exact_models.save(Path(folder), text.split(". "), small=card.quick)
        model, real = load(folder, device=str(card.device))
        characters = CharacterModel(model, real.automaton)

        def step(given: bytes) -> Any:
            grown = characters.incremental()
            for byte in given:
                grown.next_bytes()
                grown.advance(byte)
            return grown.evaluator.cost()

        step(stepped[:8])
        card.wait()
        start = time.perf_counter()
        cost = step(stepped)
        card.wait()
        seconds = time.perf_counter() - start
        facts["stepping"] = {"ms_per_byte": 1e3 * seconds / len(stepped), "calls_per_byte": cost.passes / len(stepped)}
        seconds = card.timed(lambda: characters.log_probability(known), runs=1, warm=1)
        facts["known_text"] = {"ms_per_byte": 1e3 * seconds / len(known), "bytes": len(known)}
        facts["tokens"] = {"ms_per_byte": 1e3 * _plain_steps(card, folder, stepped) / len(stepped)}


def _plain_steps(card: Card, folder: str, text: bytes) -> float:
    """Seconds of one token after another by the model's own cache, with the distribution of each."""
    from tokenizers import Tokenizer

    model = transformers.GPT2LMHeadModel.from_pretrained(folder).to(card.device).eval()
    ids = Tokenizer.from_file(f"{folder}/tokenizer.json").encode(text.decode()).ids

    @torch.inference_mode()
    def run() -> None:
        cache, last = transformers.DynamicCache(), 0
        for token in ids:
            given = torch.tensor([[last]], device=card.device)
            logits = model(input_ids=given, past_key_values=cache, use_cache=True).logits[0, -1]
            float(logits.log_softmax(-1)[token])
            last = token

    return card.timed(run, runs=1, warm=1)


def _translation(card: Card, facts: Facts) -> None:
    """A step of the pilot's model of 65 million parameters, in bfloat16 and compiled, beside transformers' MarianMT as
    it comes: float32, not compiled."""
    from tokenlab.translation import TranslationShape, build_model

    vocabulary, rows, length = card.pick((32_000, 256, 64), (60, 3, 12))
    layers, width, heads, inner = card.pick((6, 512, 8, 2048), (1, 16, 2, 32))
    shape = TranslationShape(layers, width, heads, inner, max(length, 64), 0.0)
    draws = np.random.default_rng(0)
    source, target = (torch.from_numpy(draws.integers(4, vocabulary, (rows, length))).to(card.device) for _ in range(2))
    source[: rows // 2, -length // 4 :] = 1

    def loss(model: Any) -> Tensor:
        given = {"attention_mask": source.ne(1).long(), "decoder_input_ids": target, "use_cache": False}
        logits = model(input_ids=source, **given).logits
        return functional.cross_entropy(logits.float().flatten(0, 1), target.flatten(), label_smoothing=0.1)

    ours = build_model(shape, vocabulary, 1, 2, 0).to(card.device).train()
    facts["parameters"] = sum(weight.numel() for weight in ours.parameters())
    flops = 6 * facts["parameters"] * rows * length
    facts["ours"] = _compiled_and_plain(card, ours, loss, flops)
    peer = transformers.MarianMTModel(ours.config).to(card.device).train()
    seconds = card.timed(_step(card, peer, loss, tuned=False))
    facts["MarianMTModel"] = {"step_seconds": seconds, **_rates(card, flops, seconds)}
    facts["times_faster"] = _best(facts["ours"]) * seconds / flops


def _memory(card: Card, facts: Facts) -> None:
    """The model over bytes with and without activation checkpointing, then at the batch of the preset
    `paper`, 96 rows of 8,192."""
    stack = _stacks(card)[0]
    context = card.pick(8192, 64)
    for name, rows, checkpoint in (
        ("kept", card.pick(4, 2), False),
        ("checkpointed", card.pick(4, 2), True),
        ("checkpointed_paper", card.pick(96, 3), True),
    ):
        try:
            facts[name] = _bytes_step(card, stack, rows, context, checkpoint)
        except torch.OutOfMemoryError as error:
            facts[name] = {"rows": rows, "error": _reason(error)}
            facts["error"] = f"{name}: out of memory"
        if card.gpu:
            gc.collect()
            torch.cuda.empty_cache()


def _bytes_step(card: Card, stack: StackShape, rows: int, context: int, checkpoint: bool) -> Facts:
    network = build_network(TokenShape(256, stack), 0, Computation(checkpoint_activations=checkpoint), card.device)
    passages = _passages(np.random.default_rng(0), rows, context, 256, None, None)
    batch = network.collate(passages).to(card.device)
    held = card.memory()
    step = _step(card, network, lambda model: model(batch).nats / batch.symbols)
    seconds = card.timed(step, runs=1, warm=1)
    return {"rows": rows, "step_seconds": seconds, "peak_bytes": card.memory(), "before_bytes": held}


PARTS: dict[str, Callable[[Card, Facts], None]] = {
    "entropy": _entropy,
    "gpt_step": _gpt_step,
    "patch_step": _patch_step,
    "masks": _masks,
    "generation": _generation,
    "exact": _exact,
    "translation": _translation,
    "memory": _memory,
}
"""Most important first."""
