"""Stage `evaluate_patch_lm`: bits per byte, lengths, boundaries and costs of every language model of a corpus,
continuations of test texts, and n-gram models of the same text.

A row for each model, and one for each kind of n-gram model. Costs are counted, by the paper's formula and as built;
nothing here is timed (`python -m benchmarks patches` times training and generation).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tasks.patches.measures import quality
from tasks.patches.models import Patched, Planned, loaded, planned, planned_small, read_patched
from tasks.patches.parameters import BPE, Evaluation, ModelSettings, Ngrams, Variant, read_model_settings
from tasks.patches.texts import read_texts
from tasks.runtime.pool import in_processes
from tasks.runtime.stage import Stage, read_json, run, write_json
from tasks.runtime.tables import nested, write_table
from tokenlab.language.coding import Coder
from tokenlab.language.evaluation import evaluate
from tokenlab.language.generation import generate
from tokenlab.language.ngrams import kneser_ney_nats
from tokenlab.language.options import GenerationOptions
from tokenlab.language.passages import Passages, open_passages
from tokenlab.language.stored import LanguageModel
from tokenlab.networks.chunk_network import ChunkNetwork
from tokenlab.networks.cost import forward_flops, published_flops
from tokenlab.networks.interface import CodedPassage
from tokenlab.networks.options import ChunkShape, PatchShape, Shape, TokenShape
from tokenlab.patches.interface import Starts
from tokenlab.patches.learned import LearnedPatcher

_NGRAMS = pl.Schema(
    {
        "name": pl.String(),
        "over": pl.String(),
        "order": pl.Int64(),
        "bits_per_byte": pl.Float64(),
        "validation_bits_per_byte": pl.Float64(),
        "training_bytes": pl.Int64(),
        "test_bytes": pl.Int64(),
    }
)
"""Columns of `ngrams.parquet`, which may have no row."""


class Found(NamedTuple):
    """What a model says. size: bytes of the test text. patches: what its latent stack reads in it; None for models
    without one. boundaries: the columns about boundaries, of learned chunks and of bytes."""

    shape: Shape
    nats: float
    size: int
    symbols: int
    patches: int | None
    boundaries: dict[str, float | None] | None
    continuations: list[bytes]


def evaluate_models(stage: Stage) -> None:
    """Write the table, metrics and examples."""
    settings = read_model_settings(stage)
    evaluation = stage.parameters("patches.evaluation", Evaluation)
    texts = settings.models.texts
    passages, patched = stage.data("patches", texts), read_patched(stage.models("patchers", texts))
    models, small = planned(settings), planned_small(settings)
    test = [text for block in open_passages(passages / "test").blocks() for text in block.data]
    chosen = _long_enough(test, evaluation)
    prompts = [_beginning(text, evaluation.prompt) for text in chosen]
    generation = GenerationOptions(
        evaluation.generated, evaluation.temperature, evaluation.top_k, evaluation.seed, batch=max(1, len(prompts))
    )
    trained_models = stage.models("patch_models", stage.variant)
    evaluated = partial(_evaluated, settings, trained_models, patched, passages, prompts, generation)
    results = in_processes(evaluated, [*models, *small], settings.workers, "evaluating")
    found = [*zip(models, results[: len(models)], strict=True)]
    bits_of_small = [one.nats / np.log(2) / one.size for one in results[len(models) :]] or [None] * len(models)
    trained = read_json(stage.reports("patch_models", stage.variant, "metrics.json"))["models"]
    measured = pl.read_parquet(stage.reports("patches", texts, "patchers.parquet"))
    patches = [_row_of(model, patched, measured) for model in models]
    rows = [
        {
            "name": stage.variant,
            "size": settings.models.size,
            "corpus": texts,
            **_about(model, of_patches),
            **_scores(model, result, of_patches),
            **trained[model.name],
            "small_bits_per_byte": of_small,
            "small_share": None if settings.models.search is None else settings.models.search.share,
            "context": settings.context,
            **_costs(result, settings.context, of_patches),
        }
        for (model, result), of_small, of_patches in zip(found, bits_of_small, patches, strict=True)
    ]
    reports = stage.reports("patch_scores", stage.variant)
    write_table(reports / "scores.parquet", rows)
    ngrams = [] if evaluation.ngrams is None else [*ngram_rows(stage.variant, evaluation.ngrams, passages, patched)]
    write_table(reports / "ngrams.parquet", pl.DataFrame(ngrams, _NGRAMS))
    write_json(reports / "metrics.json", nested(rows, "variant", "seed") | {"ngrams": nested(ngrams, "over")})
    examples = [
        {
            "prompt": prompt.decode(),
            "reference": text[len(prompt) :][: evaluation.generated].decode(errors="ignore"),
            "texts": {
                model.label: result.continuations[number].decode(errors="replace")
                for model, result in found
                if result.continuations
            },
        }
        for number, (text, prompt) in enumerate(zip(chosen, prompts, strict=True))
    ]
    write_json(reports / "examples.json", {"corpus": texts, "examples": examples})


def ngram_rows(name: str, parameters: Ngrams, passages: Path, patched: Patched) -> Iterator[dict[str, Any]]:
    """A row for the n-grams of bytes, of the order that validation text chooses, and one for single BPE tokens."""
    kinds = {"bytes": parameters.longest} | ({"tokens": 1} if BPE in patched.tokenizers else {})
    for over, longest in kinds.items():
        variant = Variant(model="bytes" if over == "bytes" else "tokens")
        coder, column = patched.coder(variant), patched.column(variant)
        parts = [
            _coded(open_passages(passages / part, column), coder, parameters.training if part == "training" else None)
            for part in ("training", "validation", "test")
        ]
        sizes = [sum(passage.size for passage in part) for part in parts]
        training, validated, tested = ([passage.ids for passage in part] for part in parts)
        nats = kneser_ney_nats(training, [*validated, *tested], len(coder.spellings), longest)
        of_parts = np.split(nats, [sum(map(len, validated))], axis=1)
        validation, test = (one.sum(axis=1) / np.log(2) / size for one, size in zip(of_parts, sizes[1:], strict=True))
        best = int(validation.argmin())
        yield {
            "name": name,
            "over": over,
            "order": best + 1,
            "bits_per_byte": float(test[best]),
            "validation_bits_per_byte": float(validation[best]),
            "training_bytes": sizes[0],
            "test_bytes": sizes[2],
        }


def _coded(passages: Passages, coder: Coder, most_bytes: int | None) -> list[CodedPassage]:
    """The passages as symbols: all, or the first ones until they have so many bytes."""
    coded: list[CodedPassage] = []
    size = 0
    for block in passages.blocks():
        coded += coder.code(block.data, None if passages.patcher is None else block.starts[passages.patcher])
        size += sum(map(len, block.data))
        if most_bytes is not None and size >= most_bytes:
            break
    return coded


def _evaluated(
    settings: ModelSettings,
    folder: Path,
    patched: Patched,
    texts: Path,
    prompts: Sequence[bytes],
    generation: GenerationOptions,
    planned: Planned,
) -> Found:
    """Evaluate one of the models in a folder. texts: the passages of the corpus."""
    variant, options = planned.variant, settings.options(planned.variant, steps=1)
    with loaded(folder / planned.name, settings.computation, options) as model:
        passages = open_passages(texts / "test", patched.column(variant))
        batch = options.batch * options.context
        scores = evaluate(model, passages, batch_bytes=batch, dtype=options.dtype)
        test = [text for block in passages.blocks() for text in block.data]
        patches, boundaries = scores.patches or None, None
        if variant.model in ("chunks", "bytes"):
            gold = read_texts(texts / "gold.parquet")
            starts = [_starts(model, some) for some in (test, [text.data for text in gold])]
            boundaries = quality(gold, starts[1], test, starts[0])
            if variant.model == "chunks":
                patches = sum(map(len, starts[0]))
        continuations = generate(model, prompts, generation) if _is_shown(planned, settings) else []
    return Found(model.network.shape, scores.nats, scores.bytes, scores.symbols, patches, boundaries, continuations)


def _starts(model: LanguageModel, texts: Sequence[bytes]) -> list[Starts]:
    """The chunks of a model that learned them; otherwise single bytes."""
    if isinstance(model.network, ChunkNetwork):
        return LearnedPatcher(model.network, model.context).starts(texts)
    return [np.arange(len(text)) for text in texts]


def _is_shown(model: Planned, settings: ModelSettings) -> bool:
    """Whether a model continues texts: those of the main comparison, of the first seed."""
    return model.variant.ablation is None and model.seed == settings.models.seeds[0]


def _long_enough(test: Sequence[bytes], evaluation: Evaluation) -> list[bytes]:
    """The first test passages that are longer than a prompt."""
    return [text for text in test if len(text) > evaluation.prompt + evaluation.generated][: evaluation.prompts]


def _beginning(text: bytes, size: int) -> bytes:
    """At most so many bytes, whole characters."""
    return text[:size].decode(errors="ignore").encode()


def _row_of(model: Planned, patched: Patched, measured: pl.DataFrame) -> dict[str, Any]:
    """The row of a model's patcher; of tokens, any S; empty for a model without one."""
    column, longest = patched.column(model.variant), model.variant.longest
    if column is None:
        return {}
    rows = measured.filter(pl.col("patcher") == column)
    return (rows if longest is None else rows.filter(pl.col("longest") == longest)).row(0, named=True)


