"""Stage `patches`: a corpus as passages of documents, cut into patches by every patcher; and what the patches are like.

The byte model for the entropy patchers is trained here, on the same training text as the language models. Its
thresholds are calibrated on validation text. Everything is a stream of blocks, so memory does not grow with the corpus.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import torch

from tasks.patches.cutting import Cutter, cut_all, make_cutters, read_tokenizers, write_cutters
from tasks.patches.measures import Lengths, quality
from tasks.patches.parameters import PatchSettings, read_patch_settings
from tasks.patches.texts import Part, Text, block_of, part_documents, passages_of, write_texts
from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.stage import Stage, run, write_json
from tokenlab.core.devices import computing
from tokenlab.core.files import atomic_file, atomic_folder
from tokenlab.language.coding import ByteCoder
from tokenlab.language.passages import PassageBlock, PassagesSummary, open_passages, write_passages
from tokenlab.language.stored import LanguageModel
from tokenlab.language.training import train
from tokenlab.networks.options import TokenShape
from tokenlab.networks.stored import build_network
from tokenlab.networks.token_network import TokenNetwork
from tokenlab.text.store import read_corpus
from tokenlab.training.checkpoint import Evaluation

PARTS: tuple[Part, ...] = get_args(Part)

_BLOCK = 512
"""Passages that are made at a time."""


def make_patches(stage: Stage) -> None:
    """Write passages with their patches, the patchers, and tables."""
    settings = read_patch_settings(stage)
    corpus = stage.data("corpora", settings.corpus.corpus)
    gold = stage.data("corpora", settings.corpus.gold)
    tokenizers, published = read_tokenizers(stage.models("patch_tokenizers"), settings.corpus)
    used = {name: stage.sections["patches"][name] for name in ("texts", "context", "entropy_model")}
    work = checkpoint_folder(f"patches.{stage.variant}", used, [corpus])
    sizes = {part: _write_plain(corpus, settings, part, work) for part in PARTS}
    network, curve = _entropy_model(settings, work)

    options = settings.entropy.training.options(settings.entropy.steps, settings.context, settings.entropy.seed)
    device = torch.device(options.device)
    with computing(device, options.threads):
        network.to(device)
        calibration = [text for block in open_passages(work / "validation").blocks() for text in block.data]
        cutters = make_cutters(settings.patchers, tokenizers, published, network, settings.context, calibration)
        modelled = [cutter for cutter in cutters if cutter.modelled]
        with atomic_folder(stage.data("patches", stage.variant)) as folder:
            for part in PARTS:
                blocks = _cut_blocks(open_passages(work / part).blocks(), modelled, network, settings.context)
                write_passages(blocks, folder / part, [cutter.name for cutter in modelled])
            has_words = next(read_corpus(gold)).boundaries is not None
            gold_texts = [*_passages(gold, settings, "test")] if has_words else []
            write_texts(gold_texts, folder / "gold.parquet")
        rows, lengths = _measure(stage.variant, settings, cutters, network, work, gold_texts)
    network.to("cpu")
    with atomic_folder(stage.models("patchers", stage.variant)) as folder:
        write_cutters(modelled, settings.corpus.vocabulary, folder)
    _write_reports(stage, rows, lengths, curve, sizes)
    shutil.rmtree(work, ignore_errors=True)


def _write_plain(corpus: Path, settings: PatchSettings, part: Part, work: Path) -> PassagesSummary:
    """The passages of a part, without patches."""
    passages = _passages(corpus, settings, part)
    blocks = iter(lambda: [*islice(passages, _BLOCK)], [])
    return write_passages(map(block_of, blocks), work / part, [])


def _passages(corpus: Path, settings: PatchSettings, part: Part) -> Iterator[Text]:
    documents = part_documents(corpus, settings.texts, part)
    return (passage for document in documents for passage in passages_of(document, settings.context))


def _entropy_model(settings: PatchSettings, work: Path) -> tuple[TokenNetwork, list[Evaluation]]:
    """The byte model, trained; an interrupted training continues from its checkpoint."""
    entropy = settings.entropy
    network = build_network(TokenShape(256, entropy.stack), entropy.seed)
    assert isinstance(network, TokenNetwork)
    options = entropy.training.options(entropy.steps, settings.context, entropy.seed)
    model = LanguageModel(network, ByteCoder(), settings.context)
    training, validation = open_passages(work / "training"), open_passages(work / "validation")
    curve = train(model, training, validation, options, work / "entropy.safetensors", "entropy model")
    network.eval()
    return network, curve


def _cut_blocks(
    blocks: Iterable[PassageBlock], cutters: Sequence[Cutter], network: TokenNetwork, context: int
) -> Iterator[PassageBlock]:
    for block in blocks:
        starts = cut_all(cutters, block.data, network, context)
        yield block._replace(starts={name: [one.astype(np.int32) for one in found] for name, found in starts.items()})


Rows = list[dict[str, Any]]


def _measure(
    name: str,
    settings: PatchSettings,
    cutters: Sequence[Cutter],
    network: TokenNetwork,
    work: Path,
    gold: Sequence[Text],
) -> tuple[Rows, Rows]:
    """A row for each patcher and S, and the lengths of their patches, on the test passages."""
    blocks = [*open_passages(work / "test").blocks()]
    test = [text for block in blocks for text in block.data]
    words = [int(count) for block in blocks for count in block.words]
    test_starts = cut_all(cutters, test, network, settings.context)
    gold_starts = cut_all(cutters, [text.data for text in gold], network, settings.context)
    rows: Rows = []
    histogram: Rows = []
    for cutter in cutters:
        place = cutter.tokenizer
        merges = {} if place is None else {longest: place.hierarchical(longest) for longest in settings.longest}
        lengths = Lengths(merges)
        for text, starts, count in zip(test, test_starts[cutter.name], words, strict=True):
            lengths.add(text, starts, count)
        boundaries = quality(gold, gold_starts[cutter.name], test, test_starts[cutter.name])
        about = _about(name, cutter)
        rows += [
            {**about, "longest": longest, "symbols": merges[longest].size if longest else 256}
            | {"modelled": cutter.modelled, **lengths.facts(longest), **boundaries}
            for longest in merges or [None]
        ]
        histogram += [{"corpus": name, "patcher": cutter.name, **row} for row in lengths.histogram()]
    return rows, histogram


def _about(name: str, cutter: Cutter) -> dict[str, Any]:
    place, entropy = cutter.tokenizer, cutter.entropy
    return {
        "corpus": name,
        "patcher": cutter.name,
        "kind": cutter.kind,
        "tokenizer": place.label if place else None,
        "vocabulary": place.vocabulary if place else None,
        "cap": cutter.cap,
        "rule": entropy.rule if entropy else None,
        "threshold": entropy.threshold if entropy and entropy.rule != "monotone" else None,
    }


def _write_reports(
    stage: Stage, rows: Rows, lengths: Rows, curve: Sequence[Evaluation], sizes: dict[Part, PassagesSummary]
) -> None:
    reports = stage.reports("patches", stage.variant)
    with atomic_file(reports / "patchers.parquet") as path:
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    with atomic_file(reports / "lengths.csv") as path:
        pl.DataFrame(lengths).write_csv(path)
    with atomic_file(reports / "entropy_loss.csv") as path:
        losses = pl.DataFrame(curve, schema=Evaluation._fields, orient="row")
        losses.select("step", pl.col("size").alias("bytes"), "training", "held_out").write_csv(path)
    metrics: dict[str, Any] = {
        "texts": {
            part: {"pieces": size.passages, "bytes": size.bytes, "words": size.words} for part, size in sizes.items()
        },
        "entropy_model": {"held_out_bits_per_byte": curve[-1].held_out},
        "patchers": {},
    }
    for row in rows:
        label = row["patcher"] if row["longest"] is None else f"{row['patcher']}-s{row['longest']}"
        metrics["patchers"][label] = {name: value for name, value in row.items() if isinstance(value, float)}
    write_json(reports / "metrics.json", metrics)


if __name__ == "__main__":
    run(make_patches)
