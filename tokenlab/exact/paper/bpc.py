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


def _evaluated(
    text: bytes, model: TokenModel, automaton: TokenAutomaton, options: ExactOptions
) -> tuple[Evaluator, list[Cover], Covers]:
    """The contexts of the covers of a text, and the covers of all texts a byte longer; evaluated in one call."""
    evaluator = Evaluator(model, automaton, truncate=options.truncate, nodes=_NODES)
    after = Covers(automaton, evaluator.root, max_contexts=options.max_contexts)
    before: list[Cover] = []
    whole = automaton.prefix + text
    for i, byte in enumerate(whole):
        if i + 1 == len(whole):
            before = _branches(after.copy(), whole)
        after.advance(byte)
        after.check()
    evaluator.evaluate([cover.context for cover in before + after.covers])
    return evaluator, before, after


def _branches(covers: Covers, text: bytes) -> list[Cover]:
    """The covers of the text without its last byte, narrowed to the tokens B that begin with the rest, if some live."""
    found = []
    for cover in covers.covers:
        rest = text[cover.context.length :]
        cover.low, cover.high = covers.automaton.vocabulary.beginning_with(rest, cover.low, cover.high)
        if cover.mask(covers.automaton)[cover.low : cover.high].any():
            found.append(cover)
    return found


def _log_probability(evaluator: Evaluator, before: list[Cover], after: Covers) -> float:
    """log P(x), lines 3 to 13 of the algorithm; with a prefix, of both."""
    if not after.text:
        return 0.0
    shares = [log_product(cover.context, cover.sum()) for cover in before]  # cover.sum() is b_val.
    return log_sum(shares + evaluator.end_before_prefix(after))