def _about(model: Planned, row: Mapping[str, Any]) -> dict[str, Any]:
    variant = model.variant
    return {
        "variant": model.label,
        "ablation": variant.ablation,
        "model": variant.model,
        "patcher": "learned" if variant.model == "chunks" else variant.patcher,
        "seed": model.seed,
        "tokenizer": row.get("tokenizer"),
        "vocabulary": row.get("vocabulary"),
        "longest": variant.longest,
        "cap": row.get("cap"),
        "threshold": row.get("threshold"),
        "calibrated": row.get("calibrated"),
        "hash": variant.hash is not None,
    }


def _scores(model: Planned, found: Found, row: Mapping[str, Any]) -> dict[str, Any]:
    tokens = model.variant.model == "tokens"
    patches = found.symbols if tokens else found.patches
    boundaries = found.boundaries or row
    of_bytes = model.variant.model == "bytes"
    return {
        "symbols": 256 if isinstance(found.shape, ChunkShape) else _symbols(found.shape),
        "bits_per_byte": found.nats / np.log(2) / found.size,
        "nats_per_symbol": found.nats / found.symbols,
        "nats_per_patch": found.nats / patches if patches else None,
        "test_bytes": found.size,
        "bytes_per_patch": found.size / patches if patches else None,
        "symbols_per_patch": 1.0 if tokens else found.symbols / patches if patches else None,
        "fertility": boundaries["fertility"],
        # Every boundary of words is one of bytes.
        **{name: None if of_bytes else boundaries[name] for name in ("gold_f1", "word_f1", "whitespace_f1")},
    }


