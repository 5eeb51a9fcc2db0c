"""One language model: trained, in a process of its own or in several, from its checkpoint where there is one."""

from pathlib import Path
from typing import NamedTuple

from tasks.patches.models.variants import Patched, training_passages
from tasks.patches.parameters import Variant
from tasks.runtime.parent_death import die_with_parent
from tokenlab.core.files import atomic_folder
from tokenlab.language.options import LanguageTraining
from tokenlab.language.stored import LanguageModel, save_language_model
from tokenlab.language.training import train
from tokenlab.networks.options import Computation, Shape
from tokenlab.networks.stored import build_network
from tokenlab.training import processes
from tokenlab.training.checkpoint import Evaluation


class Job(NamedTuple):
    """A model and its training. passages: the folder of those of a corpus. folder: where the trained model is written,
    and beside it the checkpoint."""

    name: str
    variant: Variant
    shape: Shape
    patched: Patched
    passages: Path
    options: LanguageTraining
    computation: Computation
    folder: Path


def run_job(job: Job) -> list[Evaluation]:
    """Train and write a model; returns the evaluations. A job that was interrupted continues from its checkpoint."""
    if job.options.processes == 1:
        return _run(job)
    curve: list[Evaluation] = processes.launch(_run_with_others, job, processes=job.options.processes)
    return curve


def _run_with_others(job: Job) -> list[Evaluation]:
    die_with_parent()
    with processes.group(job.options.device):
        return _run(job)


def _run(job: Job) -> list[Evaluation]:
    network = build_network(job.shape, job.options.seed, job.computation)
    model = LanguageModel(network, job.patched.coder(job.variant), job.options.context)
    training, held_out = training_passages(job.passages, job.patched.column(job.variant))
    curve = train(model, training, held_out, job.options, job.folder.with_name(f"{job.name}.safetensors"), job.name)
    if processes.rank() == 0:
        with atomic_folder(job.folder) as folder:
            save_language_model(model, folder)
    return curve
