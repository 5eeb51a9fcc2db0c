"""Stage `classify`: classifiers of a language of a labelled corpus in every cut, and a linear control.

An update has equally many texts in every cut. Each training has its own file of predictions when it is done, and
resumes from its checkpoint before. Cuts are compared with `RIVALS` of the same tokenizer, size and model, over the same
test texts and seeds (`tokenlab.metrics.classification.paired_difference`). Some test texts are classified again as each
perturbation leaves them (`tokenlab.comparison.perturbations`); they follow the others in the predictions of a model.
"""

import shutil
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.codes.variants import read_variants
from tasks.downstream.cuts import Cut, Folders, cuts_of, folders_of, open_cut
from tasks.downstream.label import read_parts
from tasks.downstream.parameters import Architecture, Classification, Classified
from tasks.runtime.checkpoints import checkpoint_folder
from tasks.runtime.pool import in_processes, in_processes_of_training
from tasks.runtime.stage import Stage, run, write_json
from tasks.runtime.tables import nested, write_table
from tokenlab.classification.examples import encode_labelled, vocabulary_size
from tokenlab.classification.labelled import LabelledTexts
from tokenlab.classification.linear import linear_control
from tokenlab.classification.networks import build_classifier
from tokenlab.classification.training import predict, train_classifier
from tokenlab.comparison.perturbations import KINDS, perturb
from tokenlab.metrics.classification import confusion_counts, paired_difference, weighted_f1
from tokenlab.training.loop import best_evaluation
from tokenlab.translation.pairs import Pairs, epochs, shuffled_batches

LINEAR = "linear"
"""The model that is the control."""

RIVALS = ("character", "byte", "random")
"""The codes that all others are compared with; random codes with codes of their length."""

_SAME = ["tokenizer", "size", "model"]
_KEY = ["code", "N", "K", *_SAME]
_PADDED = 64
"""Batches on which the share of padding is measured."""


class Job(NamedTuple):
    """A cut, and the trainings on it. parts: the folder of the labelled texts; texts: of the tokenizers of text."""

    cut: Cut
    folders: Folders
    texts: Path
    parts: Path
    settings: Classification
    work: Path


def classify(stage: Stage) -> None:
    """Write the predictions of all models for the test texts, their scores, the comparisons, the scores of perturbed
    texts and metrics."""
    classified = stage.parameters(f"downstream.classified.{stage.variant}", Classified)
    settings = stage.parameters("downstream.classification", Classification)
    parts = stage.data("labelled", classified.labelled, classified.language)
    folders, texts = folders_of(stage, stage.variant), Path(classified.tokenizers)
    cuts = cuts_of(folders, settings.cuts, settings.seeds, texts)
    of_text = [texts / cut.tokenizer for cut in cuts if cut.variant is None]
    used = {"classified": classified.model_dump(), "settings": settings.model_dump(mode="json")}
    work = checkpoint_folder(f"classify.{stage.variant}", used, [parts, folders.codes, folders.encoded, *of_text])

    jobs = [Job(cut, folders, texts, parts, settings, work) for cut in cuts]
    order = sorted(jobs, key=lambda job: -len(job.cut.seeds))  # No worker waits long for the last.
    found = in_processes(run_job, order, settings.workers, "classifying")
    done = {job.cut: tables for job, tables in zip(order, found, strict=True)}
    everything = pl.concat([table for cut in cuts for table in done[cut]], how="vertical_relaxed")

    labelled = read_parts(parts)
    again = perturbed_texts(labelled["test"], settings.perturbed)
    gold, classes = labelled["test"].labels, len(labelled["test"].classes)
    predictions = everything.with_columns(pl.col("predicted").list.head(len(gold)))
    about = {"name": stage.variant, "labelled": classified.labelled, "language": classified.language}
    reports = stage.reports("classify", stage.variant)
    scores = scored(predictions, gold, classes).select(
        *(pl.lit(value).alias(name) for name, value in about.items()), pl.all()
    )
    write_table(reports / "predictions.parquet", predictions.select(*_KEY, "seed", "predicted"))
    write_table(reports / "scores.parquet", scores)
    write_table(reports / "compared.parquet", [about | row for row in compared(predictions, gold, classes)])
    of_perturbed = [about | row for row in perturbed_scores(everything, again, gold, classes)]
    write_table(reports / "perturbed.parquet", of_perturbed)
    write_json(
        reports / "metrics.json",
        {
            "texts": {name: len(part.texts) for name, part in labelled.items()},
            "classes": classes,
            "most_frequent_f1": most_frequent_f1(labelled["train"].labels, gold, classes),
            "characters": read_variants(folders.codes).characters,
            "f1": nested(
                [row | {"cut": _named(row)} for row in scores.rows(named=True)], "cut", "model", "seed", values=["f1"]
            ),
        },
    )
    shutil.rmtree(work, ignore_errors=True)


