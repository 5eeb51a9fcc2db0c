"""One model of the pilot: from random weights, or fine-tuned from a byte-fallback model."""

from pathlib import Path
from typing import NamedTuple

from tasks.bits.translation.text_codes import END_ID
from tasks.runtime.pool import in_processes_of_training
from tokenlab.core.files import atomic_folder
from tokenlab.training import processes
from tokenlab.training.checkpoint import Evaluation
from tokenlab.translation.model import build_model, grow_model, load_model, save_model
from tokenlab.translation.options import TranslationShape, TranslationTraining
from tokenlab.translation.pairs import Pairs
from tokenlab.translation.training import train


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
    start: Path | None = None
    copies: tuple[int, ...] = ()


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
