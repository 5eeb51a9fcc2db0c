"""Stage `train_translation`: translation models of a pair of languages, with byte fallback and with the bit-level code.

Both codes have the same base vocabulary, trained on the training verses of both languages together. Models of each code
and seed are trained from random weights; then byte-fallback models are fine-tuned on the bit-level code. Each model is
a job of its own in a pool of processes, and resumes from its checkpoint where it was interrupted.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from tasks.bits.translation.alignment import Aligned, Parts, align, split_verses
from tasks.bits.translation.jobs import Job, run_job
from tasks.bits.translation.parameters import (
    BYTES,
    SCRATCH,
    Pilot,
    Variant,
    fine_tuned_variants,
    read_parameters,
    scratch_variants,
)
from tasks.bits.translation.text_codes import (
    TOKENIZER,
    Encoded,
    TextCode,
    copied_rows,
    encode_verses,
    fallback_ratio,
    read_codes,
    train_base,
)
from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.pool import in_processes
from tasks.runtime.stage import Stage, run, write_json
from tokenlab.codes.bits.over.bases import Base
from tokenlab.core.files import atomic_file, atomic_folder
from tokenlab.training.checkpoint import Evaluation
from tokenlab.training.loop import best_evaluation
from tokenlab.translation.model import MEAN

Curves = dict[str, list[Evaluation]]


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
    with atomic_file(reports / "loss.csv") as path:
        pl.DataFrame(_loss_rows(pilot, curves, per_character)).write_csv(path)
    metrics = {
        "data": _data_facts(aligned, parts, training, held_out),
        "base": _base_facts(base, parts.validation),
        "models": _model_facts(curves, codes, pilot, per_character),
    }
    write_json(reports / "metrics.json", metrics)
    shutil.rmtree(work, ignore_errors=True)


def _train_all(
    pilot: Pilot, codes: Mapping[str, TextCode], training: Encoded, held_out: Encoded, base: Base, work: Path
) -> Curves:
    """The curves of all models by their names; the models are written below `work`."""

    def job(variant: Variant, **others: Any) -> Job:
        options = pilot.training if variant.init == SCRATCH else pilot.fine_tuning.options(pilot.training)
        return Job(
            variant.name,
            training.pairs[variant.code],
            held_out.pairs[variant.code],
            pilot.shape,
            replace(options, seed=variant.seed),
            codes[variant.code].size,
            work / variant.name,
            **others,
        )

    def tuned(variant: Variant) -> Job:
        start = Variant(BYTES, SCRATCH, variant.seed)
        rows = copied_rows(base)
        copies = rows if variant.init == "copy" else [MEAN] * len(rows)
        return job(variant, start=work / start.name, copies=tuple(copies))

    curves: Curves = {}
    for jobs in ([*map(job, scratch_variants(pilot))], [*map(tuned, fine_tuned_variants(pilot))]):
        found = in_processes(run_job, jobs, pilot.workers, "training")
        curves |= {one.name: curve for one, curve in zip(jobs, found, strict=True)}
    return curves


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
        for variant in [*scratch_variants(pilot), *fine_tuned_variants(pilot)]
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
    curves: Curves, codes: Mapping[str, TextCode], pilot: Pilot, per_character: Mapping[str, float]
) -> dict[str, Any]:
    facts = {}
    for variant in [*scratch_variants(pilot), *fine_tuned_variants(pilot)]:
        best = best_evaluation(curves[variant.name])
        facts[variant.name] = {
            "vocabulary": codes[variant.code].size,
            "steps": curves[variant.name][-1].step,
            "best_step": best.step,
            "held_out_nats_per_token": best.held_out,
            "held_out_nats_per_character": best.held_out * per_character[variant.code],
        }
    return facts


if __name__ == "__main__":
    run(train_models)
