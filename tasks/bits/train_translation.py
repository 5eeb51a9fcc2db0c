"""Stage `train_translation`: translation models of a pair of languages, with byte fallback and with the bit-level code.

Both codes have the same base vocabulary, trained on the training verses of both languages together. Models of each code
and seed are trained from random weights; then byte-fallback models are fine-tuned on the bit-level code. Each model is
a job of its own in a pool of processes, and resumes from its checkpoint where it was interrupted.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tasks.bits.translation import (
    BYTES,
    END_ID,
    SCRATCH,
    TOKENIZER,
    Aligned,
    Encoded,
    Parts,
    Pilot,
    TextCode,
    Variant,
    align,
    copied_rows,
    encode_verses,
    fallback_ratio,
    read_codes,
    read_parameters,
    split_verses,
    train_base,
    variants_of,
)
from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.pool import in_processes, in_processes_of_training
from tasks.runtime.stage import Stage, run, write_json
from tasks.runtime.tables import write_table
from tokenlab.codes.bits.over.bases import Base
from tokenlab.core.files import atomic_folder
from tokenlab.training import processes
from tokenlab.training.checkpoint import Evaluation
from tokenlab.training.loop import best_evaluation
from tokenlab.translation.model import MEAN, build_model, grow_model, load_model, save_model
from tokenlab.translation.options import TranslationShape, TranslationTraining
from tokenlab.translation.pairs import Pairs, epochs
from tokenlab.translation.training import train

Curves = dict[str, list[Evaluation]]


class Job(NamedTuple):
    """A model and its training. vocabulary: tokens of a model from random weights. start: the folder of the model to
    fine-tune, and `copies` the rows that its new tokens copy. folder: where the trained model is written, and beside it
    the checkpoint."""

    name: str
    training: Pairs
    held_out: Pairs
    shape: TranslationShape
    options: TranslationTraining
    vocabulary: int
    folder: Path
    start: Path | None
    copies: tuple[int, ...]


def train_models(stage: Stage) -> None:
    """Write the base vocabulary, all models, their loss curves and metrics."""
    pair, pilot = read_parameters(stage)
    corpora = [stage.data("corpora", name) for name in (pair.source, pair.target)]
    aligned = align(*corpora)
    parts = split_verses(aligned.verses, pilot.split)
    used = {"pair": pair.model_dump(), "pilot": pilot.model_dump()}
    work = checkpoint_folder(f"train_translation.{stage.variant}", used, corpora)
    train_base(parts.training, pilot.vocabulary, work)
    base, codes = read_codes(work, pilot.code)
    training, held_out = (encode_verses(part, codes, pilot.longest) for part in (parts.training, parts.validation))

    curves = _train_all(pilot, codes, training, held_out, base, work)
    with atomic_folder(stage.models("translation", stage.variant)) as folder:
        shutil.copy2(work / TOKENIZER, folder)
        for name in curves:
            shutil.copytree(work / name, folder / name)
    reports = stage.reports("translation_models", stage.variant)
    per_character = _tokens_per_character(held_out)
    write_table(reports / "loss.csv", _loss_rows(pilot, curves, per_character))
    metrics = {
        "data": _data_facts(aligned, parts, training, held_out),
        "base": {"characters": pilot.vocabulary.characters, **_base_facts(base, parts.validation)},
        "models": _model_facts(curves, codes, pilot, training, per_character),
    }
    write_json(reports / "metrics.json", metrics)
    shutil.rmtree(work, ignore_errors=True)


def _train_all(
    pilot: Pilot, codes: Mapping[str, TextCode], training: Encoded, held_out: Encoded, base: Base, work: Path
) -> Curves:
    """The curves of all models by their names; the models are written below `work`."""

    rows = copied_rows(base)

    def job(variant: Variant) -> Job:
        new = variant.init == SCRATCH
        options = pilot.training if new else pilot.fine_tuning.options(pilot.training)
        return Job(
            variant.name,
            training.pairs[variant.code],
            held_out.pairs[variant.code],
            pilot.shape,
            replace(options, seed=variant.seed),
            codes[variant.code].size,
            work / variant.name,
            start=None if new else work / Variant(BYTES, SCRATCH, variant.seed).name,
            copies=tuple(rows if variant.init == "copy" else [MEAN] * len(rows)),
        )

    curves: Curves = {}
    for new in (True, False):  # Models from random weights first: the others start from them.
        jobs = [job(variant) for variant in variants_of(pilot) if (variant.init == SCRATCH) == new]
        found = in_processes(run_job, jobs, pilot.workers, "training")
        curves |= {one.name: curve for one, curve in zip(jobs, found, strict=True)}
    return curves


def run_job(job: Job) -> list[Evaluation]:
    """Train and write a model; returns the evaluations. A job that was interrupted continues from its checkpoint."""
    return in_processes_of_training(_run, job, job.options.processes, job.options.device)


def _run(job: Job) -> list[Evaluation]:
    if job.start is None:
        model = build_model(job.shape, job.vocabulary, job.training.padding, END_ID, job.options.seed)
    else:
        model = grow_model(load_model(job.start), job.copies)
    checkpoint = job.folder.with_name(f"{job.name}.safetensors")
    curve = train(model, job.training, job.held_out, job.options, checkpoint, job.name)
    if processes.rank() == 0:
        with atomic_folder(job.folder) as folder:
            save_model(model, folder)
    return curve


def _tokens_per_character(encoded: Encoded) -> dict[str, float]:
    """Target tokens, ends included, for each character of the target, in each code."""
    characters = sum(len(verse.target) for verse in encoded.verses)
    return {name: len(pairs.target.ids) / max(1, characters) for name, pairs in encoded.pairs.items()}


def _loss_rows(pilot: Pilot, curves: Curves, per_character: Mapping[str, float]) -> list[dict[str, Any]]:
    return [
        {
            "code": variant.code,
            "init": variant.init,
            "seed": variant.seed,
            "step": evaluation.step,
            "training": evaluation.training,
            "held_out": evaluation.held_out,
            "held_out_per_character": evaluation.held_out * per_character[variant.code],
        }
        for variant in variants_of(pilot)
        for evaluation in curves[variant.name]
    ]


def _data_facts(aligned: Aligned, parts: Parts, training: Encoded, held_out: Encoded) -> dict[str, Any]:
    """Numbers of verses, and why others are left out."""
    return {
        "pairs": len(aligned.verses),
        "only_in_source": aligned.only_in_source,
        "only_in_target": aligned.only_in_target,
        "training": len(training.verses),
        "training_too_long": len(parts.training) - len(training.verses),
        "validation": len(held_out.verses),
        "validation_too_long": len(parts.validation) - len(held_out.verses),
        "validation_in_training": parts.validation_in_training,
        "test_in_training": parts.test_in_training,
        "training_tokens": {
            name: {"source": len(pairs.source.ids), "target": len(pairs.target.ids)}
            for name, pairs in training.pairs.items()
        },
    }


def _base_facts(base: Base, verses: Sequence[Any]) -> dict[str, Any]:
    """Size of the base vocabulary, and the share of characters of the validation verses that fall back to bytes."""
    return {
        "vocabulary": base.size,
        "fallback_ratio": {
            "source": fallback_ratio(base, [verse.source for verse in verses]),
            "target": fallback_ratio(base, [verse.target for verse in verses]),
        },
    }


def _model_facts(
    curves: Curves,
    codes: Mapping[str, TextCode],
    pilot: Pilot,
    training: Encoded,
    per_character: Mapping[str, float],
) -> dict[str, Any]:
    """epochs: passes over the training verses; a code with fewer tokens sees more text in equal batches of tokens."""
    facts = {}
    for variant in variants_of(pilot):
        best = best_evaluation(curves[variant.name])
        steps = curves[variant.name][-1].step
        facts[variant.name] = {
            "vocabulary": codes[variant.code].size,
            "steps": steps,
            "epochs": epochs(training.pairs[variant.code], pilot.training.batch, variant.seed, steps),
            "best_step": best.step,
            "held_out_nats_per_token": best.held_out,
            "held_out_nats_per_character": best.held_out * per_character[variant.code],
        }
    return facts


if __name__ == "__main__":
    run(train_models)
