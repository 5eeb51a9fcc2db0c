"""Stage `train_code_lm`: a language model over the tokens of every code of a corpus, for each seed.

Each model is a folder with its network, its code and its tokenizer. A training resumes from its checkpoint; one that is
done is not done again.
"""

import shutil
from pathlib import Path
from typing import Any, NamedTuple

from tasks.downstream.cuts import Cut, Folders, OpenCut, cuts_of, folders_of, open_cut
from tasks.downstream.label import read_parts
from tasks.downstream.parameters import LanguageModels, Modelled
from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.pool import in_processes
from tasks.runtime.stage import Stage, run, write_json
from tasks.runtime.tables import write_table
from tokenlab.classification.examples import encoded
from tokenlab.classification.labelled import LabelledTexts
from tokenlab.codes.interface import write_code
from tokenlab.codes.language_model import train_code_model
from tokenlab.core.files import atomic_folder
from tokenlab.networks.interface import NO_STARTS, CodedPassage
from tokenlab.networks.options import TokenShape
from tokenlab.networks.stored import build_network, save_network
from tokenlab.networks.token_network import TokenNetwork
from tokenlab.training.checkpoint import Evaluation
from tokenlab.training.loop import best_evaluation

CODE, TOKENIZER = "code.json", "tokenizer.json"
"""Beside the network, in the folder of a model."""


class Job(NamedTuple):
    """A model to train. parts: the folder of the texts; folder: of the model, and beside it the checkpoint."""

    cut: Cut
    seed: int
    folders: Folders
    parts: Path
    settings: LanguageModels
    folder: Path


def train_models(stage: Stage) -> None:
    """Write all models, their loss curves and metrics."""
    modelled = stage.parameters(f"downstream.language_models.{stage.variant}", Modelled)
    settings = stage.parameters("downstream.language_model", LanguageModels)
    parts, folders = stage.data("labelled", modelled.labelled, modelled.language), folders_of(stage, stage.variant)
    used = {"modelled": modelled.model_dump(), "settings": settings.model_dump(mode="json")}
    work = checkpoint_folder(f"train_code_lm.{stage.variant}", used, [parts, folders.codes, folders.encoded])

    jobs = jobs_of(folders, settings, parts, work)
    curves = in_processes(_train, jobs, settings.workers, "training")
    with atomic_folder(stage.models("code_language_models", stage.variant)) as folder:
        for job in jobs:
            shutil.copytree(job.folder, folder / job.folder.name)
    about = {"name": stage.variant, "labelled": modelled.labelled, "language": modelled.language}
    reports = stage.reports("code_language_models", stage.variant)
    rows = [
        {**about, **job.cut.key(), "seed": job.seed, **evaluation._asdict()}
        for job, curve in zip(jobs, curves, strict=True)
        for evaluation in curve
    ]
    write_table(reports / "loss.csv", rows)
    models = {job.folder.name: _facts(curve) for job, curve in zip(jobs, curves, strict=True)}
    write_json(reports / "metrics.json", {"models": models})
    shutil.rmtree(work, ignore_errors=True)


def jobs_of(folders: Folders, settings: LanguageModels, parts: Path, models: Path) -> list[Job]:
    """The models of a corpus, in folders of `models`."""
    return [
        Job(cut, seed, folders, parts, settings, models / f"{cut.name}-model{seed}")
        for cut in cuts_of(folders, settings.cuts, settings.seeds)
        for seed in cut.seeds
    ]


def coded(opened: OpenCut, texts: LabelledTexts, longest: int) -> list[CodedPassage]:
    """The tokens of the first `longest` characters of each text. Raises InputError where its code lacks one."""
    found = encoded(opened.tokenizer, texts.ids, [text[:longest] for text in texts.texts])
    return [CodedPassage(ids, NO_STARTS, 0) for ids in found]


def _facts(curve: list[Evaluation]) -> dict[str, Any]:
    best = best_evaluation(curve)
    return {"best_step": best.step, "steps": curve[-1].step, "validation_bits_per_character": best.held_out}


def _train(job: Job) -> list[Evaluation]:
    """Train and write a model; returns the evaluations. A job that was interrupted continues from its checkpoint."""
    settings, parts = job.settings, read_parts(job.parts)
    opened, longest = open_cut(job.folders, job.cut, settings.cuts.unknown), settings.longest
    assert opened.code is not None and opened.merged is not None
    network = build_network(TokenShape(opened.tokenizer.ids, settings.stack), job.seed)
    assert isinstance(network, TokenNetwork)
    training, validation = (coded(opened, parts[name], longest) for name in ("train", "validation"))
    characters, name = sum(min(len(text), longest) for text in parts["validation"].texts), job.folder.name
    checkpoint, options = job.folder.with_name(f"{name}.safetensors"), settings.options(job.seed)
    curve = train_code_model(network, training, validation, characters, options, checkpoint, name)
    with atomic_folder(job.folder) as folder:
        save_network(network, folder)
        write_code(opened.code, folder / CODE)
        opened.merged.save(str(folder / TOKENIZER))
    return curve


if __name__ == "__main__":
    run(train_models)
