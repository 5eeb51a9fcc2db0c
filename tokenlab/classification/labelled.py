"""Labelled texts for classification: reviews from files, verses by groups of books, and splits that cut no passage.

jsonl    one JSON object per line (Multilingual Amazon Reviews: stars, review_body, language)
csv      a header and a row per text
parquet  a row per text
text     a folder with a text file for each class, named after it: one text per line

Runs of whitespace are one space, as in the corpora that codes are learned from; texts of whitespace alone are skipped.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.options import check_choice
from tokenlab.text.documents import Document
from tokenlab.text.readers import read_documents

BOOKS = {
    "law": "GEN EXO LEV NUM DEU",
    "history": "JOS JDG RUT 1SA 2SA 1KI 2KI 1CH 2CH EZR NEH EST",
    "poetry": "JOB PSA PRO ECC SON",
    "prophets": "ISA JER LAM EZE DAN HOS JOE AMO OBA JON MIC NAH HAB ZEP HAG ZEC MAL",
    "new testament": "MAT MAR LUK JOH ACT ROM 1CO 2CO GAL EPH PHI COL 1TH 2TH 1TI 2TI TIT PHM HEB JAM 1PE 2PE 1JO 2JO "
    "3JO JUD REV",
}
"""The five classes of verses, and the books of each by their names in christos-c/bible-corpus."""

Row = tuple[str, str, str, str | None]
"""Id, text, label and passage of a text; None: copies of the text are a passage."""


class LabelledTexts(NamedTuple):
    """Texts and their classes, one for one."""

    ids: list[str]
    texts: list[str]
    labels: NDArray[np.int64]
    """int64[texts]: the number of each text's class."""
    classes: tuple[str, ...]
    passages: list[str]
    """Texts of one passage are in the same part of every split: a chapter, or all copies of a text."""

    def take(self, numbers: Iterable[int]) -> "LabelledTexts":
        """Some of the texts, in the order of their numbers."""
        chosen = list(numbers)
        ids, texts, passages = ([column[n] for n in chosen] for column in (self.ids, self.texts, self.passages))
        return LabelledTexts(ids, texts, self.labels[chosen], self.classes, passages)


class Parts(NamedTuple):
    """Disjoint parts, each in the order of the whole."""

    train: LabelledTexts
    validation: LabelledTexts
    test: LabelledTexts


def labelled_texts(rows: Iterable[Row], classes: Sequence[str] | None, name: str) -> LabelledTexts:
    """Texts from rows.

    Args:
        rows: in the order of the texts; texts of whitespace alone are skipped.
        classes: None: all that occur, sorted.
        name: of the texts, for error messages.

    Raises InputError for a label that is none of the classes, fewer than two classes, and a class without texts.
    """
    collapsed = [(id, " ".join(text.split()), label, passage) for id, text, label, passage in rows]
    kept = [(id, text, label, text if passage is None else passage) for id, text, label, passage in collapsed if text]
    names = tuple(sorted({row[2] for row in kept})) if classes is None else tuple(classes)
    number = {label: n for n, label in enumerate(names)}
    for id, _, label, _ in kept:
        if label not in number:
            raise InputError(f"{id}: the label {label!r} is none of {', '.join(names)}; correct it or name all classes")
    if len(names) < 2:
        raise InputError(f"{name}: texts of {len(names)} classes; classification needs two, so check file and labels")
    labels = np.array([number[row[2]] for row in kept], np.int64)
    found = LabelledTexts([row[0] for row in kept], [row[1] for row in kept], labels, names, [row[3] for row in kept])
    check_classes(found, name)
    return found


