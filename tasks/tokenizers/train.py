"""Stage `train_tokenizers`: tokenizers of some cuts and sizes on one corpus, and small language models over each.

All models train on the same bytes in the same rows in the same order, to equal training FLOPs, so one with more tokens
sees less of the text. They are scored on test text that neither tokenizers nor models have seen. A training resumes
from its checkpoint; one that is done is not done again.
"""

import shutil
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, get_args

from tasks.patches.parameters import Variant
from tasks.patches.texts import Part, Texts, block_of, part_documents, passages_of
from tasks.patches.train_patch_lm import batch_bytes, cost_of
from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.pool import in_processes
from tasks.runtime.stage import Stage, run, write_json
from tasks.runtime.tables import nested, write_table
from tasks.tokenizers.parameters import Candidate, ComparedModels, TrainedCorpus
from tokenlab.core.devices import computing
from tokenlab.core.files import atomic_folder
from tokenlab.language.coding import TokenCoder
from tokenlab.language.evaluation import evaluate
from tokenlab.language.passages import open_passages, write_passages
from tokenlab.language.stored import LanguageModel
from tokenlab.language.training import train as train_model
from tokenlab.networks.cost import parameter_count
from tokenlab.networks.options import TokenShape
from tokenlab.networks.stored import build_network
from tokenlab.tokenizers.cuts import make_cut
from tokenlab.tokenizers.piece_counts import count_pieces
from tokenlab.tokenizers.trained import save_trained, train_tokenizers

_BLOCK = 512
"""Passages that are written at a time."""

_TOKENS = Variant(model="tokens")


class Made(NamedTuple):
    """A tokenizer of a corpus. vocabulary: the size that was asked for."""

    name: str
    candidate: Candidate
    vocabulary: int
    folder: Path


class Job(NamedTuple):
    """A language model to train and score. work: the folder of the passages, and of its checkpoint."""

    made: Made
    seed: int
    settings: ComparedModels
    work: Path


def compare(stage: Stage) -> None:
    """Write the tokenizers, and the scores: one row for each tokenizer and seed."""
    trained = stage.parameters(f"tokenizers.corpora.{stage.variant}", TrainedCorpus)
    candidates = stage.entries("tokenizers.candidates", Candidate)
    settings = stage.parameters("tokenizers.language_models", ComparedModels)
    texts, corpus = stage.parameters("tokenizers.texts", Texts), stage.data("corpora", trained.corpus)
    given = [trained, *candidates.values(), settings, texts]
    used = {"given": [parameters.model_dump(mode="json") for parameters in given], "names": [*candidates]}
    work = checkpoint_folder(f"train_tokenizers.{stage.variant}", used, [corpus])

    documents = [document.text for document in part_documents(corpus, texts, "training")]
    made = [*_tokenizers(documents, candidates, trained.vocabularies, work / "tokenizers")]
    for part in get_args(Part):
        _write_part(corpus, texts, settings.context, part, work / part)
    jobs = [Job(one, seed, settings, work) for one in made for seed in settings.seeds]
    scores = in_processes(_score, jobs, settings.workers, "training")

    with atomic_folder(stage.models("trained_tokenizers", stage.variant)) as folder:
        shutil.copytree(work / "tokenizers", folder, dirs_exist_ok=True)
    rows = [{"name": stage.variant, "corpus": trained.corpus, **row} for row in scores]
    reports = stage.reports("trained_tokenizers", stage.variant)
    write_table(reports / "scores.parquet", rows)
    write_json(reports / "metrics.json", nested(rows, "tokenizer", "vocabulary", "seed"))
    shutil.rmtree(work, ignore_errors=True)


def _tokenizers(
    documents: Sequence[str], candidates: dict[str, Candidate], sizes: tuple[int, ...], folder: Path
) -> Iterator[Made]:
    for name, candidate in candidates.items():
        (counts,) = count_pieces(documents, [make_cut(candidate.cut, documents)])
        for size, tokenizer in zip(sizes, train_tokenizers(counts, candidate.options(sizes)), strict=True):
            place = folder / f"{name}-{size}"
            save_trained(tokenizer, (), place)
            yield Made(name, candidate, size, place)


def _write_part(corpus: Path, texts: Texts, context: int, part: Part, folder: Path) -> None:
    """The passages of a part, which no tokenizer has cut."""
    documents = part_documents(corpus, texts, part)
    passages = (passage for document in documents for passage in passages_of(document, context))
    write_passages(map(block_of, iter(lambda: [*islice(passages, _BLOCK)], [])), folder, [])


def _score(job: Job) -> dict[str, Any]:
    """Train a model; its scores on test text."""
    made, settings, work = job.made, job.settings, job.work
    training, validation, test = (open_passages(work / part) for part in get_args(Part))
    coder = TokenCoder(made.folder)
    shape = TokenShape(len(coder.spellings), settings.stack)
    cost = cost_of(_TOKENS, shape, coder, training)
    rows = settings.training.options(1, settings.context, job.seed).batch
    size = batch_bytes(training, settings.context, rows, settings.seeds[0])
    steps = max(1, round(settings.flops / (cost.flops * size)))
    options = settings.training.options(steps, settings.context, job.seed)
    model = LanguageModel(build_network(shape, job.seed), coder, settings.context)
    name = f"{made.folder.name}-model{job.seed}"
    last = train_model(model, training, validation, options, work / f"{name}.safetensors", name)[-1]
    with computing(next(model.network.parameters()).device, options.threads):
        scores = evaluate(model, test)
    return {
        "tokenizer": made.name,
        "cut": made.candidate.cut,
        "vocabulary": made.vocabulary,
        "seed": job.seed,
        "entries": shape.vocabulary,
        "tokens": scores.symbols,
        "bytes": scores.bytes,
        "bytes_per_token": scores.bytes / scores.symbols,
        "bits_per_byte": scores.bits_per_byte,
        "training_flops": last.size * cost.flops,
        "epochs": last.size / training.bytes,
        "parameters": parameter_count(shape),
    }


if __name__ == "__main__":
    run(compare)