def _named(row: Mapping[str, Any]) -> str:
    """The cut of a row, without its seed."""
    shape = "" if row["N"] is None else f"N{row['N']}-K{row['K']}"
    return "-".join(part for part in (row["code"], shape, row["tokenizer"], row["size"]) if part)


def run_job(job: Job) -> list[pl.DataFrame]:
    """The predictions of all models on a cut, a row for each model and seed."""
    cut, settings = job.cut, job.settings
    wanted = {
        (name, seed): job.work / f"{cut.name}-{name}-seed{seed}.parquet"
        for seed in cut.seeds
        for name in (*settings.architectures, *[LINEAR] * settings.linear)
    }
    if not all(path.exists() for path in wanted.values()):
        _train_all(job, wanted)
    return [pl.read_parquet(path) for path in wanted.values()]


def _train_all(job: Job, wanted: Mapping[tuple[str, int], Path]) -> None:
    """Write the predictions that are not there yet."""
    cut, settings = job.cut, job.settings
    job.work.mkdir(parents=True, exist_ok=True)
    labelled = read_parts(job.parts)
    labelled["test"] = perturbed_texts(labelled["test"], settings.perturbed).after(labelled["test"])
    tokenizer = open_cut(job.folders, cut, settings.cuts.unknown, job.texts).tokenizer
    pairs = {name: encode_labelled(tokenizer, part) for name, part in labelled.items()}
    classes = len(labelled["train"].classes)
    about = {
        **cut.key(),
        "vocabulary": tokenizer.vocabulary,
        "tokens_per_text": float(pairs["train"].source.lengths.mean()) - 1,
    }
    control: NDArray[np.int64] | None = None
    for (name, seed), path in wanted.items():
        if path.exists():
            continue
        if name == LINEAR:  # Without chance: the same for all seeds.
            if control is None:
                control = linear_control(pairs["train"], pairs["validation"], pairs["test"], classes)
            found: dict[str, Any] = {**dict.fromkeys(_FACTS), "predicted": control}
        else:
            training = Training(settings.architectures[name], pairs, vocabulary_size(tokenizer), classes, seed, path)
            device = training.options.device
            found = in_processes_of_training(_train, training, training.options.processes, device)
        predicted = pl.Series([found.pop("predicted").tolist()], dtype=pl.List(pl.Int16))
        row = pl.DataFrame([{**about, "model": name, "seed": seed, **found}]).with_columns(predicted=predicted)
        write_table(path, row.with_columns(pl.col(name).cast(kind) for name, kind in _FACTS.items()))


_FACTS: dict[str, type[pl.DataType]] = {
    "padding": pl.Float64,
    "epochs": pl.Float64,
    "best_step": pl.Int64,
    "held_out_nats": pl.Float64,
    "parameters": pl.Int64,
}
"""Columns of a training; null for the control. padding: its share of the tokens in batches."""


class Training(NamedTuple):
    """A classifier to train. path: of its predictions, and beside it the checkpoint."""

    architecture: Architecture
    pairs: Mapping[str, Pairs]
    vocabulary: int
    classes: int
    seed: int
    path: Path

    @property
    def options(self) -> Any:
        """Options with batches of as many texts as the architecture has, at the mean length."""
        lengths = [part.source.lengths for part in self.pairs.values()]
        tokens = round(self.architecture.texts * (float(lengths[0].mean()) + 1))
        return self.architecture.options(max(tokens, 1 + max(int(part.max()) for part in lengths)), self.seed)


