"""Which candidate to use: differences in bits per byte, with their intervals, and one line of advice.

The scores of a candidate are one for each seed, on the same held-out documents. The variance of a difference of two
means is the sum of two parts:

- over seeds: candidates trained with one seed saw the text in one order. A score is fitted as the sum of an effect of
  its candidate and one of its seed (least squares, so some candidates may have more seeds than others). What is left is
  noise, whose variance is pooled (the residual of a two-way analysis of variance, with scores - candidates - seeds + 1
  degrees of freedom) over the better half of the candidates, since those far behind can be much noisier;
- over the draw of the held-out documents: a paired bootstrap (Efron 1979), the same samples for all candidates.

A candidate is worse where its distance from the best exceeds the interval by Student's t. The level grows with the
number of candidates (Sidak 1967): in 98 of 100 comparisons the true best is not called worse (Gupta 1965), and in 2 two
equal candidates are told apart. So twenty comparisons of equal candidates name no more than one winner, with a
probability of 94 %. The rule of the report's tables, one deviation, is not made for many candidates at once.

Where no candidate is better than all others, the fastest within one standard error of the best is taken (Breiman,
Friedman, Olshen and Stone 1984, section 3.4.3).
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import nctdtrinc, stdtrit

from tokenlab.comparison.trials import Score
from tokenlab.core.errors import InputError, ParameterError

_LEVEL, _POWER = 0.98, 0.8
_AS_FAST = 1.05
"""Up to so many times the operations a byte of the fastest, a candidate counts as fast as it."""
_FEWEST = 4
"""Candidates, at least, whose noise is pooled."""
_FREEDOM = 6
"""Degrees of freedom of the noise that suffice: t is 3.1 with six, and 7.0 with two."""
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
    """Half the width of the interval of `behind`; 0 for the best itself."""

    @property
    def separable(self) -> bool:
        """Whether it is worse than the best beyond chance."""
        return self.behind > self.interval

    @property
    def standing(self) -> str:
        """In words, for tables and pages."""
        return "best" if self.behind == 0 else "worse" if self.separable else "not separable"


class Comparison(NamedTuple):
    """All candidates, and the advice."""

    standings: list[Standing]
    """The best first."""
    detectable: float
    """Bits per byte: the smallest difference between two given candidates of the better half, the mean pair, that is
    found in about four of five such comparisons."""
    use: str
    """The name of the candidate to take."""
    separable: bool
    """Whether it is the best beyond chance.

    Otherwise it is the best of the fastest: of those within one standard error of the best, within 5 % of the fewest
    operations.
    """
    answer: str
    """One line."""


def enough_seeds(candidates: int) -> int:
    """Seeds from which the noise is known well enough: seven of two candidates, four of three, three of more."""
    return max(3, 1 + math.ceil(_FREEDOM / (_pooled(candidates) - 1)))


def compare_scores(scores: Mapping[str, Sequence[Score]]) -> Comparison:
    """Compare candidates.

    Args:
        scores: by name, for each seed in one order; a name with fewer seeds has the first of them. At least two names,
            and two seeds of each.

    Raises:
        InputError: scores on other documents.
        ParameterError: fewer than two candidates or seeds.
    """
    names, seeds = [*scores], {len(of_name) for of_name in scores.values()}
    if len(names) < 2 or min(seeds) < 2:
        raise ParameterError(
            f"seeds and candidates: {min(seeds, default=0)} seeds of {len(names)} candidates; two of each are needed"
        )
    documents = {tuple(score.documents.bytes) for of_name in scores.values() for score in of_name}
    if len(documents) != 1:
        raise InputError("scores are of other held-out documents; score all candidates on the same")
    sizes = np.array(documents.pop(), np.float64)
    bits = np.full((len(names), max(seeds), len(sizes)), np.nan)
    for of_name, name in zip(bits, names, strict=True):
        of_name[: len(scores[name])] = [score.documents.nats for score in scores[name]]
    bits /= np.log(2)
    return _comparison(names, bits, sizes, [scores[name][0].documents.flops_per_byte for name in names])


def _comparison(
    names: list[str], bits: NDArray[np.float64], sizes: NDArray[np.float64], costs: list[float]
) -> Comparison:
    """bits: float64[candidates, seeds, documents], NaN for a seed that a candidate has not; sizes: bytes of the
    documents; costs: operations a byte."""
    of_runs = bits.sum(2) / sizes.sum()
    means, spread, _, _ = _fitted(of_runs)
    near = np.argsort(means, kind="stable")[: _pooled(len(names))]
    _, _, noise, freedom = _fitted(of_runs[near][:, ~np.isnan(of_runs[near]).all(0)])
    errors = np.sqrt(noise * spread + _sampled(np.nanmean(bits, axis=1), sizes))
    quantile = float(stdtrit(freedom, max((1 + _LEVEL) / 2, _LEVEL ** (1 / (len(names) - 1)))))
    order = np.argsort(means, kind="stable").tolist()
    best = order[0]
    standings = [
        Standing(
            names[one],
            float(np.nanmean(of_runs[one])),
            float(np.nanstd(of_runs[one], ddof=1)),
            float(means[one] - means[best]),
            quantile * float(errors[one, best]) if one != best else 0.0,
        )
        for one in order
    ]
    pairs = errors[np.ix_(near, near)][np.triu_indices(len(near), 1)]
    detectable = float(nctdtrinc(freedom, 1 - _POWER, quantile) * np.sqrt(np.square(pairs).mean()))
    close = [one for one in order if means[one] - means[best] <= errors[one, best]]
    enough = _AS_FAST * min(costs[one] for one in close)
    wins = all(one.separable for one in standings[1:])
    taken = best if wins else next(one for one in close if costs[one] <= enough)
    found = Comparison(standings, detectable, names[taken], wins, "")
    return found._replace(answer=_answer(found, costs[taken]))


def _pooled(candidates: int) -> int:
    """How many candidates, the best, have their noise pooled."""
    return min(candidates, max(_FEWEST, math.ceil(candidates / 2)))


def _fitted(
    of_runs: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, int]:
    """The effects of candidates, float64[candidates]; the variances of their differences for noise of variance 1,
    float64[candidates, candidates]; the variance of the noise; and its degrees of freedom. of_runs: float64[candidates,
    seeds], NaN where none is.
    """
    candidates, seeds = of_runs.shape
    candidate, seed = np.nonzero(~np.isnan(of_runs))
    values = of_runs[candidate, seed]
    # The effects of seeds are differences from the first one's.
    design = np.hstack([np.eye(candidates)[candidate], np.eye(seeds)[seed][:, 1:]])
    inverse = np.linalg.inv(design.T @ design)
    effects = inverse @ design.T @ values
    freedom = len(values) - design.shape[1]
    variance = float(np.square(values - design @ effects).sum()) / freedom
    own = inverse[:candidates, :candidates]
    spread = own.diagonal()[:, None] + own.diagonal() - 2 * own
    return effects[:candidates], spread, variance, freedom


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
            f"{following.name}, the next best (± {percent * following.interval:.1f} %)."
        )
    tied = [one for one in found.standings if not one.separable]
    names = ", ".join(one.name for one in tied)
    return (
        f"Not separable: {names} (at most {tied[-1].behind:.3f} bits per byte apart); take {found.use}, "
        f"the best of the fastest within one standard error: {cost / 1e6:.2f} million operations a byte."
    )
