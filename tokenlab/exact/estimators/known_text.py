"""log P(x) of texts that are known: all contexts of the covers in few passes over the model.

1. The contexts of a text are found by the automaton (`Covers`). Only those that a cover of the whole text goes through
   are evaluated: with BPE about one for each token of the text, not for each byte.
2. They go through the model in passes of up to 256, several short texts in one tree. The logits of a pass become sums
   of probabilities at once, so memory stays flat.
3. P(x) is the sum over the covers.

The trace, log P of every beginning of a text, needs all contexts: about one for each byte.
"""

from collections.abc import Iterable
from math import inf

import numpy as np
from numpy.typing import NDArray

from tokenlab.exact.estimators.covers import Covers, check_bytes, unevaluated
from tokenlab.exact.estimators.evaluation import NODES, Evaluator, since
from tokenlab.exact.estimators.incremental import Incremental, evaluate
from tokenlab.exact.interface import TokenAutomaton, TokenModel
from tokenlab.exact.options import DEFAULT, ExactOptions
from tokenlab.exact.results import Cost, TextProbability


def log_probabilities(
    texts: Iterable[bytes], model: TokenModel, automaton: TokenAutomaton, options: ExactOptions = DEFAULT
) -> list[TextProbability]:
    """The probabilities that texts start with these, and that they end there.

    The cost of passes that several texts share is that of the first of them; the costs sum to the whole. With `prune`,
    texts are scored byte by byte.

    Raises InputError for bytes that no token has and for texts longer than the model allows, ParameterError where there
    are more contexts than max_contexts.
    """
    evaluator = Evaluator(model, automaton, truncate=options.truncate)
    results: list[TextProbability] = []
    pack: list[Incremental] = []
    waiting, reported = 0, Cost()

    def score() -> None:
        nonlocal reported
        evaluate(pack)
        for text in pack:
            log_probability, end = text.log_probability(), text.log_end()
            now = evaluator.cost()
            cost, reported = since(now, reported), now
            results.append(TextProbability(log_probability, end, text.pruned, cost))
        pack.clear()
        evaluator.tree.keep([0])

    for text in texts:
        pack.append(Incremental(model, automaton, options, evaluator=evaluator))
        pack[-1].extend(text)
        waiting += len(unevaluated(pack[-1].wanted()))
        if waiting >= NODES:
            score()
            waiting = 0
    score()
    return results


def trace(
    text: bytes, model: TokenModel, automaton: TokenAutomaton, options: ExactOptions = DEFAULT
) -> NDArray[np.float64]:
    """float64[len(text) + 1] log P(x_1^m) for every beginning of a text, from m = 0 on.

    Nothing is pruned. Raises what `log_probabilities` raises.
    """
    check_bytes(automaton.vocabulary, text)
    evaluator = Evaluator(model, automaton, truncate=options.truncate)
    first = len(automaton.prefix)
    covers = Covers(automaton, evaluator.root, max_contexts=options.max_contexts, traced=True)
    for byte in automaton.prefix + text:
        covers.advance(byte)
        covers.check()
    parents = {id(cover.context): cover.context for cover in covers.history if cover.ranges}
    evaluator.evaluate(parents.values())
    log_sums = np.full(first + len(text) + 1, -inf)
    for cover in covers.history:
        if cover.sums:
            assert cover.context.log_probability is not None
            after = slice(cover.context.length + 1, cover.context.length + 1 + len(cover.sums))
            with np.errstate(divide="ignore"):
                shares = np.log(cover.sums) + cover.context.log_probability
            log_sums[after] = np.logaddexp(log_sums[after], shares)
    log_sums[first] = 0.0
    log_sums[first + 1 :] -= evaluator.log_prefix()
    return log_sums[first:]