def _train(training: Training) -> dict[str, Any]:
    options, pairs = training.options, training.pairs
    model = build_classifier(training.architecture.shape, training.vocabulary, training.classes, training.seed)
    checkpoint = training.path.with_suffix(".safetensors")
    curve = train_classifier(model, pairs["train"], pairs["validation"], options, checkpoint, training.path.stem)
    best = best_evaluation(curve)
    batches = [batch.source for batch in islice(shuffled_batches(pairs["train"], options.batch, options.seed), _PADDED)]
    return {
        "padding": sum(int((ids == pairs["train"].padding).sum()) for ids in batches)
        / sum(ids.size for ids in batches),
        "epochs": epochs(pairs["train"], options.batch, options.seed, curve[-1].step),
        "best_step": best.step,
        "held_out_nats": best.held_out,
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "predicted": predict(model, pairs["test"], options),
    }


class PerturbedTexts(NamedTuple):
    """Texts of a part, and what perturbations make of them."""

    chosen: slice
    """Those texts: evenly over the part, whose passages are in order."""
    texts: dict[str, list[str]]
    """Perturbation -> the perturbed texts; one that changes no text is left out."""

    def after(self, part: LabelledTexts) -> LabelledTexts:
        """The part, followed by the texts of each perturbation."""
        places = range(len(part.texts))
        repeated = part.take([*places, *[*places[self.chosen]] * len(self.texts)])
        return repeated._replace(texts=[*part.texts, *chain.from_iterable(self.texts.values())])


def perturbed_texts(part: LabelledTexts, count: int) -> PerturbedTexts:
    """At most so many texts of a part, perturbed."""
    chosen = slice(None, None, -(-len(part.texts) // count))
    texts = part.texts[chosen]
    found = {kind: [perturb(text, kind).text for text in texts] for kind in KINDS}
    return PerturbedTexts(chosen, {kind: others for kind, others in found.items() if others != texts})


def perturbed_scores(
    predictions: pl.DataFrame, again: PerturbedTexts, gold: NDArray[np.int64], classes: int
) -> Iterator[dict[str, Any]]:
    """A row for each model, seed and perturbation: weighted F1, 0..1, of the texts as they were and perturbed.

    predictions: of the whole part, followed by those of the texts of each perturbation. gold: the classes of the part.
    """
    chosen = gold[again.chosen]
    parts = np.array(predictions["predicted"].to_list(), np.int64)
    whole, perturbed = parts[:, : len(gold)], parts[:, len(gold) :].reshape(len(parts), len(again.texts), len(chosen))
    original = weighted_f1(confusion_counts(chosen, whole[:, again.chosen], classes))
    for number, row in enumerate(predictions.select(*_KEY, "seed").rows(named=True)):
        f1 = weighted_f1(confusion_counts(chosen, perturbed[number], classes))
        for kind, value in zip(again.texts, f1.tolist(), strict=True):
            yield {**row, "perturbation": kind, "original": float(original[number]), "f1": value}


def scored(predictions: pl.DataFrame, gold: NDArray[np.int64], classes: int) -> pl.DataFrame:
    """The predictions as weighted F1, 0..1."""
    f1 = weighted_f1(confusion_counts(gold, np.array(predictions["predicted"].to_list(), np.int64), classes))
    return predictions.drop("predicted").with_columns(f1=pl.Series(f1))


def most_frequent_f1(training: NDArray[np.int64], gold: NDArray[np.int64], classes: int) -> float:
    """Weighted F1 of the class that most training texts have, said of every test text."""
    predicted = np.full_like(gold, np.bincount(training).argmax())
    return float(weighted_f1(confusion_counts(gold, predicted, classes)))


def compared(predictions: pl.DataFrame, gold: NDArray[np.int64], classes: int) -> list[dict[str, Any]]:
    """A row for each cut by a code, model and rival: the mean difference of weighted F1, and its deviation.

    separable: whether the difference exceeds its deviation. runs: the seeds.
    """
    runs = {
        key: np.array(of_key.sort("seed")["predicted"].to_list(), np.int64)
        for key, of_key in predictions.group_by(_KEY, maintain_order=True)
    }
    rows = []
    for key, predicted in runs.items():
        named = dict(zip(_KEY, key, strict=True))
        for rival in RIVALS:
            shape = (named["N"], named["K"]) if rival == "random" else (None, None)
            other = runs.get((rival, *shape, *(named[name] for name in _SAME)))
            if other is None or rival == named["code"]:
                continue
            found = paired_difference(gold, predicted, other, classes)
            rows.append(
                {
                    **named,
                    "rival": rival,
                    "difference": found.mean,
                    "deviation": found.deviation,
                    "separable": found.separable,
                    "runs": len(predicted),
                }
            )
    return rows


if __name__ == "__main__":
    run(classify)
