"""Stage `classify_perturbed`: what careless writers and other keyboards cost the linear control, in every cut.

The control is fitted to texts as they are; it then reads the test texts with each perturbation of
`tokenlab.comparison.perturbations`, drawn anew for each seed. A perturbation may bring characters that no text had: a
code reads them as bytes where `unknown` refuses them.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tasks.downstream.cuts import Cut, Folders, cuts_of, folders_of, open_cut
from tasks.downstream.label import read_parts
from tasks.downstream.parameters import Classified, CutChoice
from tasks.runtime.pool import in_processes
from tasks.runtime.stage import Stage, run
from tasks.runtime.tables import write_table
from tokenlab.classification.examples import encode_labelled
from tokenlab.classification.labelled import LabelledTexts
from tokenlab.classification.linear import linear_control
from tokenlab.codes.interface import Unknown
from tokenlab.comparison.perturbations import KINDS, perturb
from tokenlab.metrics.classification import confusion_counts, weighted_f1


class Job(NamedTuple):
    """A cut. parts: the folder of the labelled texts; texts: of the tokenizers of text."""

    cut: Cut
    folders: Folders
    texts: Path
    parts: Path
    unknown: Unknown


def classify_perturbed(stage: Stage) -> None:
    """Write the scores: a row for each cut, seed and perturbation that changes some text."""
    classified = stage.parameters(f"downstream.classified.{stage.variant}", Classified)
    choice = stage.parameters("downstream.classification.cuts", CutChoice)
    seeds = stage.parameters("downstream.classification.seeds", tuple[int, ...])
    workers = stage.parameters("downstream.classification.workers", int)
    parts = stage.data("labelled", classified.labelled, classified.language)
    folders, texts = folders_of(stage, stage.variant), Path(classified.tokenizers)
    unknown: Unknown = "byte" if choice.unknown == "error" else choice.unknown
    jobs = [Job(cut, folders, texts, parts, unknown) for cut in cuts_of(folders, choice, seeds, texts)]
    found = in_processes(run_job, jobs, workers, "classifying perturbed texts")
    about = {"name": stage.variant, "labelled": classified.labelled, "language": classified.language}
    rows = [about | row for of_cut in found for row in of_cut]
    write_table(stage.reports("classify", stage.variant, "perturbed.parquet"), rows)


def run_job(job: Job) -> list[dict[str, Any]]:
    """The rows of a cut."""
    labelled = read_parts(job.parts)
    tokenizer = open_cut(job.folders, job.cut, job.unknown, job.texts).tokenizer
    test, classes = labelled["test"], len(labelled["train"].classes)
    drawn = {(kind, seed): perturbed(test.texts, kind, seed) for kind in KINDS for seed in job.cut.seeds}
    read = {key: texts for key, texts in drawn.items() if texts != test.texts}
    copies = 1 + len(read)
    every = LabelledTexts(
        test.ids * copies,
        [text for texts in (test.texts, *read.values()) for text in texts],
        np.tile(test.labels, copies),
        test.classes,
        test.passages * copies,
    )
    pairs = [encode_labelled(tokenizer, texts) for texts in (labelled["train"], labelled["validation"], every)]
    predicted = linear_control(*pairs, classes).reshape(copies, -1)
    original, *f1 = weighted_f1(confusion_counts(test.labels, predicted, classes)).tolist()
    return [
        {**job.cut.key(), "perturbation": kind, "seed": seed, "original": original, "f1": one}
        for (kind, seed), one in zip(read, f1, strict=True)
    ]


def perturbed(texts: list[str], kind: str, seed: int) -> list[str]:
    """The texts with a perturbation, each drawn by itself."""
    return [perturb(text, kind, seed * len(texts) + number).text for number, text in enumerate(texts)]


if __name__ == "__main__":
    run(classify_perturbed)
