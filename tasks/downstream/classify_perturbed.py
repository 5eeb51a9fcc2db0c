"""Stage `classify_perturbed`: what careless writers and other keyboards cost the linear control, in every cut.

The control is fitted to texts as they are; it then reads the test texts with each perturbation of
`tokenlab.comparison.perturbations`.
"""

from pathlib import Path
from typing import Any, NamedTuple

from tasks.downstream.cuts import Cut, Folders, cuts_of, folders_of, open_cut
from tasks.downstream.label import read_parts
from tasks.downstream.parameters import Classification, Classified
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
    settings = stage.parameters("downstream.classification", Classification)
    parts = stage.data("labelled", classified.labelled, classified.language)
    folders, texts = folders_of(stage, stage.variant), Path(classified.tokenizers)
    cuts = cuts_of(folders, settings.cuts, settings.seeds, texts)
    jobs = [Job(cut, folders, texts, parts, settings.cuts.unknown) for cut in cuts]
    found = in_processes(run_job, jobs, settings.workers, "classifying perturbed texts")
    about = {"name": stage.variant, "labelled": classified.labelled, "language": classified.language}
    rows = [about | row for of_cut in found for row in of_cut]
    write_table(stage.reports("classify", stage.variant, "perturbed.parquet"), rows)


def run_job(job: Job) -> list[dict[str, Any]]:
    """The rows of a cut."""
    labelled = read_parts(job.parts)
    tokenizer = open_cut(job.folders, job.cut, job.unknown, job.texts).tokenizer
    test, classes = labelled["test"], len(labelled["train"].classes)
    changed = {kind: perturbed(test, kind) for kind in KINDS}
    read = {"": test.texts, **{kind: texts for kind, texts in changed.items() if texts != test.texts}}
    every = LabelledTexts(
        test.ids * len(read),
        [text for texts in read.values() for text in texts],
        test.labels.repeat(len(read)),
        test.classes,
        test.passages * len(read),
    )
    pairs = [encode_labelled(tokenizer, texts) for texts in (labelled["train"], labelled["validation"], every)]
    predicted = linear_control(*pairs, classes).reshape(len(read), -1)
    original, *f1 = weighted_f1(confusion_counts(test.labels, predicted, classes)).tolist()
    return [
        {**job.cut.key(), "perturbation": kind, "seed": seed, "original": original, "f1": one}
        for kind, one in zip(list(read)[1:], f1, strict=True)
        for seed in job.cut.seeds
    ]


def perturbed(texts: LabelledTexts, kind: str) -> list[str]:
    """The texts with a perturbation, each with a seed of its own."""
    return [perturb(text, kind, seed).text for seed, text in enumerate(texts.texts)]


if __name__ == "__main__":
    run(classify_perturbed)
