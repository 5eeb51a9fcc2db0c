"""The columns of a table of scores: size and metrics of a segmentation, and their types."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tasks.segmentation.methods import NUMBERS
from tokenlab.metrics.registry import COUNT, SEGMENTATION, of_segmentation
from tokenlab.metrics.segmentation import score_segmentation
from tokenlab.text.documents import Document, words


def score(test: Sequence[Document], predicted: list[list[str]], known_words: set[str] | None) -> dict[str, Any]:
    """Number and length of the segments, and all metrics of segmentation where gold words are known.

    known_words: the words of the training text, where it is another than the test text.
    """
    segments = sum(map(len, predicted))
    characters = sum(len(piece) for pieces in predicted for piece in pieces)
    size = {"segments": segments, "characters_per_segment": characters / segments}
    if test[0].boundaries is None:
        return size | of_segmentation(None)
    gold = [words(document.text, document.boundaries or ()) for document in test]
    return size | of_segmentation(score_segmentation(gold, predicted, known_words))


def score_table(scores: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The scores with the types of their columns, which null columns would leave open."""
    types = {metric.name: pl.Int64 if metric.unit == COUNT else pl.Float64 for metric in SEGMENTATION}
    types |= dict.fromkeys(NUMBERS, pl.Float64)
    return pl.DataFrame(scores, infer_schema_length=None, schema_overrides=types)
