"""Predictive entropy: a random GPT-2 of the paper's size on sentences, beside this machine's matrix product.

Weights do not change the time. Scoring and the product of two 4096 x 4096 matrices alternate in one process, so that
both meet the same neighbours. The peer is one forward pass per prefix, with `transformers` alone, on a few sentences.
"""

import statistics
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.measure import CORES, Bench, Facts, Task, seconds_of
from tokenlab.text.documents import split_sentences
from tokenlab.text.readers import read_documents

TITLE = "predictive entropy"
TEXTS = ("part",)
_PAPER = {"n_layer": 24, "n_embd": 1024, "n_head": 16, "n_positions": 1024, "vocab_size": 21_128}
_SMALL = {"n_layer": 2, "n_embd": 64, "n_head": 2, "n_positions": 1024, "vocab_size": 21_128}
_ROUNDS = 3
_SIDE = 4096


def table(bench: Bench) -> list[str]:
    folder, shape = str(bench.folder / "gpt2"), _SMALL if bench.quick else _PAPER
    weights = _save_model(Path(folder), shape, bench.text("part"))
    layers, width = shape["n_layer"], shape["n_embd"]
    flop = 2 * (12 * layers * width**2 + width * shape["vocab_size"])
    characters = "200" if bench.quick else "3000"
    lines = ["| threads | characters | characters/s | GFLOP/s | float32 product, GFLOP/s | share | peak memory, MB |"]
    lines.append("| --: | --: | --: | --: | --: | --: | --: |")
    rates = {}
    for threads in sorted({1, CORES}):
        arguments = (folder, bench.text("part"), characters, str(threads), str(flop))
        done = bench.measure("entropy:tokenlab", *arguments, threads=threads, runs=1)
        facts, rates[threads] = done.facts, done.facts["characters per second"]
        lines.append(
            f"| {threads} | {facts['characters']:,} | {rates[threads]:.0f} | {facts['rate'] / 1e9:.0f} "
            f"| {facts['product'] / 1e9:.0f} | {facts['share']:.0%} | {done.peak / 1e6:.0f} |"
        )
    plain = bench.measure(
        "entropy:one_pass_per_prefix", folder, bench.text("part"), "1" if bench.quick else "2", runs=1
    )
    seconds = plain.median / plain.facts["characters"]
    return [
        f"GPT-2 of {layers} x {width}, vocabulary 21,128, {weights / 1e6:.0f} million random weights; "
        f"{flop / 1e6:.0f} MFLOP a character in products with weights (attention between positions not counted). "
        f"Medians of {_ROUNDS} rounds; the memory is above that of the process with the model loaded.",
        "",
        *lines,
        "",
        f"One forward pass per prefix, one thread, {plain.facts['characters']} characters in "
        f"sentences of about 40: {seconds:.2f} s a character, {seconds * rates[1]:.0f} times as long; "
        f"extrapolated to the paper's 90,000 characters {seconds * 9e4 / 3600:.1f} hours against "
        f"{9e4 / rates[1] / 60:.1f} minutes. Where both computed a character they agree to 1e-4.",
    ]


def _sentences(path: str) -> list[str]:
    return [sentence.text for document in read_documents(path, "text") for sentence in split_sentences(document)]


def _save_model(folder: Path, shape: dict[str, int], text: str) -> int:
    """Save a random GPT-2 and a tokenizer of the characters of a text, filled up to the size of the vocabulary; returns
    the number of weights."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import GPT2Config, GPT2LMHeadModel

    found = sorted(set(Path(text).read_text(encoding="utf-8")))
    names = ["[UNK]", "[CLS]", *found, *(f"[unused{i}]" for i in range(shape["vocab_size"] - len(found) - 2))]
    tokenizer = Tokenizer(models.WordLevel({name: id for id, name in enumerate(names)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.add_special_tokens(["[CLS]"])
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A", special_tokens=[("[CLS]", 1)])
    model = GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=None, eos_token_id=None))
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return model.num_parameters()


def _tokenlab(folder: str, text: str, characters: str, threads: str, flop: str) -> Task:
    """Rounds of a matrix product and of scoring about so many characters each. flop: of a character."""
    import torch

    from tokenlab.entropy.scorer import load_scorer

    torch.set_num_threads(int(threads))
    scorer = load_scorer(folder, "cpu")
    sentences = iter(_sentences(text))
    rounds: list[list[str]] = []
    for _ in range(_ROUNDS):
        size, chosen = 0, []
        while size < int(characters):
            chosen.append(next(sentences))
            size += len(chosen[-1])
        rounds.append(chosen)
    left, right = torch.rand(2, _SIDE, _SIDE)
    torch.mm(left, right)

    def run(rounds: list[list[str]]) -> list[tuple[float, float, int]]:
        return [
            (seconds_of(torch.mm, left, right), seconds_of(scorer.score, sentences), sum(map(len, sentences)))
            for sentences in rounds
        ]

    def facts(found: list[tuple[float, float, int]]) -> Facts:
        products = [2 * _SIDE**3 / product for product, _, _ in found]
        speeds = [size / scoring for _, scoring, size in found]
        shares = [int(flop) * speed / product for speed, product in zip(speeds, products, strict=True)]
        return {
            "characters": sum(size for _, _, size in found),
            "characters per second": statistics.median(speeds),
            "rate": int(flop) * statistics.median(speeds),
            "product": statistics.median(products),
            "share": statistics.median(shares),
        }

    return Task(run, [rounds[0][:1]], rounds, facts)


def _one_pass_per_prefix(folder: str, text: str, count: str) -> Task:
    """What "next-token entropy at every position" costs where every position is a call of its own."""
    import torch
    from transformers import AutoModelForCausalLM

    from tokenlab.entropy.scorer import load_scorer

    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    scorer = load_scorer(folder, "cpu")
    sentences = list(islice((s for s in _sentences(text) if 35 <= len(s) <= 45), int(count)))

    @torch.no_grad()
    def run(sentences: list[str]) -> list[list[float]]:
        found = []
        for ids in (encoded.ids.tolist() for encoded in scorer.loaded.encoder.encode(sentences)):
            logs = (
                model(torch.tensor([[*scorer.loaded.prefix, *ids[:t]]])).logits[0, -1].log_softmax(-1)
                for t in range(len(ids))
            )
            found.append([float(-(log.exp() * log).sum()) for log in logs])
        return found

    def facts(found: list[list[float]]) -> Facts:
        for plain, ours in zip(found, scorer.score(sentences), strict=True):
            if (difference := float(abs(ours - plain).max())) > 1e-4:
                raise RuntimeError(f"the results differ by {difference}, so no time is printed")
        return {"characters": sum(map(len, found))}

    return Task(run, [sentences[0][:3]], sentences, facts)


TASKS: dict[str, Any] = {"tokenlab": _tokenlab, "one_pass_per_prefix": _one_pass_per_prefix}
