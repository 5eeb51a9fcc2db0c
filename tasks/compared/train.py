"""Stage `train_compared`: every way of cutting learned from one corpus, and language models over each.

1. The text is divided into training, validation and test documents, and stored as passages.
2. A byte model is trained, whose entropies cut words and patches.
3. Each method learns from the training documents what it needs: merges, words, codes, thresholds.
4. Models of one body are trained over each method: to equal operations, and again to equal bytes of text. All read the
   same bytes in the same rows; the seed decides their order. They are scored on all test documents.

A training resumes from its checkpoint; one that is done is not done again.
"""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, get_args

import torch

from tasks.compared.parameters import (
    ENTROPY,
    Bytes,
    Chunks,
    Code,
    ComparedCorpus,
    Method,
    Methods,
    Patches,
    Tokens,
    Trainings,
    read_corpus_parameters,
    read_methods,
)
from tasks.patches.texts import Part, part_documents
from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.pool import in_processes
from tasks.runtime.stage import Stage, run
from tasks.runtime.tables import write_table
from tokenlab.codes.registry import KINDS, read_code
from tokenlab.comparison.candidates import CodeRecipe, PatchRecipe, Recipe, TokenRecipe, train_candidates
from tokenlab.comparison.chunk_coder import ChunkCoder
from tokenlab.comparison.code_coder import CODE
from tokenlab.comparison.code_patches import CodePatchCoder
from tokenlab.comparison.entropy_cut import entropy_cut
from tokenlab.comparison.texts import write_documents
from tokenlab.comparison.trials import Budget, Score, Trial, run_trial
from tokenlab.core.devices import computing
from tokenlab.core.files import atomic_folder
from tokenlab.language.coding import ByteCoder, Coder, PatchCoder
from tokenlab.language.passages import open_passages
from tokenlab.networks.stored import read_network
from tokenlab.networks.token_network import TokenNetwork
from tokenlab.patches.by_bytes import FixedPatcher, SpacePatcher
from tokenlab.patches.entropy_patcher import EntropyPatcher, calibrated, text_entropies
from tokenlab.patches.interface import Patcher
from tokenlab.patches.options import FixedOptions, SpaceOptions

CANDIDATES, NETWORKS, FLOPS, BYTES = "candidates", "networks", "flops", "bytes"
"""Folders of the output: a candidate for each method, the networks of the first seed at equal operations, and scores by
budget."""
_BYTE_MODEL = "byte-model"


class Job(NamedTuple):
    """A model to train and score. folder: of its score and checkpoint. networks: where the network is kept."""

    trial: Trial
    folder: Path
    networks: Path | None


def train(stage: Stage) -> None:
    """Write candidates, networks, scores and losses."""
    compared, texts = read_corpus_parameters(stage)
    methods, trainings = read_methods(stage), stage.parameters("compared.trainings", Trainings)
    corpus, tables = stage.data("corpora", compared.corpus), stage.parameters("codes.tables", Path)
    given = [compared, texts, trainings, *methods.values()]
    used = {"given": [parameters.model_dump(mode="json") for parameters in given], "names": [*methods]}
    work = checkpoint_folder(f"train_compared.{stage.variant}", used, [corpus])

    documents: list[str] = []
    for part in get_args(Part):
        of_part = [document.text for document in part_documents(corpus, texts, part)]
        documents = documents or of_part
        write_documents(of_part, trainings.body.context, work / part)
    with computing(torch.device("cpu"), trainings.body.threads):
        _make_candidates(methods, compared, trainings, documents, tables, work)
    jobs = [*_jobs(methods, trainings, work)]
    scores = in_processes(_run, jobs, stage.parameters("compared.workers", int), "training")

    with atomic_folder(stage.models("compared", stage.variant)) as folder:
        for name in (CANDIDATES, NETWORKS, FLOPS, BYTES):
            if (work / name).exists():
                shutil.copytree(work / name, folder / name)
    losses = [row for job, score in zip(jobs, scores, strict=True) for row in _losses(job, score)]
    write_table(stage.reports("compared_models", stage.variant, "loss.csv"), losses)
    shutil.rmtree(work, ignore_errors=True)


