"""Stage `label`: a labelled corpus in all its languages, split by passages into texts to train, validate and test on.

A row of a part is a text: id, text, label, passage. The record of where the files came from is copied beside them.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl

from tasks.downstream.parameters import Labelled, PartName, Split
from tasks.runtime.stage import Stage, run, write_json
from tokenlab.classification.labelled import (
    LabelledTexts,
    bible_groups,
    check_classes,
    in_common,
    read_labelled,
    split_passages,
)
from tokenlab.classification.topics import labelled_topics
from tokenlab.core.files import atomic_folder
from tokenlab.sources.record import RECORD
from tokenlab.text.readers import read_documents

PARALLEL = ("bible", "topics")
"""The formats whose texts have the same ids in every language."""


def label(stage: Stage) -> None:
    """Write the parts of every language, and how many texts of each class they have."""
    labelled = stage.parameters(f"downstream.corpora.{stage.variant}", Labelled)
    corpora = [read(labelled, language) for language in labelled.languages]
    if labelled.format in PARALLEL:
        corpora = in_common(corpora)
    facts: dict[str, Any] = {}
    with atomic_folder(stage.data("labelled", stage.variant)) as folder:
        for language, texts in zip(labelled.languages, corpora, strict=True):
            (folder / language).mkdir()
            facts[language] = {}
            for name, part in drawn(texts, labelled.split).items():
                table(part).write_parquet(folder / language / f"{name}.parquet")
                counts = np.bincount(part.labels, minlength=len(part.classes)).tolist()
                facts[language][name] = dict(zip(part.classes, counts, strict=True))
            source = Path(labelled.path, labelled.languages[language])
            if (record := (source if source.is_dir() else source.parent) / RECORD).exists():
                shutil.copyfile(record, folder / language / RECORD)
    write_json(stage.reports("labelled", f"{stage.variant}.json"), {"path": labelled.path, "texts": facts})


def read(labelled: Labelled, language: str) -> LabelledTexts:
    """The texts of a language. Raises InputError as the readers of `tokenlab.classification.labelled`."""
    name = labelled.languages[language]
    if labelled.sentences is not None:
        return labelled_topics(name, sentences=labelled.sentences, seed=labelled.split.seed)
    path = Path(labelled.path, name)
    if labelled.format == "bible":
        return bible_groups(read_documents(path, "ces"))
    return read_labelled(
        path,
        labelled.format,
        text_key=labelled.text_key,
        label_key=labelled.label_key,
        only=labelled.only.get(language),
        classes=labelled.classes,
    )


def drawn(texts: LabelledTexts, split: Split) -> dict[PartName, LabelledTexts]:
    """The parts by their names, none larger than its limit. Equal ids and passages are drawn alike in every language.

    Raises InputError for a part without texts of some class.
    """
    parts = split_passages(texts, validation=split.validation, test=split.test, seed=split.seed)
    generator = np.random.default_rng(split.seed)
    found = {}
    for name in get_args(PartName):
        part: LabelledTexts = getattr(parts, name)
        order = generator.permutation(len(part.texts))
        limit = split.largest.get(name)
        found[name] = part.take(np.sort(order[:limit]).tolist())
        check_classes(found[name], f"part for {name}, {limit} texts at most")
    return found


def table(part: LabelledTexts) -> pl.DataFrame:
    """A row for each text."""
    labels = [part.classes[number] for number in part.labels]
    return pl.DataFrame({"id": part.ids, "text": part.texts, "label": labels, "passage": part.passages})


def read_parts(folder: Path) -> dict[str, LabelledTexts]:
    """The parts of a language that the stage wrote: train, validation, test; the classes are those of training texts.

    Raises InputError for a label of another part outside these classes, and for a class that a part lacks.
    """

    def part(name: str, classes: Sequence[str] | None) -> LabelledTexts:
        path = folder / f"{name}.parquet"
        return read_labelled(path, "parquet", text_key="text", label_key="label", classes=classes)

    train = part("train", None)
    return {"train": train, **{name: part(name, train.classes) for name in ("validation", "test")}}


if __name__ == "__main__":
    run(label)
