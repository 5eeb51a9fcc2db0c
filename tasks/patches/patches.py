"""Stage `patches`: a corpus as passages of documents, cut into patches by every patcher; and what the patches are like.

The byte model for the entropy patchers is trained here, on the same training text as the language models. Its
thresholds are calibrated on validation text. Everything is a stream of blocks, so memory does not grow with the corpus.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import torch

from tasks.patches.measures import Lengths, quality
from tasks.patches.parameters import BPE, PatchCorpus, Patcher, PatchSettings, patcher_name, read_patch_settings
from tasks.patches.stored_tokenizers import FACTS, PATCHER, TOKENS, StoredTokenizer, stored_tokenizers
from tasks.patches.texts import Part, Text, block_of, part_documents, passages_of, write_texts
from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.stage import Stage, run, write_json
from tasks.runtime.tables import write_losses, write_table
from tokenlab.core.devices import computing
from tokenlab.core.errors import ParameterError
from tokenlab.core.files import atomic_folder
from tokenlab.language.coding import ByteCoder
from tokenlab.language.passages import PassageBlock, PassagesSummary, open_passages, write_passages
from tokenlab.language.stored import LanguageModel
from tokenlab.language.training import train
from tokenlab.networks.options import TokenShape
from tokenlab.networks.stored import build_network
from tokenlab.networks.token_network import TokenNetwork
from tokenlab.patches import interface
from tokenlab.patches.bpe import read_bpe_patcher
from tokenlab.patches.by_bytes import CharacterPatcher, FixedPatcher, SpacePatcher, entropy_starts
from tokenlab.patches.entropy_patcher import EntropyPatcher, calibrated, mean_length, text_entropies
from tokenlab.patches.interface import Starts
from tokenlab.patches.options import EntropyOptions, FixedOptions, SpaceOptions
from tokenlab.patches.registry import save_patcher
from tokenlab.training.checkpoint import Evaluation

PARTS: tuple[Part, ...] = get_args(Part)

_BLOCK = 512
"""Passages that are made at a time."""

Rows = list[dict[str, Any]]


class Cutter(NamedTuple):
    """A patcher, and what tables say about it. entropy: its rule, by which entropies that are there already are cut.
    calibrated: bytes per patch on the text for which its threshold was chosen."""

    name: str
    kind: str
    patcher: interface.Patcher
    modelled: bool
    tokenizer: StoredTokenizer | None = None
    entropy: EntropyOptions | None = None
    cap: int | None = None
    calibrated: float | None = None


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
            gold_texts = [*_gold_passages(gold, settings)]
            write_texts(gold_texts, folder / "gold.parquet")
        rows, lengths = _measure(stage.variant, settings, cutters, network, work, gold_texts)
    network.to("cpu")
    with atomic_folder(stage.models("patchers", stage.variant)) as folder:
        write_cutters(modelled, settings.corpus.vocabulary, folder)
    _write_reports(stage, rows, lengths, curve, sizes)
    shutil.rmtree(work, ignore_errors=True)


def read_tokenizers(folder: Path, corpus: PatchCorpus) -> tuple[dict[str, StoredTokenizer], list[StoredTokenizer]]:
    """The tokenizers of a corpus by the names of their patchers, the main one first, and those only measured.

    folder: of all entries. Raises ParameterError for an entry or a size that is missing.
    """
    own = stored_tokenizers(folder / corpus.tokenizer)
    if corpus.vocabulary not in own:
        sizes = ", ".join(map(str, own))
        raise ParameterError(f"vocabulary is {corpus.vocabulary}; the tokenizers of {corpus.tokenizer} have {sizes}")
    sizes_in_order = [corpus.vocabulary, *(size for size in own if size != corpus.vocabulary)]
    named = {patcher_name(BPE, size, corpus.vocabulary): own[size] for size in sizes_in_order}
    return named, [place for name in corpus.published for place in stored_tokenizers(folder / name).values()]


def make_cutters(
    patchers: Mapping[str, Patcher],
    tokenizers: Mapping[str, StoredTokenizer],
    published: Sequence[StoredTokenizer],
    network: TokenNetwork,
    context: int,
    calibration: Sequence[bytes],
) -> list[Cutter]:
    """All patchers in the order of the tables; entropy thresholds are calibrated on texts."""
    cutters: list[Cutter] = []
    entropies = None
    for name, parameters in patchers.items():
        options, rule, mean = parameters.options, None, None
        patcher: interface.Patcher = CharacterPatcher()
        if parameters.kind == "bpe":
            cutters += [_of_tokens(label, place, parameters.modelled) for label, place in tokenizers.items()]
            continue
        if isinstance(options, EntropyOptions):
            if parameters.target is not None:
                entropies = entropies or text_entropies(network, calibration, context)
                options = calibrated(entropies, options, parameters.target, parameters.tolerance)
                mean = mean_length(entropies, options)
            patcher, rule = EntropyPatcher(network, context, options), options
        elif isinstance(options, SpaceOptions):
            patcher = SpacePatcher(options)
        elif isinstance(options, FixedOptions):
            patcher = FixedPatcher(options)
        cap = getattr(options, "cap", None)
        cutters.append(Cutter(name, parameters.kind, patcher, parameters.modelled, None, rule, cap, mean))
    return cutters + [_of_tokens(place.label, place, modelled=False) for place in published]


def _of_tokens(name: str, place: StoredTokenizer, modelled: bool) -> Cutter:
    return Cutter(name, "bpe", read_bpe_patcher(place.tokenizer), modelled, tokenizer=place)


def cut_all(
    cutters: Sequence[Cutter], texts: Sequence[bytes], network: TokenNetwork, context: int
) -> dict[str, list[Starts]]:
    """The patches of passages by each patcher."""
    entropies = None
    found: dict[str, list[Starts]] = {}
    for cutter in cutters:
        if cutter.entropy is None:
            found[cutter.name] = cutter.patcher.starts(texts)
        else:
            if entropies is None:
                entropies = text_entropies(network, texts, context)
            found[cutter.name] = [np.asarray(entropy_starts(one, cutter.entropy)) for one in entropies]
    return found


def write_cutters(cutters: Sequence[Cutter], vocabulary: int, folder: Path) -> None:
    """Write patchers, and tokenizers with their merges. vocabulary: the main size."""
    for cutter in cutters:
        (folder / cutter.name / PATCHER).mkdir(parents=True)
        save_patcher(cutter.patcher, folder / cutter.name / PATCHER)
        if cutter.tokenizer is not None:
            shutil.copytree(cutter.tokenizer.folder, folder / cutter.name / TOKENS)
    labels = {cutter.name: cutter.tokenizer.label for cutter in cutters if cutter.tokenizer is not None}
    write_json(folder / FACTS, {"vocabulary": vocabulary, "tokenizers": labels})


def _write_plain(corpus: Path, settings: PatchSettings, part: Part, work: Path) -> PassagesSummary:
    """The passages of a part, without patches."""
    passages = _passages(corpus, settings, part)
    blocks = iter(lambda: [*islice(passages, _BLOCK)], [])
    return write_passages(map(block_of, blocks), work / part, [])


def _passages(corpus: Path, settings: PatchSettings, part: Part) -> Iterator[Text]:
    documents = part_documents(corpus, settings.texts, part)
    return (passage for document in documents for passage in passages_of(document, settings.context))


def _gold_passages(corpus: Path, settings: PatchSettings) -> Iterator[Text]:
    """Those of the test documents with gold words; a corpus may have others too."""
    for document in part_documents(corpus, settings.texts, "test"):
        if document.boundaries is not None:
            yield from passages_of(document, settings.context)


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
        "calibrated": cutter.calibrated,
    }


def _write_reports(
    stage: Stage, rows: Rows, lengths: Rows, curve: Sequence[Evaluation], sizes: dict[Part, PassagesSummary]
) -> None:
    reports = stage.reports("patches", stage.variant)
    write_table(reports / "patchers.parquet", rows)
    write_table(reports / "lengths.csv", lengths)
    write_losses(reports / "entropy_loss.csv", curve, size="bytes")
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
