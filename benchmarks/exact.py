"""Exact character probabilities of a tokenized model beside the model's own speed over tokens, and beside genlm-bytes.

GPT-2 small, randomly initialised, with GPT-2's tokenizer, and a smaller one; English text. genlm-bytes sums over all
token strings with a beam; it is measured where TOKENLAB_GENLM_PYTHON names an interpreter that has it, with torch and
transformers.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from math import log
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer
from transformers import DynamicCache

from benchmarks import exact_models
from benchmarks.corpora import verses
from benchmarks.measure import Bench, Facts, Measurement, Task, table_of
from tokenlab.exact.adapters import read_tokenizer
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.loading import load
from tokenlab.exact.options import ExactOptions

TITLE = "Exact character probabilities"
TEXTS = ()
PEER = "TOKENLAB_GENLM_PYTHON"
_PEER_BEAMS = ((5, 0.0), (5, 0.05))  # candidates, and the share below which one is dropped
_UNPRUNED = (1_000_000, 0.0)
_CHARACTERS = {False: (240, 1_500, 60), True: (60, 120, 20)}  # stepped, known text, of the peer
_EQUAL = 1e-5  # relative, of log probabilities by passes of other shapes
_PEER_EQUAL = 1e-5  # of probabilities, and of log P(text) in nats; its sums are in float32
_WARM_UP = 8  # characters
_MOST_RUNS = 3
_PER_BYTE = ("passes/byte", "contexts/byte", "tokens evaluated/byte")
_PRUNE = 1e-3  # of all token strings: their number doubles with every few characters


def table(bench: Bench) -> list[str]:
    text = " ".join(verses("en", 20_000))
    tokenizer = exact_models.save(bench.folder / "model", text.split(". "), small=bench.quick)
    sizes = _CHARACTERS[bench.quick]
    paths = [_write(bench, f"{size}.txt", text[:size]) for size in sizes]
    return [
        f"Tokenizer: {tokenizer}. Text: English, its first characters, {sizes[0]} to step through, {sizes[1]} at once, "
        f"{sizes[2]} beside the peer, which runs once. One thread; torch {torch.__version__}, transformers "
        f"{transformers.__version__}.",
        "",
        *_stepping(bench, paths[0], sizes[0]),
        "",
        *_known_text(bench, paths[1], sizes[1]),
        "",
        *_smaller(bench, text, paths[:2], sizes),
        "",
        *_peer(bench, paths[2], sizes[2]),
    ]


def _stepping(bench: Bench, path: str, size: int) -> list[str]:
    model = str(bench.folder / "model")
    tokens = bench.measure("exact:tokens", model, path)
    characters = bench.measure("exact:characters", model, path)
    once = bench.measure("exact:known", model, path, runs=1)
    _check_equal(characters.facts["log_probability"], once.facts["log_probability"])
    bpc = bench.measure("exact:bpc", model, path)
    rows = []
    for name, found in {"tokens, with the model's own cache": tokens, "characters, `incremental`": characters}.items():
        steps = found.facts["steps"]
        each = steps, f"{1e3 * found.median / steps:.1f}"
        rows.append([name, found.time(1e3 / size), *_ratios(found, tokens), *each, *_per_byte(found, size)])
    heads = ["step by step", "ms/character", "time / that of tokens", "CPU time / that", "steps", "ms/step", *_PER_BYTE]
    return [
        *table_of(heads, rows),
        "",
        f"One call of `bpc` for the byte after the {size} characters: {1e3 * bpc.median:.0f} ms, "
        f"{bpc.facts['contexts']} contexts in {bpc.facts['passes']} passes, {bpc.facts['tokens']} tokens evaluated.",
    ]


def _known_text(bench: Bench, path: str, size: int) -> list[str]:
    model = str(bench.folder / "model")
    naive, known = bench.measure("exact:naive", model, path), bench.measure("exact:known", model, path)
    rows = [
        [name, found.time(1e3 / size), *_ratios(found, naive), *_per_byte(found, size), _bits(found, size)]
        for name, found in {"tokens of its encoding, one pass": naive, "exact": known}.items()
    ]
    heads = ["known text", "ms/character", "time / that of tokens", "CPU time / that", *_PER_BYTE, "bits/character"]
    return table_of(heads, rows)


def _smaller(bench: Bench, text: str, paths: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """A smaller GPT-2, which `load` evaluates without PyTorch, beside itself by `transformers`."""
    folder = bench.folder / "smaller"
    size = 500 if bench.quick else 4096
    exact_models.save(folder, text.split(". "), small=True, size=size, shape=exact_models.SMALL)
    rows, first = [], None
    for device, name in {"cpu": "`transformers`", "auto": "NumPy"}.items():
        stepped = bench.measure("exact:characters", str(folder), paths[0], "valid", device)
        known = bench.measure("exact:known", str(folder), paths[1], device)
        start = _seconds_to_start(folder, device)
        first = first or (stepped, known, start)
        _check_equal(first[0].facts["log_probability"], stepped.facts["log_probability"])
        _check_equal(first[1].facts["log_probability"], known.facts["log_probability"])
        cells = [
            cell
            for found, other, amount in ((stepped, first[0], sizes[0]), (known, first[1], sizes[1]))
            for cell in (found.time(1e3 / amount), f"{found.median / other.median:.2f}")
        ]
        rows.append([name, *cells, f"{start:.1f}", f"{start / first[2]:.2f}"])
    times = ["step by step, ms/character", "time / that", "known text, ms/character", "time / that"]
    shape = ", ".join(f"`{key}` {value}" for key, value in exact_models.SMALL.items())
    return [
        *table_of([f"a smaller GPT-2 ({shape}, {size:,} tokens)", *times, "s to start", "time / that"], rows),
        "",
        "To start: CPU seconds of `tokenlab exact next TEXT` after the first call, which fills the caches.",
    ]


def _seconds_to_start(folder: Path, device: str) -> float:
    command = [sys.executable, "-m", "tokenlab.cli", "exact", "next", "The", "--model", str(folder), "--device", device]
    seconds = []
    for _ in range(1 + _MOST_RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(seconds[1:])


def _peer(bench: Bench, path: str, size: int) -> list[str]:
    python = os.environ.get(PEER)
    if not python:
        return [f"genlm-bytes has no row: {PEER} names no interpreter that has it."]
    model = str(bench.folder / "model")
    ways = {"valid": "the tokenizer's encodings", "all": f"all token strings, pruned below {_PRUNE:g}"}
    rows = [
        (f"`incremental`, {what}", bench.measure("exact:characters", model, path, way)) for way, what in ways.items()
    ]
    version = _version(python)
    for width, prune in _PEER_BEAMS:
        name = f"genlm-bytes {version}, beam of {width}, pruned below {prune:g}"
        rows.append((name, peer(bench, python, model, path, width, prune)[0]))
    cells = [
        [name, found.rate(size), *_ratios(found, rows[0][1]), *_per_byte(found, size), _bits(found, size)]
        for name, found in rows
    ]
    times = "characters/s", "time / that of `incremental`", "CPU time / that"
    difference, contexts = agreement(bench, python)
    return [
        *table_of(["beside genlm-bytes", *times, *_PER_BYTE, "bits/character"], cells),
        "",
        f"Without pruning, on a tiny model over {contexts} contexts: the probabilities of every next byte, and of "
        f"the end, differ from `encodings: all` by at most {difference:.1g}. Truncation is off: the peer has none.",
    ]


def peer(
    bench: Bench, python: str, model: str, path: str, width: int, prune: float
) -> tuple[Measurement, list[list[float]]]:
    """Run genlm-bytes. Returns also log P of the end, then of every byte, before each byte of the text."""
    found, others = bench.measure_peer(python, "exact_peer.py", model, path, str(width), str(prune))
    return found, others["rows"]


def agreement(bench: Bench, python: str) -> tuple[float, int]:
    """The largest difference of P(next byte) and P(end) between genlm-bytes without pruning and `encodings: all`, and
    the number of contexts: every beginning of a short text, for a tiny model. Both log P(text) must agree, too."""
    folder = bench.folder / "tiny"
    sentences = verses("en", 3_000)
    exact_models.save(folder, sentences, small=True, size=290)
    text = sentences[0][:12].encode()
    path = _write(bench, "tiny.txt", text.decode())
    whole, theirs = peer(bench, python, str(folder), path, *_UNPRUNED)
    model, real = load(folder)
    ours = CharacterModel(model, real.automaton, ExactOptions(encodings="all", truncate=False))
    difference = 0.0
    for length in range(len(text)):
        found = ours.next_byte(text[:length])
        row = np.exp(np.array([found.end, *found.log_probability]) - found.total)
        difference = max(difference, float(np.abs(row - np.exp(theirs[length])).max()))
    prefix = ours.log_probability(text).log_probability
    if not max(difference, abs(prefix - whole.facts["prefix"])) < _PEER_EQUAL:
        raise RuntimeError(f"the results differ by {difference}, and {prefix} from {whole.facts}: no time is printed")
    return difference, len(text)


def _characters(folder: str, path: str, encodings: str = "valid", device: str = "cpu") -> Task:
    every = ExactOptions(encodings="all", prune=_PRUNE)
    fresh = _fresh(folder, every if encodings == "all" else ExactOptions(), device)

    def run(text: bytes) -> Facts:
        grown, total = next(fresh).incremental(), 0.0
        for byte in text:
            total += float(grown.next_bytes().log_probability[byte])
            grown.advance(byte)
        return {"log_probability": total, "steps": len(text), **_cost(grown.evaluator.cost())}

    return _on(run, path)


def _tokens(folder: str, path: str) -> Task:
    """One token after another, and the log softmax that sampling would need."""
    model, tokenizer = _plain(folder)

    @torch.inference_mode()
    def run(text: bytes) -> Facts:
        ids, total, cache, last = tokenizer.encode(text.decode()).ids, 0.0, DynamicCache(), model.config.bos_token_id
        for token in ids:
            logits = model(input_ids=torch.tensor([[last]]), past_key_values=cache, use_cache=True).logits[0, -1]
            total += float(torch.log_softmax(logits, -1)[token])
            last = token
        return {"log_probability": total, **dict.fromkeys(("steps", "passes", "contexts", "tokens"), len(ids))}

    return _on(run, path)


def _known(folder: str, path: str, device: str = "cpu") -> Task:
    fresh = _fresh(folder, ExactOptions(), device)

    def run(text: bytes) -> Facts:
        found = next(fresh).log_probability(text)
        return {"log_probability": found.log_probability, **_cost(found.cost)}

    return _on(run, path)


def _naive(folder: str, path: str) -> Task:
    """All tokens of the encoding in one pass: what perplexity is computed from."""
    model, tokenizer = _plain(folder)

    @torch.inference_mode()
    def run(text: bytes) -> Facts:
        ids = torch.tensor(tokenizer.encode(text.decode()).ids)
        inputs = torch.cat([torch.tensor([model.config.bos_token_id]), ids[:-1]])
        logits = torch.log_softmax(model(input_ids=inputs[None], use_cache=False).logits[0], -1)
        total = float(logits.gather(1, ids[:, None]).double().sum())
        return {"log_probability": total, "passes": 1, "contexts": len(ids), "tokens": len(ids)}

    return _on(run, path)


def _bpc(folder: str, path: str) -> Task:
    fresh = _fresh(folder, ExactOptions(estimator="bpc"))
    return _on(lambda text: _cost(next(fresh).next_byte(text).cost), path)


def _fresh(folder: str, options: ExactOptions, device: str = "cpu") -> Iterator[CharacterModel]:
    """The model with a new automaton for the warm-up and for each run: an automaton remembers what it has met."""
    model, real = load(folder, device=device)
    automata = [real.automaton, *(read_tokenizer(folder).automaton for _ in range(_MOST_RUNS))]
    return iter([CharacterModel(model, automaton, options) for automaton in automata])


def _on(run: Callable[[bytes], Facts], path: str) -> Task:
    text = Path(path).read_bytes()
    return Task(run, text[:_WARM_UP], text, lambda facts: facts)


def _plain(folder: str) -> tuple[Any, Tokenizer]:
    """The model as `load` prepares it, and its tokenizer."""
    from tokenlab.pretrained.loading import load_model

    return load_model(folder).model, Tokenizer.from_file(f"{folder}/tokenizer.json")


def _cost(cost: Any) -> Facts:
    return {"passes": cost.passes, "contexts": cost.contexts, "tokens": cost.tokens}


def _write(bench: Bench, name: str, text: str) -> str:
    path = bench.folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def _ratios(found: Measurement, other: Measurement) -> list[str]:
    return [f"{found.median / other.median:.2f}", f"{found.cpu / other.cpu:.2f}"]


def _per_byte(found: Measurement, size: int) -> list[str]:
    return [f"{found.facts[name] / size:.3g}" for name in ("passes", "contexts", "tokens")]


def _bits(found: Measurement, size: int) -> str:
    return f"{-found.facts['log_probability'] / log(2) / size:.4f}"


def _check_equal(first: float, second: float) -> None:
    if abs(first - second) > _EQUAL * abs(first):
        raise RuntimeError(f"the results differ, so no time is printed: log P(text) is {first} and {second}")


def _version(python: str) -> str:
    command = [python, "-c", "from importlib.metadata import version; print(version('genlm-bytes'))"]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.strip()


TASKS = {"characters": _characters, "tokens": _tokens, "known": _known, "naive": _naive, "bpc": _bpc}
