"""Stage `tokenizer`: BPE on the training text as every method cut it, and on uncut text as baselines."""

from collections.abc import Iterable, Iterator

import polars as pl

from tasks.bpe import BASELINES, Bpe, Rest
from tasks.parts import parts
from tasks.stage import Stage, run
from tokenlab.errors import ParameterError
from tokenlab.files import atomic_folder
from tokenlab.text.documents import words
from tokenlab.tokenizers import PreTokenizer, save_tokenizer, train_bpe


def train(stage: Stage) -> None:
    """One folder a tokenizer: draw/SEED/METHOD and rest/METHOD."""
    bpe = stage.parameters("segmentation.bpe", Bpe)
    rest = stage.parameters("segmentation.rest", Rest)
    corpus = parts(stage)
    segments = stage.data("segments", stage.variant)
    with atomic_folder(stage.models("tokenizers", stage.variant)) as folder:
        for seed, split in corpus.splits.items():
            texts = {int(number): corpus.documents[number].text for number in split.train}
            drawn = pl.scan_parquet(segments / "draw.parquet").filter(pl.col("seed") == seed, pl.col("part") == "train")
            for method, pre_tokenizer, training in _trainings(texts, drawn):
                tokenizer = train_bpe(training, bpe.vocabulary_size, pre_tokenizer)
                save_tokenizer(tokenizer, folder / "draw" / str(seed) / method)
        texts = {number: corpus.documents[number].text for number in corpus.rest}
        shared = pl.scan_parquet(segments / "rest.parquet").filter(pl.col("part") == "train")
        for method, pre_tokenizer, training in _trainings(texts, shared):
            save_tokenizer(train_bpe(training, rest.vocabulary_size, pre_tokenizer), folder / "rest" / method)


def _trainings(texts: dict[int, str], segments: pl.LazyFrame) -> Iterator[tuple[str, PreTokenizer, Iterable[str]]]:
    """Name, pre-tokenizer and training text of the baselines, then of every method of the segments."""
    for name, pre_tokenizer in BASELINES.items():
        yield name, pre_tokenizer, texts.values()
    for (method,), rows in segments.collect().group_by("method", maintain_order=True):
        if len(rows) != len(texts):
            raise ParameterError(f"{method}: {len(rows)} of {len(texts)} sentences are segmented; run `segment` anew")
        cut = zip(rows["sentence"].to_list(), rows["boundaries"].to_list(), strict=True)
        yield str(method), "whitespace", [" ".join(words(texts[number], boundaries)) for number, boundaries in cut]


if __name__ == "__main__":
    run(train)
