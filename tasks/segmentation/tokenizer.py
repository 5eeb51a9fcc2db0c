"""Stage `tokenizer`: BPE on the training text as segmented by every configuration, and on raw text as baselines."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, Self

import polars as pl
from pydantic import model_validator

from tasks.runtime.pool import pooled
from tasks.runtime.stage import Parameters, Stage, run
from tasks.segmentation.splits import CorpusSplits, Splitting, read_splits
from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_folder
from tokenlab.text.documents import words
from tokenlab.tokenizers.bpe import BpeOptions, PreTokenizer, save_tokenizer, train_bpe

BASELINES: dict[str, PreTokenizer] = {"bpe": "whitespace", "bpe-punctuation": "punctuation"}
"""BPE on unsegmented text, and on text split at punctuation."""


class Bpe(Parameters):
    """Vocabulary of the tokenizers trained on the training sentences of a seed, and the text to which tokenizers are
    applied: raw, or pretokenized by the method."""

    vocabulary_size: int
    inference: list[Literal["raw", "pretokenized"]]

    @model_validator(mode="after")
    def _check(self) -> Self:
        BpeOptions(self.vocabulary_size)
        return self


class Full(Parameters):
    """The methods of the table with statistics and BPE from the full training text, and the vocabulary of its
    tokenizers."""

    methods: list[str]
    vocabulary_size: int

    @model_validator(mode="after")
    def _check(self) -> Self:
        BpeOptions(self.vocabulary_size)
        return self


def train(stage: Stage) -> None:
    """Write a folder for each tokenizer: subset/SEED/CONFIGURATION and full/CONFIGURATION."""
    size_of_subset = stage.parameters("segmentation.bpe", Bpe).vocabulary_size
    size_of_full = stage.parameters("segmentation.full", Full).vocabulary_size
    splitting = stage.parameters("segmentation", Splitting)
    corpus = read_splits(stage.data("corpora", stage.variant), splitting)
    segments = stage.data("segments", stage.variant)
    subset = pl.scan_parquet(segments / "subset.parquet").filter(pl.col("split") == "train")
    full = pl.scan_parquet(segments / "full.parquet").filter(pl.col("split") == "train")
    with atomic_folder(stage.models("tokenizers", stage.variant)) as folder:
        for seed, split in corpus.of_seed.items():
            of_seed = subset.filter(pl.col("seed") == seed).collect()
            _train_all(_texts(corpus, split.train), of_seed, size_of_subset, folder / "subset" / str(seed))
        _train_all(_texts(corpus, corpus.full), full.collect(), size_of_full, folder / "full")


def _texts(corpus: CorpusSplits, indices: Iterable[int]) -> dict[int, str]:
    return {int(index): corpus.documents[index].text for index in indices}


def _train_all(texts: Mapping[int, str], segments: pl.DataFrame, vocabulary_size: int, folder: Path) -> None:
    def work(job: tuple[str, PreTokenizer, Iterable[str]]) -> None:
        name, pre_tokenizer, training = job
        save_tokenizer(train_bpe(training, BpeOptions(vocabulary_size, pre_tokenizer)), folder / name)

    pooled(work, _training_texts(texts, segments), "training tokenizers")


def _training_texts(
    texts: Mapping[int, str], segments: pl.DataFrame
) -> Iterator[tuple[str, PreTokenizer, Iterable[str]]]:
    """Name, pre-tokenizer and training text of the baselines, then of every configuration."""
    for name, pre_tokenizer in BASELINES.items():
        yield name, pre_tokenizer, texts.values()
    for (configuration,), rows in segments.group_by("configuration", maintain_order=True):
        if len(rows) != len(texts):
            raise InputError(
                f"{configuration}: {len(rows)} of {len(texts)} sentences are segmented; run the stage `segment` again"
            )
        pairs = zip(rows["sentence"].to_list(), rows["boundaries"].to_list(), strict=True)
        segmented = [" ".join(words(texts[number], boundaries)) for number, boundaries in pairs]
        yield str(configuration), "whitespace", segmented


if __name__ == "__main__":
    run(train)
