"""The texts on which tokenizers are compared: of one corpus, or of several corpora with the same content.

A segmented corpus is measured on test sentences of the first seed, which none of its tokenizers has seen; an encoded
one on sentences drawn from all of it, which its codes and their tokenizers have seen. Of parallel corpora the texts are
those whose ids all of them have. Runs of whitespace are one space, as the codes see them.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from tasks.runtime.stage import Parameters, Stage
from tasks.segmentation.splits import Splitting, read_splits
from tokenlab.core.errors import InputError
from tokenlab.metrics.words import TextWithWords, texts_with_words
from tokenlab.text.documents import Document
from tokenlab.text.store import read_corpus


class Measured(Parameters):
    """A text, and the folders of tokenizers and codes made for it; or a published tokenizer.

    kind: `segmented` or `encoded`, a corpus of the family `segmentation` or `codes`; `parallel`, several `corpora` with
    the same texts by their ids, of which `english` is the one that parity divides by; `published`. tokenizers, also:
    what is measured, with the exported tokenizers or the codes in `also`.
    """

    kind: Literal["segmented", "encoded", "parallel", "published"]
    tokenizers: str
    also: str
    corpora: tuple[str, ...] = ()
    english: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.kind != "parallel":
            if self.corpora or self.english:
                raise ValueError("corpora and english are for the kind parallel")
        elif len(self.corpora) < 2 or len(set(self.corpora)) < len(self.corpora):
            raise ValueError("corpora names one twice, or fewer than two")
        elif self.english not in self.corpora:
            raise ValueError(f"english is {self.english!r}, none of {', '.join(self.corpora)}")
        return self


class Sample(Parameters):
    """How many texts are measured at most, and the seed by which they are drawn."""

    texts: int = Field(ge=1)
    seed: int = Field(ge=0)


class Comparison(Parameters):
    """The section `compare`. reference: the file or folder of the tokenizer that normalised length divides by."""

    reference: str
    sample: Sample
    measured: dict[str, Measured]

    def texts(self) -> dict[str, Measured]:
        """The entries with a text of their own."""
        return {name: entry for name, entry in self.measured.items() if entry.kind != "published"}


Texts = dict[str, list[TextWithWords]]
"""Corpus of an entry -> its texts."""


def read_texts(stage: Stage, name: str, entry: Measured, sample: Sample) -> Texts:
    """The texts of every corpus of an entry, in its order.

    Raises InputError where parallel corpora have no text in common.
    """
    if entry.kind == "parallel":
        return _parallel(stage, entry.corpora, sample)
    folder = stage.data("corpora", name)
    if entry.kind == "segmented":
        splits = read_splits(folder, stage.parameters("segmentation", Splitting))
        first = next(iter(splits.of_seed.values()))
        documents = splits.select(first.test[: sample.texts])
    else:
        every = list(read_corpus(folder))
        documents = [every[number] for number in _drawn(len(every), sample)]
    return {name: _with_words(documents)}


def collapsed(document: Document) -> Document:
    """The document with each run of whitespace replaced by one space and removed at its ends; words stay in place."""
    text = document.text
    short = " ".join(text.split())
    if short == text or document.boundaries is None:
        return document._replace(text=short)
    space = np.fromiter(map(str.isspace, text), np.bool_, len(text))
    kept = ~space | ~np.append(True, space[:-1])
    place = np.append(0, np.cumsum(kept))[list(document.boundaries)].clip(max=len(short))
    moved = pairwise([0, *place.tolist()])
    return document._replace(text=short, boundaries=tuple(b for a, b in moved if a < b < len(short)))


def _parallel(stage: Stage, corpora: Sequence[str], sample: Sample) -> Texts:
    read = [{document.id: document for document in read_corpus(stage.data("corpora", name))} for name in corpora]
    whole = [_whole_ids(documents) for documents in read]
    shared = [id for id in read[0] if all(id in ids for ids in whole)]
    if not shared:
        raise InputError(f"{', '.join(corpora)}: no id of a text is in all of these corpora; compare parallel ones")
    chosen = [shared[number] for number in _drawn(len(shared), sample)]
    texts = ([documents[id] for id in chosen] for documents in read)
    return dict(zip(corpora, map(_with_words, texts), strict=True))


def _whole_ids(documents: dict[str, Document]) -> set[str]:
    """The ids of texts that `prepare` did not cut: a cut one has the sentences ID.0 and ID.1, which need not be cut at
    the same place in two languages."""
    stems = {id: id.rpartition(".")[0] for id in documents}
    return {id for id, stem in stems.items() if not (f"{stem}.0" in documents and f"{stem}.1" in documents)}


def _drawn(count: int, sample: Sample) -> list[int]:
    """The numbers of the texts, ascending."""
    return sorted(np.random.default_rng(sample.seed).permutation(count)[: sample.texts].tolist())


def _with_words(documents: Sequence[Document]) -> list[TextWithWords]:
    return [text for text in texts_with_words(map(collapsed, documents)) if text.text]