def _symbols(shape: Shape) -> int:
    """Rows of the output matrix."""
    assert not isinstance(shape, ChunkShape)
    return shape.symbols if isinstance(shape, PatchShape) else shape.vocabulary


def _costs(found: Found, context: int, row: Mapping[str, Any]) -> dict[str, float | None]:
    """GFLOPs of a forward pass over `context` bytes, with the lengths of the test text."""
    shape, size = found.shape, found.size
    given = {"symbols": found.symbols / size, "patches": (found.patches or found.symbols) / size}
    full = (row.get("longest") or row.get("cap")) if isinstance(shape, PatchShape) else None
    paper = None
    if isinstance(shape, PatchShape):  # Equation 10 divides a length in symbols: T is the number of patches.
        length = found.symbols / (found.patches or 1)
        paper = published_flops(shape, context * found.symbols / size, length).total
    elif isinstance(shape, TokenShape):
        paper = published_flops(shape, context, size / found.symbols).total
    padded = None if full is None else forward_flops(shape, context, **given, padded=full).total
    built = forward_flops(shape, context, **given).total
    flops = {"flops_paper": paper, "flops_built": built, "flops_padded": padded}
    return {name: None if value is None else value / 1e9 for name, value in flops.items()}


if __name__ == "__main__":
    run(evaluate_models)