def read_labelled(
    path: str | Path,
    format: str,
    *,
    text_key: str = "review_body",
    label_key: str = "stars",
    only: Mapping[str, str] | None = None,
    classes: Sequence[str] | None = None,
) -> LabelledTexts:
    """Labelled texts of a file; ids are "PATH:ROW", from 1.

    Args:
        path: a file; JSON and CSV may be compressed. For the format text, a folder.
        format: "jsonl", "csv", "parquet" or "text".
        text_key: the key or column of the text; by default that of the Amazon reviews.
        label_key: the same of the label, a string or an integer.
        only: keys and their values: other rows are left out, such as those of another `language`.
        classes: the labels in the order of their numbers; by default all that occur, sorted.

    Raises:
        ParameterError: an unknown format.
        InputError: no such file, content in another format, a missing or impossible value, with the file and, for a
            value, its row; what `labelled_texts` raises.
    """
    if format == "text":
        documents = read_documents(path, "text")
        of_files = ((document.id, document.text, document.id.rpartition(":")[0], None) for document in documents)
        return labelled_texts(of_files, classes, str(path))
    check_choice("format", format, (*_READERS, "text"))
    try:
        table = _READERS[format](path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path}: cannot be read as {format} ({str(error).splitlines()[0]}); correct it") from error
    wanted = dict(only or {})
    if missing := [key for key in (text_key, label_key, *wanted) if key not in table.columns]:
        raise InputError(f"{path}: no column {missing[0]!r}, only {', '.join(table.columns)}; name another")
    if table[text_key].dtype != pl.String:
        raise InputError(f"{path}: {text_key!r} has values of type {table[text_key].dtype}, not strings; name another")
    if table[label_key].dtype != pl.String and not table[label_key].dtype.is_integer():
        kind = table[label_key].dtype
        raise InputError(f"{path}: {label_key!r} has values of type {kind}, no strings or integers; name another")
    numbers = pl.int_range(1, pl.len() + 1).alias("row")
    rows = table.select(numbers, text=pl.col(text_key), label=pl.col(label_key).cast(pl.String))
    chosen = rows.filter(*[table[key].cast(pl.String) == value for key, value in wanted.items()]).rows()
    for row, text, label in chosen:
        if text is None or label is None:
            raise InputError(f"{path}:{row}: no value for {(text_key if text is None else label_key)!r}; correct it")
        if "\0" in text:  # Polars reads a lone surrogate as NUL.
            raise InputError(f"{path}:{row}: NUL or a lone surrogate, which is no character; correct the row")
    named = ((f"{path}:{row}", text, label, None) for row, text, label in chosen)
    return labelled_texts(named, classes, str(path))


_READERS: dict[str, Callable[..., pl.DataFrame]] = {
    "jsonl": partial(pl.read_ndjson, infer_schema_length=None),
    "csv": partial(pl.read_csv, infer_schema=False),
    "parquet": pl.read_parquet,
}


def bible_groups(verses: Iterable[Document]) -> LabelledTexts:
    """Verses by the group of their book (`BOOKS`); passages are chapters.

    Args:
        verses: of a whole Bible, with ids such as b.GEN.1.1.

    Raises InputError for an id of another form, another book, and a group without verses.
    """
    group_of = {book: group for group, books in BOOKS.items() for book in books.split()}

    def row(verse: Document) -> Row:
        parts = verse.id.split(".")
        if len(parts) < 4 or parts[1] not in group_of:
            raise InputError(f"{verse.id}: no verse of a book of the Bible, such as b.GEN.1.1; read a Bible in CES XML")
        return verse.id, verse.text, group_of[parts[1]], ".".join(parts[:3])

    return labelled_texts(map(row, verses), tuple(BOOKS), "Bible")


def in_common(corpora: Sequence[LabelledTexts]) -> list[LabelledTexts]:
    """The texts whose ids all corpora have, in the order of the first corpus.

    Raises InputError where no text of some class is left, or there is no corpus.
    """
    if not corpora:
        raise InputError("no corpora, so there are no texts in common; give at least one")
    numbers = [{id: number for number, id in enumerate(corpus.ids)} for corpus in corpora]
    shared = [id for id in corpora[0].ids if all(id in each for each in numbers)]
    found = [corpus.take(each[id] for id in shared) for corpus, each in zip(corpora, numbers, strict=True)]
    for corpus in found:
        check_classes(corpus, "texts that all languages have")
    return found


def split_passages(texts: LabelledTexts, *, validation: float, test: float, seed: int) -> Parts:
    """Draw passages of each class for validation and test until these have their shares of its texts; the others are
    for training. Corpora with the same passages and sizes are split alike, whatever their texts.

    Raises:
        ParameterError: shares that are not above 0, or leave nothing to train on.
        InputError: a part without texts of some class.
    """
    if not (validation > 0 and test > 0 and validation + test < 1):
        raise ParameterError(f"validation is {validation}, test {test}; use shares above 0, together below 1")
    sizes = Counter(texts.passages)
    class_of = dict(zip(reversed(texts.passages), reversed(texts.labels.tolist()), strict=True))
    generator = np.random.default_rng(seed)
    part_of: dict[str, int] = {}
    for label in range(len(texts.classes)):
        members = sorted(passage for passage, own in class_of.items() if own == label)
        order = [members[place] for place in generator.permutation(len(members))]
        counts = np.array([sizes[passage] for passage in order])
        middles = (np.cumsum(counts) - counts / 2) / counts.sum()
        part_of |= zip(order, np.digitize(middles, [test, test + validation]).tolist(), strict=True)
    parts = np.array([part_of[passage] for passage in texts.passages])
    found = Parts(*(texts.take(np.flatnonzero(parts == part).tolist()) for part in (2, 1, 0)))
    for name, part in found._asdict().items():
        check_classes(part, f"part for {name}")
    return found


def check_classes(texts: LabelledTexts, name: str) -> None:
    """Raises InputError where a class has no text."""
    empty = np.flatnonzero(np.bincount(texts.labels, minlength=len(texts.classes)) == 0)
    if len(empty):
        raise InputError(f"{name}: no text of the class {texts.classes[empty[0]]!r}; add some, or leave the class out")
