"""Stage `generate`: texts of the language model of every code, free and constrained, and how many do not decode.

Texts are drawn as in the paper (section 5.2.1 of Latom): the first token evenly from the vocabulary. The constraint is
that of `tokenlab.codes.constrained`; its cost is measured on validation texts whose tokens it allows, those without
[UNK]. Each model has its own file of results when it is done, which an interrupted stage does not make again.
"""

import math
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import torch

from tasks.downstream.cuts import folders_of, open_cut
from tasks.downstream.label import read_parts
from tasks.downstream.parameters import Generation, LanguageModels, Modelled
from tasks.downstream.train_code_lm import CODE, TOKENIZER, Job, coded, jobs_of
from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.pool import in_processes
from tasks.runtime.stage import Stage, read_json, run, write_json
from tasks.runtime.tables import nested, write_table
from tokenlab.codes.constrained import Constrained, constrain
from tokenlab.codes.generation import constrained_nats, decode_errors, generate_tokens
from tokenlab.codes.registry import read_code
from tokenlab.core.devices import computing
from tokenlab.language.ngrams import fewest_nats
from tokenlab.networks.stored import read_network

WAYS = ("free", "constrained")


def generate(stage: Stage) -> None:
    """Write the errors of all models, their costs, examples and metrics."""
    modelled = stage.parameters(f"downstream.language_models.{stage.variant}", Modelled)
    settings = stage.parameters("downstream.language_model", LanguageModels)
    generation = stage.parameters("downstream.generation", Generation)
    models = stage.models("code_language_models", stage.variant)
    parts, folders = stage.data("labelled", modelled.labelled, modelled.language), folders_of(stage, stage.variant)
    jobs = jobs_of(folders, settings, parts, models)
    used = {"settings": settings.model_dump(mode="json"), "generation": generation.model_dump(mode="json")}
    work = checkpoint_folder(f"generate.{stage.variant}", used, [parts, *(job.folder for job in jobs)])
    in_processes(partial(_write_results, generation, work), jobs, settings.workers, "generating")

    trained = read_json(stage.reports("code_language_models", stage.variant, "metrics.json"))["models"]
    about: dict[str, Any] = {"name": stage.variant, "labelled": modelled.labelled, "language": modelled.language}
    about["ngram_bits_per_character"] = _ngram_bits(parts, settings.longest)
    rows: list[dict[str, Any]] = []
    examples = {}
    for job in jobs:
        found = read_json(_results_of(job, work))
        examples[job.folder.name] = found["examples"]
        key = {**about, **job.cut.key(), "seed": job.seed}
        bits = trained[job.folder.name]["validation_bits_per_character"]
        rows += [{**key, "way": way, "bits_per_character": bits, **found["rows"][way]} for way in WAYS]
    reports = stage.reports("generate", stage.variant)
    write_table(reports / "scores.parquet", rows)
    write_json(reports / "examples.json", examples)
    write_json(
        reports / "metrics.json",
        {"error_share": nested(rows, "code", "N", "K", "size", "way", "seed", values=["error_share"])},
    )
    shutil.rmtree(work, ignore_errors=True)


def _ngram_bits(parts: Path, longest: int) -> float:
    """Bits per character of what the models read of the validation texts, by n-grams of what they read in training."""
    found = read_parts(parts)
    counted, scored = ([text[:longest] for text in found[name].texts] for name in ("train", "validation"))
    return fewest_nats(counted, scored) / math.log(2) / sum(map(len, scored))


def _results_of(job: Job, work: Path) -> Path:
    return work / f"{job.folder.name}.json"


def _write_results(generation: Generation, work: Path, job: Job) -> None:
    """Write the results of a model, if they are not there yet."""
    path = _results_of(job, work)
    if path.exists():
        return
    options, training = generation.options(job.seed), job.settings.options(job.seed)
    code = read_code(job.folder / CODE)
    automaton = constrain(code, job.folder / TOKENIZER)
    device = torch.device(training.device)
    with computing(device, training.threads):
        network: Any = read_network(job.folder).to(device)
        rows: dict[str, dict[str, float | None]] = {}
        examples = {}
        for way, given in zip(WAYS, (None, automaton), strict=True):
            drawn = generate_tokens(network, generation.count, automaton.vocabulary, options, given, uniform_start=True)
            counts = decode_errors(code, automaton.vocabulary, drawn)
            valid = counts.pop("valid")
            tokens = sum(map(len, drawn)) / len(drawn)
            rows[way] = {"count": len(drawn), "error_share": 1 - valid / len(drawn), "tokens": tokens, **counts}
            examples[way] = [_shown(automaton, ids) for ids in drawn[: generation.examples]]
        costs = _costs(network, job, automaton, generation.scored)
    for way in WAYS:
        rows[way] |= {"texts_scored": costs["texts"], "bits_of_scored": costs[way]}
    write_json(path, {"rows": rows, "examples": examples})


def _shown(automaton: Constrained, ids: list[int]) -> list[str]:
    """The tokens of a text, as the atoms that they spell."""
    spelled = automaton.vocabulary.tokens
    return [(spelled[id] or b"").decode(errors="replace") for id in ids]


def _costs(network: Any, job: Job, automaton: Constrained, most: int) -> dict[str, float | None]:
    """Bits per character of validation texts without and with the constraint; None without a text."""
    part = read_parts(job.parts)["validation"]
    part = part.take(range(min(most, len(part.texts))))
    opened, longest = open_cut(job.folders, job.cut, job.settings.cuts.unknown), job.settings.longest
    characters, texts, nats = 0, 0, dict.fromkeys(WAYS, 0.0)
    for text, passage in zip(part.texts, coded(opened, part, longest), strict=True):
        if not len(passage.ids) or (passage.ids == opened.tokenizer.unknown).any():
            continue
        logits = network.logits(network.collate([[passage]]).to(next(network.parameters()).device))
        ids = passage.ids.tolist()
        nats["constrained"] += float(constrained_nats(logits, ids, automaton).sum())
        nats["free"] -= float(logits.double().log_softmax(-1)[torch.arange(len(ids)), ids].sum())
        characters, texts = characters + min(len(text), longest), texts + 1
    bits = {way: nats[way] / math.log(2) / characters if characters else None for way in WAYS}
    return {"texts": texts, **bits}


if __name__ == "__main__":
    run(generate)