def _jobs(methods: Methods, trainings: Trainings, work: Path) -> Iterator[Job]:
    """All trainings: those of equal operations first, which take the longest."""
    for name, method in methods.items():
        for seed in method.seeds or trainings.seeds:
            first = seed == (method.seeds or trainings.seeds)[0]
            trial = _trial(name, seed, trainings, Budget("flops", trainings.flops), work)
            yield Job(trial, work / FLOPS, work / NETWORKS if first else None)
    if (equal := trainings.equal_bytes) is not None:
        for name, seed in product(methods, equal.seeds):
            yield Job(_trial(name, seed, trainings, Budget("bytes", equal.bytes), work), work / BYTES, None)


def _trial(name: str, seed: int, trainings: Trainings, budget: Budget, work: Path) -> Trial:
    return Trial(name, work / CANDIDATES / name, seed, trainings.body, budget, work / "training", work / "test")


def _run(job: Job) -> Score:
    return run_trial(job.trial, job.folder, networks=job.networks)


def _losses(job: Job, score: Score) -> Iterator[dict[str, Any]]:
    """The evaluations during a training, on the beginning of the test text."""
    trial = job.trial
    for size, held_out in score.curve:
        yield {"method": trial.name, "seed": trial.seed, "budget": trial.budget.unit, "bytes": size} | {
            "held_out": held_out
        }


def _make_candidates(
    methods: Methods,
    compared: ComparedCorpus,
    trainings: Trainings,
    documents: Sequence[str],
    tables: Path,
    work: Path,
) -> None:
    """The folder of each method below CANDIDATES. documents: of the training part."""
    folder, context = work / CANDIDATES, trainings.body.context
    network = _byte_model(trainings, work)
    cuts = {ENTROPY: entropy_cut(network, context)}
    train_candidates([*_recipes(methods, compared.vocabulary, tables)], documents, folder, cuts=cuts)
    for name, method in methods.items():
        if not (folder / name).exists():
            with atomic_folder(folder / name) as place:
                _coder(method, network, context, work).save(place)


def _recipes(methods: Methods, vocabulary: int, tables: Path) -> Iterator[Recipe]:
    """How methods that learn merges are trained."""
    for name, method in methods.items():
        if isinstance(method, Tokens):
            yield TokenRecipe(name, method.cut, method.options(vocabulary))
        elif isinstance(method, Code):
            table = KINDS[method.code].table
            place = (tables / table).parent if table else None
            yield CodeRecipe(name, method.code, vocabulary if method.merges else None, method.cut, place)
        elif isinstance(method, Patches) and method.longest is not None:
            tokens = methods[method.of]
            assert isinstance(tokens, Tokens)
            yield PatchRecipe(name, TokenRecipe(method.of, tokens.cut, tokens.options(vocabulary)), method.longest)


def _byte_model(trainings: Trainings, work: Path) -> TokenNetwork:
    """The byte model, trained with the settings of all models, by validation text."""
    candidate = work / _BYTE_MODEL / "bytes"
    if not candidate.exists():
        with atomic_folder(candidate) as place:
            ByteCoder().save(place)
    body = replace(trainings.body, latent=trainings.byte_model.stack)
    budget = Budget("bytes", trainings.byte_model.bytes)
    trial = Trial(_BYTE_MODEL, candidate, 0, body, budget, work / "training", work / "validation")
    run_trial(trial, work / _BYTE_MODEL, networks=work / _BYTE_MODEL)
    network = read_network(work / _BYTE_MODEL / f"{_BYTE_MODEL}-0")
    assert isinstance(network, TokenNetwork)
    return network


def _coder(method: Method, network: TokenNetwork, context: int, work: Path) -> Coder:
    """Bytes, alone or in chunks or patches; or the atoms of a code in patches."""
    if isinstance(method, Bytes):
        return ByteCoder()
    if isinstance(method, Chunks):
        return ChunkCoder(method.ratio)
    assert isinstance(method, Patches)
    patcher = _patcher(method, network, context, work)
    if method.code is None:
        return PatchCoder(patcher)
    return CodePatchCoder(read_code(work / CANDIDATES / method.code / CODE), patcher)


def _patcher(method: Patches, network: TokenNetwork, context: int, work: Path) -> Patcher:
    """A patcher of bytes; the threshold of entropy is calibrated on validation text."""
    options = method.options
    if isinstance(options, SpaceOptions):
        return SpacePatcher(options)
    if isinstance(options, FixedOptions):
        return FixedPatcher(options)
    if method.target is not None:
        validation = [text for block in open_passages(work / "validation").blocks() for text in block.data]
        entropies = text_entropies(network, validation, context)
        options = calibrated(entropies, options, method.target, method.tolerance)
    return EntropyPatcher(network, context, options)


if __name__ == "__main__":
    run(train)
