"""The naive estimator: what is asked of a model by plain prompting (Definition 2.1 of the paper).

The probability of a byte is that of the tokens that begin with it after the encoding of the text: one branch step of
Algorithm 1. It is biased wherever the text could end inside a token, and undefined where the encoding has probability
zero; then all is NaN. It never truncates: the model's own probabilities are used, as in the paper.
"""

from collections.abc import Iterator, Sequence
from math import inf, nan

import numpy as np
from numpy.typing import NDArray

from tokenlab.exact.covers import NODES, TokenDistribution, conditional, token_distribution
from tokenlab.exact.interface import ContextTree, Cost, NextBytes, TextProbability, TokenAutomaton, TokenModel
from tokenlab.exact.options import DEFAULT, ExactOptions
from tokenlab.exact.vocabulary import Vocabulary


def next_bytes(
    text: bytes, model: TokenModel, automaton: TokenAutomaton, _options: ExactOptions = DEFAULT, *, begun: bytes = b""
) -> NextBytes:
    """The next byte after the encoding of a text. The cost counts one context, the only one that is asked about.

    Where the tokens spell less than the prefix and the text, as nothing for an empty text, what is missing comes first.

    begun: bytes after the text that begin a character: the distribution of the byte after them among the tokens that
        begin with them. Tokens that spell no more are counted as the end, for what follows them is not asked.

    Raises InputError for a text that the tokenizer cannot encode, such as one that ends inside a character.
    """
    tree = model.tree()
    log_probability, last, _, encoded = _follow(tree, text, model, automaton)
    vocabulary = automaton.vocabulary
    undefined = log_probability == -inf or not last.defined
    cost = Cost(1, tree.passes, tree.tokens, int(undefined))
    spelled = b"".join(vocabulary.tokens[token] or b"" for token in encoded)
    first = (automaton.prefix + text)[len(spelled) :] + begun
    by_byte, end = _by_byte(vocabulary, last, first), last.end
    if begun:
        exactly = slice(*vocabulary.equal_to(first))
        end = float(last.tokens[exactly].sum())
        total = by_byte.sum() + end
        undefined = undefined or not total
        by_byte, end = (by_byte / total, end / total) if total else (by_byte, end)
    with np.errstate(divide="ignore"):
        return conditional(np.log(by_byte), float(np.log(end)), -inf if undefined else 0.0, 0.0, cost)


def log_probability(
    text: bytes, model: TokenModel, automaton: TokenAutomaton, _options: ExactOptions = DEFAULT
) -> TextProbability:
    """log P of the encoding of a text: the probability of one of its encodings, not of the text.

    NaN where a token of the encoding is asked for after a context of probability zero.
    """
    tree = model.tree()
    log_probability, last, undefined, _ = _follow(tree, text, model, automaton)
    end = nan
    if log_probability > -inf and last.defined:
        with np.errstate(divide="ignore"):
            end = float(np.log(last.end))
    cost = Cost(tree.contexts, tree.passes, tree.tokens, undefined)
    return TextProbability(log_probability, end, 0.0, cost)


def _follow(
    tree: ContextTree, text: bytes, model: TokenModel, automaton: TokenAutomaton
) -> tuple[float, TokenDistribution, int, list[int]]:
    """Evaluate the encoding of a text.

    Returns: its log probability, the distribution after it, the number of undefined contexts on the way, the tokens.
    """
    encoded = automaton.encode(text)
    vocabulary = automaton.vocabulary
    rows = rows_along(tree, encoded)
    distribution = token_distribution(next(rows), vocabulary, model.end)
    log_probability, undefined = 0.0, int(not distribution.defined)
    for token, row in zip(encoded, rows, strict=True):
        share = float(distribution.tokens[vocabulary.ids == token].sum())
        log_probability += np.log(share) if share > 0 else (-inf if distribution.defined else nan)
        distribution = token_distribution(row, vocabulary, model.end)
        undefined += not distribution.defined
    return float(log_probability), distribution, undefined, encoded


def rows_along(tree: ContextTree, tokens: Sequence[int]) -> Iterator[NDArray[np.floating]]:
    """[ids] logits after each beginning of a token sequence, from none to all of its tokens, in a new tree."""
    yield tree.root()
    for start in range(0, len(tokens), NODES):
        chunk = tokens[start : start + NODES]
        yield from tree.extend(range(start, start + len(chunk)), chunk)


def _by_byte(vocabulary: Vocabulary, distribution: TokenDistribution, missing: bytes) -> np.ndarray:
    """[256] probability of the tokens that begin with `missing` and the byte."""
    low, high = vocabulary.beginning_with(missing)
    branches = vocabulary.branches(low, high, len(missing))
    out = np.zeros(256)
    if len(branches.start):
        out[branches.following] = np.add.reduceat(distribution.tokens[low:high], branches.start - low)
    return out
