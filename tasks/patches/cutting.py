"""The patchers of a corpus: made, calibrated, applied to passages with a text's entropies computed once, written."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tasks.patches.parameters import BPE, PatchCorpus, Patcher, patcher_name
from tasks.patches.stored_tokenizers import FACTS, PATCHER, TOKENS, StoredTokenizer, stored_tokenizers
from tasks.runtime.stage import write_json
from tokenlab.core.errors import ParameterError
from tokenlab.networks.token_network import TokenNetwork
from tokenlab.patches import interface
from tokenlab.patches.bpe import read_bpe_patcher
from tokenlab.patches.by_bytes import CharacterPatcher, FixedPatcher, SpacePatcher, entropy_starts
from tokenlab.patches.entropy_patcher import EntropyPatcher, calibrated, text_entropies
from tokenlab.patches.interface import Starts
from tokenlab.patches.options import EntropyOptions, FixedOptions, SpaceOptions
from tokenlab.patches.registry import save_patcher


class Cutter(NamedTuple):
    """A patcher, and what tables say about it. entropy: its rule, by which entropies that are there already are cut."""

    name: str
    kind: str
    patcher: interface.Patcher
    modelled: bool
    tokenizer: StoredTokenizer | None = None
    entropy: EntropyOptions | None = None
    cap: int | None = None


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
        options = parameters.options
        if isinstance(options, EntropyOptions):
            if parameters.target is not None:
                entropies = entropies or text_entropies(network, calibration, context)
                options = calibrated(entropies, options, parameters.target, parameters.tolerance)
            patcher = EntropyPatcher(network, context, options)
            cutters.append(Cutter(name, "entropy", patcher, parameters.modelled, entropy=options, cap=options.cap))
        elif isinstance(options, SpaceOptions):
            cutters.append(Cutter(name, "space", SpacePatcher(options), parameters.modelled, cap=options.cap))
        elif isinstance(options, FixedOptions):
            cutters.append(Cutter(name, "fixed", FixedPatcher(options), parameters.modelled))
        elif parameters.kind == "character":
            cutters.append(Cutter(name, "character", CharacterPatcher(), parameters.modelled))
        else:
            cutters += [_of_tokens(label, place, parameters.modelled) for label, place in tokenizers.items()]
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
        save_patcher(cutter.patcher, _made(folder / cutter.name / PATCHER))
        if cutter.tokenizer is not None:
            shutil.copytree(cutter.tokenizer.folder, folder / cutter.name / TOKENS)
    labels = {cutter.name: cutter.tokenizer.label for cutter in cutters if cutter.tokenizer is not None}
    write_json(folder / FACTS, {"vocabulary": vocabulary, "tokenizers": labels})


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
