"""Byte-pair correction (Algorithm 2 of the paper): P(x) from all covers, anew for each text, in one pass of the model.

1. The contexts before the last token of a cover of x. The paper takes encode(x_1^i) for each i (proposition H.6). A
   pre-tokenizer that looks ahead breaks that: with GPT-2's, "\n\n" alone is one token, but "\n\na" is three, so "a"
   does not follow the encoding of "\n\n". So the contexts are those that the automaton finds.
2. They and their ancestors are evaluated in one call: rows for at most (longest token) contexts of covers.
3. b_val: for each context, the probability of the tokens that begin with the rest of x (line 10). A context without
   such a token is skipped; to stop at an empty B would be wrong, since a context further left may have one. The only
   end is the length of the longest token.
"""

from math import inf, nan
from typing import NamedTuple

from tokenlab.exact.covers import Cover, Covers, Evaluator, conditional, log_branches, log_product, log_sum
from tokenlab.exact.interface import NextBytes, TextProbability, TokenAutomaton, TokenModel
from tokenlab.exact.options import DEFAULT, ExactOptions

_NODES = 4096
"""Contexts of one call: beyond that the logits of a long text would not fit in memory."""


def next_bytes(text: bytes, model: TokenModel, automaton: TokenAutomaton, options: ExactOptions = DEFAULT) -> NextBytes:
    """The distribution of the next byte: P(x b) / P(x), the sums of all bytes b from the same contexts.

    Raises InputError for a text longer than the model allows, ParameterError where there are more contexts than
    max_contexts.
    """
    evaluator, before, after = _evaluated(text, model, automaton, options)
    log_bytes = log_branches(automaton.vocabulary, after)
    log_text = _log_probability(evaluator, before, after)
    return conditional(log_bytes, evaluator.log_end(after), log_text, 0.0, evaluator.cost())


def log_probability(
    text: bytes, model: TokenModel, automaton: TokenAutomaton, options: ExactOptions = DEFAULT
) -> TextProbability:
    """The probability that a text starts with this one, and that it ends after it. Raises what `next_bytes` raises."""
    evaluator, before, after = _evaluated(text, model, automaton, options)
    whole = _log_probability(evaluator, before, after)
    end = evaluator.log_end(after) - whole if whole > -inf else nan
    relative = whole - evaluator.log_prefix() if text else 0.0
    return TextProbability(relative, end, 0.0, evaluator.cost())


class _Branch(NamedTuple):
    """A context before the end of the text, and its tokens B that begin with the rest: the range [low, high)."""

    cover: Cover
    low: int
    high: int


def _evaluated(
    text: bytes, model: TokenModel, automaton: TokenAutomaton, options: ExactOptions
) -> tuple[Evaluator, list[_Branch], Covers]:
    """The contexts of the covers of a text, and the covers of all texts a byte longer; evaluated in one call."""
    evaluator = Evaluator(model, automaton, truncate=options.truncate, nodes=_NODES)
    after = Covers(automaton, evaluator.root, max_contexts=options.max_contexts)
    before: list[_Branch] = []
    whole = automaton.prefix + text
    for i, byte in enumerate(whole):
        if i + 1 == len(whole):
            before = _branches(after.copy(), whole)
        after.advance(byte)
        after.check()
    evaluator.evaluate([branch.cover.context for branch in before] + [cover.context for cover in after.covers])
    return evaluator, before, after


def _branches(covers: Covers, text: bytes) -> list[_Branch]:
    """The covers with live tokens that begin with the rest of the text, of those of the text without its last byte."""
    found = []
    for cover in covers.covers:
        low, high = covers.automaton.vocabulary.beginning_with(text[cover.context.length :], cover.low, cover.high)
        if cover.mask(covers.automaton)[low:high].any():
            found.append(_Branch(cover, low, high))
    return found


def _log_probability(evaluator: Evaluator, before: list[_Branch], after: Covers) -> float:
    """log P(x), lines 3 to 13 of the algorithm; with a prefix, of both."""
    if not after.text:
        return 0.0
    shares = []
    for cover, low, high in before:
        assert cover.tokens is not None
        b_val = float(cover.tokens[low - cover.offset : high - cover.offset].sum())
        shares.append(log_product(cover.context, b_val))
    return log_sum(shares + evaluator.end_before_prefix(after))
