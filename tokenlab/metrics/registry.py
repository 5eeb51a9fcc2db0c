"""The registry of metrics.

`tokenlab score` prints the metrics of segmentations in this order, `tokenlab measure` those of tokenizers. Evaluation
stages, tables and MLflow take their columns from here.

A new metric is a function and a line in `SEGMENTATION`, `CLASSIFICATION`, `TOKENIZATION` or `TOKENIZERS`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from tokenlab.core.errors import InputError
from tokenlab.metrics import tokenizer_measures
from tokenlab.metrics.classification import weighted_f1
from tokenlab.metrics.segmentation import SegmentationScore, iv_recall, oov_rate, oov_recall
from tokenlab.metrics.tokenization import TokenCounts, bigram_perplexity, bits_per_character

COUNT, SHARE = "count", "share"
"""Units of integers, and of numbers from 0 to 1, which are shown as percentages."""


@dataclass(frozen=True)
class Metric:
    """A named number computed from counts.

    function: of a `SegmentationScore`, of confusion counts, of `TokenCounts` or of `TokenizerCounts`; None where it is
    undefined.
    unit: `COUNT`, `SHARE`, or a unit such as "bits per character".
    better: None where a difference is neither.
    needs_known_words: undefined without the words of the training text.
    """

    name: str
    function: Callable[[Any], Any]
    unit: str
    better: Literal["higher", "lower"] | None
    needs_known_words: bool = False


SEGMENTATION: tuple[Metric, ...] = (
    Metric("sentences", attrgetter("sentences"), COUNT, None),
    Metric("gold_words", attrgetter("words.gold"), COUNT, None),
    Metric("predicted_words", attrgetter("words.predicted"), COUNT, None),
    Metric("precision", attrgetter("words.precision"), SHARE, "higher"),
    Metric("recall", attrgetter("words.recall"), SHARE, "higher"),
    Metric("f1", attrgetter("words.f1"), SHARE, "higher"),
    Metric("han_f1", attrgetter("han_words.f1"), SHARE, "higher"),
    Metric("boundary_precision", attrgetter("boundaries.precision"), SHARE, "higher"),
    Metric("boundary_recall", attrgetter("boundaries.recall"), SHARE, "higher"),
    Metric("boundary_f1", attrgetter("boundaries.f1"), SHARE, "higher"),
    Metric("oov_rate", oov_rate, SHARE, None, needs_known_words=True),
    Metric("oov_recall", oov_recall, SHARE, "higher", needs_known_words=True),
    Metric("iv_recall", iv_recall, SHARE, "higher", needs_known_words=True),
)

CLASSIFICATION: tuple[Metric, ...] = (Metric("weighted_f1", weighted_f1, SHARE, "higher"),)

_TOKENS = Metric("tokens", attrgetter("tokens"), COUNT, "lower")

TOKENIZATION: tuple[Metric, ...] = (
    _TOKENS,
    Metric("perplexity", lambda counts: bigram_perplexity(counts.bits, counts.tokens), "tokens", "lower"),
    Metric(
        "bits_per_character",
        lambda counts: bits_per_character(counts.bits, counts.characters),
        "bits per character",
        "lower",
    ),
)

TOKENIZERS: tuple[Metric, ...] = (
    _TOKENS,
    Metric("fertility", tokenizer_measures.fertility, "tokens per word", "lower"),
    Metric("words_kept_whole", tokenizer_measures.words_kept_whole, SHARE, "higher"),
    Metric("characters_per_token", tokenizer_measures.characters_per_token, "characters per token", "higher"),
    Metric("bytes_per_token", tokenizer_measures.bytes_per_token, "bytes per token", "higher"),
    Metric("tokens_per_text", tokenizer_measures.tokens_per_text, "tokens per text", "lower"),
    Metric("normalised_length", tokenizer_measures.normalised_length, "tokens per token of the reference", "lower"),
    Metric("parity", tokenizer_measures.parity, "tokens per token of English", "lower"),
    Metric("vocabulary_used", tokenizer_measures.vocabulary_used, SHARE, "higher"),
    Metric("byte_token_rate", tokenizer_measures.byte_token_rate, SHARE, "lower"),
    Metric("unknown_rate", tokenizer_measures.unknown_rate, SHARE, "lower"),
    Metric("token_entropy", tokenizer_measures.token_entropy, "bits per token", None),
    Metric("renyi_entropy", tokenizer_measures.entropy_of_order, "bits per token", None),
    Metric("renyi_efficiency", tokenizer_measures.nominal_efficiency, SHARE, "higher"),
    Metric("renyi_efficiency_observed", tokenizer_measures.observed_efficiency, SHARE, "higher"),
)


def of_segmentation(score: SegmentationScore | None) -> dict[str, float | int | None]:
    """Every metric of a segmentation by name; all None where there is no score, as for text without gold words."""
    return {metric.name: None if score is None else metric.function(score) for metric in SEGMENTATION}


def of_tokenization(tokens: int | np.ndarray, bits: float | np.ndarray, characters: int | np.ndarray) -> dict[str, Any]:
    """Every metric of a tokenized text by name; arrays of equal shape give arrays. Raises InputError for no tokens."""
    if np.any(np.equal(tokens, 0)):
        raise InputError("a text without tokens has no perplexity; measure one that is not empty")
    counts = TokenCounts(tokens, bits, characters)
    return {metric.name: metric.function(counts) for metric in TOKENIZATION}


def of_tokenizer(counts: tokenizer_measures.TokenizerCounts) -> dict[str, float | int | None]:
    """Every metric of a tokenizer on a text by name."""
    return {metric.name: metric.function(counts) for metric in TOKENIZERS}


def of_parallel(
    counts: Sequence[tokenizer_measures.TokenizerCounts], divisor: int | None = None
) -> list[dict[str, float | int | None]]:
    """Every metric of a tokenizer on each of several texts with the same content, and `gini` of its tokens per text.

    divisor: the place of the text that parity divides by, such as the one in English; None: there is no parity.
    """
    tokens = None if divisor is None else counts[divisor].tokens
    inequality = tokenizer_measures.gini([found.tokens / found.texts for found in counts if found.texts])
    return [of_tokenizer(replace(found, parallel_tokens=tokens)) | {"gini": inequality} for found in counts]
