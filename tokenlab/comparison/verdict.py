"""Which candidate to use: differences in bits per byte, with their intervals, and one line of advice.

The scores of a candidate are one for each seed, on the same held-out documents. The variance of a difference of two
means is the sum of two parts:

- over seeds: candidates trained with one seed saw the text in one order. What is left of a score after the mean of its
  candidate and the mean of its seed is taken away is noise, whose variance is pooled over all candidates (the residual
  of a two-way analysis of variance), with (candidates - 1) (seeds - 1) degrees of freedom;
- over the draw of the held-out documents: a paired bootstrap (Efron 1979), the same samples for all candidates.

A difference is separable where it exceeds the 95 % interval by Student's t. The rule of the report's tables, one
deviation, would name a winner in a fifth of the comparisons of a tokenizer with itself. A winner must be separable from
each of the others, so more candidates make no more false winners.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from tokenlab.comparison.trials import Score
from tokenlab.core.errors import InputError, ParameterError

_LEVEL, _POWER = 0.95, 0.8
_RESAMPLES = 2000
_SEED = 0


class Standing(NamedTuple):
    """A candidate among the others."""

    name: str
    bits_per_byte: float
    """Mean over seeds."""
    deviation: float
    """Over seeds."""
    behind: float
    """Bits per byte more than the best has."""
    interval: float
    """Half the width of the 95 % interval of `behind`; 0 for the best itself."""

    @property
    def separable(self) -> bool:
        """Whether it is worse than the best beyond chance."""
        return self.behind > self.interval


class Comparison(NamedTuple):
    """All candidates, and the advice."""

    standings: list[Standing]
    """The best first."""
    detectable: float
    """Bits per byte: the smallest difference that such a comparison finds in four of five cases, for the mean pair."""
    use: str
    """The name of the candidate to take."""
    separable: bool
    """Whether it is the best beyond chance; otherwise it is the fastest of those that are not separable from the best.
    """
    answer: str
    """One line."""


def compare_scores(scores: Mapping[str, Sequence[Score]]) -> Comparison:
    """Compare candidates.

    Args:
        scores: by name, for each seed, the same ones in the same order; at least two names and two seeds.

    Raises:
        InputError: scores on other documents.
        ParameterError: fewer than two candidates or seeds, or unequal numbers of seeds.
    """
    names, seeds = [*scores], {len(of_name) for of_name in scores.values()}
    if len(names) < 2 or len(seeds) != 1 or min(seeds) < 2:
        raise ParameterError(
            f"seeds and candidates: {sorted(seeds)} seeds of {len(names)} candidates; two of each are needed, as many "
            "seeds for all"
        )
    documents = {tuple(score.documents.bytes) for of_name in scores.values() for score in of_name}
    if len(documents) != 1:
        raise InputError("scores are of other held-out documents; score all candidates on the same")
    sizes = np.array(documents.pop(), np.float64)
    bits = np.array([[score.documents.nats for score in scores[name]] for name in names]) / np.log(2)
    return _comparison(names, bits, sizes, [scores[name][0].documents.flops_per_byte for name in names])


def _comparison(
    names: list[str], bits: NDArray[np.float64], sizes: NDArray[np.float64], costs: list[float]
) -> Comparison:
    """bits: float64[candidates, seeds, documents]; sizes: bytes of the documents; costs: operations a byte."""
    of_runs = bits.sum(2) / sizes.sum()
    means, freedom = of_runs.mean(1), (len(names) - 1) * (of_runs.shape[1] - 1)
    errors = np.sqrt(2 * _noise(of_runs) / of_runs.shape[1] + _sampled(bits.mean(1), sizes))
    quantile = float(stdtrit(freedom, (1 + _LEVEL) / 2))
    order = np.argsort(means, kind="stable").tolist()
    best = order[0]
    standings = [
        Standing(
            names[one],
            float(means[one]),
            float(of_runs[one].std(ddof=1)),
            float(means[one] - means[best]),
            quantile * float(errors[one, best]) if one != best else 0.0,
        )
        for one in order
    ]
    pairs = errors[np.triu_indices(len(names), 1)]
    detectable = (quantile + float(stdtrit(freedom, _POWER))) * float(np.sqrt(np.square(pairs).mean()))
    tied = [names.index(one.name) for one in standings if not one.separable]
    fastest = min(tied, key=lambda one: costs[one])
    found = Comparison(standings, detectable, names[fastest], len(tied) == 1, "")
    return found._replace(answer=_answer(found, costs[fastest]))


def _noise(of_runs: NDArray[np.float64]) -> float:
    """The variance of a run after candidate and seed are accounted for. of_runs: float64[candidates, seeds]."""
    candidates, seeds = of_runs.shape
    rest = of_runs - of_runs.mean(0) - of_runs.mean(1, keepdims=True) + of_runs.mean()
    return float(np.square(rest).sum() / ((candidates - 1) * (seeds - 1)))


def _sampled(bits: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[candidates, candidates]: variance of differences in bits per byte over samples of the documents.

    bits: float64[candidates, documents].
    """
    count = len(sizes)
    generator = np.random.default_rng(_SEED)
    drawn = generator.multinomial(count, np.full(count, 1 / count), size=_RESAMPLES)
    per_byte = (drawn @ bits.T) / (drawn @ sizes)[:, None]
    return (per_byte[:, :, None] - per_byte[:, None]).var(0)


def _answer(found: Comparison, cost: float) -> str:
    best, *others = found.standings
    if found.separable:
        following = others[0]
        percent = 100 / following.bits_per_byte
        return (
            f"Use {best.name}: {best.bits_per_byte:.3f} bits per byte, {percent * following.behind:.1f} % fewer than "
            f"{following.name}, the next best (95 % interval ± {percent * following.interval:.1f} %)."
        )
    tied = [one for one in found.standings if not one.separable]
    names = ", ".join(one.name for one in tied)
    return (
        f"Not separable: {names} (at most {tied[-1].behind:.3f} bits per byte apart); take the fastest, {found.use}: "
        f"{cost / 1e6:.2f} million operations a byte."
    )
