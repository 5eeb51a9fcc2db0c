"""Measures of a tokenizer on a text, from its counts: how long, how fragmented, how evenly used, how fair.

Words are those of `tokenlab.metrics.words`: gold words where the text marks them, else what stands between whitespace
where the script puts spaces between words, else none, and the measures of words are None. Characters are code points
and, as bytes (UTF-8), include whitespace. Every measure is None where its denominator is 0 or unknown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.metrics.renyi import renyi_efficiency, renyi_entropy


@dataclass(frozen=True)
class TokenizerCounts:
    """Counts of a tokenizer on a text. None: not counted, or the tokenizer has no such tokens to count."""

    texts: int
    """Sentences, verses or lines."""
    characters: int
    bytes: int
    """In UTF-8."""
    tokens: int
    """Without the special tokens that a tokenizer adds around a text."""
    types: NDArray[np.int64] = field(compare=False)
    """int64[types]: how often each token occurs, for the tokens that occur, in any order."""
    vocabulary: int | None = None
    """Nominal |V|: all ids, special and added tokens included."""
    byte_tokens: int | None = None
    """Bytes of byte fallback, and other tokens that begin or end inside a character, as in byte-level BPE."""
    unknown_tokens: int | None = None
    """Tokens that stand for text which the vocabulary cannot spell."""
    words: int | None = None
    whole_words: int | None = None
    """Words that are one token: a token holds all of the word and nothing of another word, and is not the unknown."""
    reference_tokens: int | None = None
    """Tokens of the reference tokenizer on the same text."""
    parallel_tokens: int | None = None
    """Tokens of this tokenizer on the same content in English."""


def _ratio(numerator: float | None, denominator: float | None) -> float | None:
    return numerator / denominator if numerator is not None and denominator else None


def fertility(counts: TokenizerCounts) -> float | None:
    """Tokens per word: all tokens of the text divided by its words (Rust et al. 2021, "How Good is Your Tokenizer?",
    section 3.2). Punctuation that is no word of its own counts among the tokens."""
    return _ratio(counts.tokens, counts.words)


def words_kept_whole(counts: TokenizerCounts) -> float | None:
    """STRR, single token retention rate: share of the words (with repetition) that are exactly one token in the text,
    0..1 (Nayeem et al. 2025, "Beyond Fertility"). Whitespace at the token's ends does not matter; a token that
    holds several words keeps none of them whole, nor does the unknown token keep one."""
    return _ratio(counts.whole_words, counts.words)


def characters_per_token(counts: TokenizerCounts) -> float | None:
    """Characters of the text divided by its tokens."""
    return _ratio(counts.characters, counts.tokens)


def bytes_per_token(counts: TokenizerCounts) -> float | None:
    """Bytes of the text in UTF-8 divided by its tokens; compression rate in much of the literature."""
    return _ratio(counts.bytes, counts.tokens)


def tokens_per_text(counts: TokenizerCounts) -> float | None:
    """Tokens divided by texts: sentences, verses or lines."""
    return _ratio(counts.tokens, counts.texts)


def normalised_length(counts: TokenizerCounts) -> float | None:
    """NSL, normalised sequence length: tokens divided by tokens of the reference tokenizer, both summed over the text
    (Dagan et al. 2024, "Getting the Most out of Your Tokenizer for Pre-training and Domain Adaptation")."""
    return _ratio(counts.tokens, counts.reference_tokens)


def parity(counts: TokenizerCounts) -> float | None:
    """Tokens divided by the tokens of the same tokenizer on the same verses in English (Petrov et al. 2023, "Language
    Model Tokenizers Introduce Unfairness Between Languages"); 1 for English itself."""
    return _ratio(counts.tokens, counts.parallel_tokens)


def vocabulary_used(counts: TokenizerCounts) -> float | None:
    """Share of the vocabulary that occurs in the text, 0..1: types divided by nominal |V|. It grows with the text."""
    return _ratio(len(counts.types), counts.vocabulary)


def byte_token_rate(counts: TokenizerCounts) -> float | None:
    """Share of the tokens that are bytes or hold a part of a character, 0..1; see `TokenizerCounts.byte_tokens`."""
    return _ratio(counts.byte_tokens, counts.tokens)


def unknown_rate(counts: TokenizerCounts) -> float | None:
    """Share of the tokens that are the unknown token, 0..1; one may stand for several characters, or for a word."""
    return _ratio(counts.unknown_tokens, counts.tokens)


def token_entropy(counts: TokenizerCounts) -> float | None:
    """Shannon's entropy of the token frequencies, in bits per token."""
    return renyi_entropy(counts.types, 1)


def entropy_of_order(counts: TokenizerCounts) -> float | None:
    """Rényi entropy of the token frequencies at alpha = 2.5, in bits per token."""
    return renyi_entropy(counts.types)


def nominal_efficiency(counts: TokenizerCounts) -> float | None:
    """Rényi efficiency at alpha = 2.5 over the nominal vocabulary, 0..1."""
    return None if counts.vocabulary is None else renyi_efficiency(counts.types, vocabulary=counts.vocabulary)


def observed_efficiency(counts: TokenizerCounts) -> float | None:
    """Rényi efficiency at alpha = 2.5 over the types that occur, 0..1."""
    return renyi_efficiency(counts.types)


def gini(costs: Sequence[float] | NDArray[np.floating]) -> float | None:
    """Gini coefficient of the costs of languages, such as tokens per verse of the same verses: 0 where all are equal,
    below 1 (Foroutan et al. 2025, "Parity-Aware Byte-Pair Encoding").

    sum_i sum_j |c_i - c_j| / (2 n^2 mean(c)).

    Args:
        costs: float[languages], at least 0.

    Returns:
        The coefficient; None below two languages, or where all costs are 0.

    Raises:
        InputError: a cost is negative or no number.
    """
    found = np.sort(np.asarray(costs, np.float64))
    if not (found >= 0).all():
        raise InputError("costs has a negative number, or one that is none; a cost is tokens per text")
    count, total = len(found), found.sum()
    if count < 2 or not total:
        return None
    # Of ascending costs, the i-th (from 1) is added in i - 1 differences and subtracted in n - i.
    weights = 2 * np.arange(1, count + 1) - count - 1
    return float((weights * found).sum() / (count * total))
