"""Which candidate to use: differences in bits per byte, with their intervals, and one line of advice.

The scores of a candidate are one for each seed, on the same held-out documents. The variance of a difference of two
means is the sum of two parts:

- over seeds: candidates trained with one seed saw the text in one order. A score is fitted as the sum of an effect of
  its candidate and one of its seed (least squares, so some candidates may have more seeds than others). What is left is
  noise, whose variance is pooled over all candidates that are compared (the residual of a two-way analysis of
  variance), with scores - candidates - seeds + 1 degrees of freedom;
- over the draw of the held-out documents: a paired bootstrap (Efron 1979), the same samples for all candidates.

A candidate is worse where its distance from the best exceeds the interval by Student's t. Of several the clearest one
is left out, and the others are compared without it (the model confidence set of Hansen, Lunde and Nason 2011), so the
noise of one that is far behind says nothing of those in front. The level grows with the number of those compared (Sidak
1967): in 95 of 100 comparisons the true best is among those left, and in 5 two equal candidates are told apart. The
rule of the report's tables, one deviation, is not made for many candidates at once.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import nctdtrinc, stdtrit

from tokenlab.comparison.trials import Score
from tokenlab.core.errors import InputError, ParameterError

_LEVEL, _POWER = 0.95, 0.8
_AS_FAST = 1.05
"""Up to so many times the operations a byte of the fastest, a candidate counts as fast as it."""
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
    """Half the width of the interval of `behind` in the last comparison with it; 0 for the best itself."""

    @property
    def separable(self) -> bool:
        """Whether it is worse than the best beyond chance."""
        return self.behind > self.interval


class Comparison(NamedTuple):
    """All candidates, and the advice."""

    standings: list[Standing]
    """The best first."""
    detectable: float
    """Bits per byte: the smallest difference between two given candidates that is found in about four of five such
    comparisons, by the noise of the last one."""
    use: str
    """The name of the candidate to take."""
    separable: bool
    """Whether it is the best beyond chance.

    Otherwise it is the best of the fastest: of those not separable from the best, within 5 % of the fewest operations.
    """
    answer: str
    """One line."""


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
    of_draws = _sampled(np.nanmean(bits, axis=1), sizes)
    behind, intervals = np.zeros(len(names)), np.zeros(len(names))
    left = np.arange(len(names))
    while True:
        means, noise, freedom = _fitted(of_runs[left])
        errors = np.sqrt(noise + of_draws[np.ix_(left, left)])
        best = int(means.argmin())
        behind[left], intervals[left] = means - means[best], _quantile(freedom, len(left)) * errors[best]
        beyond = behind[left] / np.maximum(intervals[left], np.finfo(np.float64).tiny)
        if beyond.max() <= 1 or len(left) == 2:
            break
        left = np.delete(left, beyond.argmax())
    intervals[left[best]] = 0
    standings = [
        Standing(
            names[one],
            float(np.nanmean(of_runs[one])),
            float(np.nanstd(of_runs[one], ddof=1)),
            float(behind[one]),
            float(intervals[one]),
        )
        for one in np.argsort(behind, kind="stable").tolist()
    ]
    pairs = np.square(errors[np.triu_indices(len(left), 1)])
    detectable = float(nctdtrinc(freedom, 1 - _POWER, _quantile(freedom, len(names))) * np.sqrt(pairs.mean()))
    tied = [names.index(one.name) for one in standings if not one.separable]
    enough = _AS_FAST * min(costs[one] for one in tied)
    taken = next(one for one in tied if costs[one] <= enough)
    found = Comparison(standings, detectable, names[taken], len(tied) == 1, "")
    return found._replace(answer=_answer(found, costs[taken]))


def _quantile(freedom: int, candidates: int) -> float:
    """Of Student's t, by which the best of so many candidates is compared with each of the others."""
    return float(stdtrit(freedom, max((1 + _LEVEL) / 2, _LEVEL ** (1 / (candidates - 1)))))


def _fitted(of_runs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """The effects of candidates, float64[candidates]; the variances of their differences over seeds,
    float64[candidates, candidates]; and degrees of freedom. of_runs: float64[candidates, seeds], NaN where none is.
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
    return effects[:candidates], variance * spread, freedom


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
        f"the best of the fastest: {cost / 1e6:.2f} million operations a byte."
    )
