"""The verdict against the t-test of SciPy and simulated comparisons whose truth is known."""

import math

import numpy as np
import pytest
from scipy import stats

from tokenlab.comparison.trials import DocumentScores, Score
from tokenlab.comparison.verdict import compare_scores, enough_seeds
from tokenlab.core.errors import InputError, ParameterError


def scores(bits, sizes=None, cost=1e6):
    """The scores of a candidate, one for each row of bits, float[seeds, documents]."""
    bits = np.asarray(bits, float)
    sizes = np.full(bits.shape[1], 100) if sizes is None else sizes
    return [
        Score(DocumentScores((row * math.log(2)).tolist(), list(sizes), 10, cost), 20, 1, 1.0, 1, 256, [])
        for row in bits
    ]


def even(runs, **others):
    """Scores of these bits per byte, the same in every document."""
    return scores(np.outer(runs, np.full(12, 100.0)), **others)


def test_two_candidates_with_even_documents_are_a_paired_t_test():
    one, other = [1.50, 1.52, 1.49, 1.53], [1.55, 1.56, 1.55, 1.57]
    found = compare_scores({"b": even(other), "a": even(one)})
    expected = stats.ttest_rel(other, one).confidence_interval(0.98)
    assert [standing.name for standing in found.standings] == ["a", "b"]
    behind = found.standings[1]
    assert behind.behind - behind.interval == pytest.approx(expected.low)
    assert behind.behind + behind.interval == pytest.approx(expected.high)
    assert found.standings[0].deviation == pytest.approx(np.std(one, ddof=1))
    assert found.separable and found.use == "a"


def test_the_noise_of_three_candidates_is_that_of_a_two_way_analysis():
    runs = np.random.default_rng(1).normal(2, 0.1, (3, 4))
    found = compare_scores({str(name): even(of_name) for name, of_name in enumerate(runs)})
    cells = [(c, s) for c in range(3) for s in range(4)]
    design = np.array([[1, c == 1, c == 2, s == 1, s == 2, s == 3] for c, s in cells], float)
    rest = np.linalg.lstsq(design, runs.ravel(), rcond=None)[1][0]
    error = np.sqrt(2 * rest / 6 / 4)
    assert not any(one.separable for one in found.standings)
    assert found.standings[1].interval == pytest.approx(stats.t.ppf(0.99, 6) * error)
    assert stats.nct.sf(stats.t.ppf(0.99, 6), 6, found.detectable / error) == pytest.approx(0.8)


def test_a_noisy_loser_hides_no_winner():
    generator = np.random.default_rng(6)

    def winners(deviations, means):
        runs = generator.normal(means, deviations, (40, 3, len(means)))
        found = [compare_scores({str(name): even(of_name) for name, of_name in enumerate(run.T)}) for run in runs]
        return sum(one.separable and one.use == "0" for one in found)

    leader = ([0.01] * 5, [2] + [2.06] * 4)
    assert winners(*leader) >= 36
    assert winners(leader[0] + [0.14], leader[1] + [4]) >= 30  # 9 where the noise of all is pooled


def test_one_that_is_fast_and_clearly_behind_is_not_taken():
    """Its documents differ so much that it is not separable."""
    generator = np.random.default_rng(8)
    good, wild = generator.uniform(150, 250, (2, 12))
    found = compare_scores(
        {"good": scores([good, good + 1]), "fast": scores([good + 5 * wild - 800, good + 5 * wild - 799], cost=1e3)}
    )
    assert not found.separable and found.standings[1].behind > 0.5 and found.use == "good"


def test_of_many_equal_candidates_the_best_is_rarely_called_worse():
    generator = np.random.default_rng(7)
    worse = sum(one.separable for _ in range(60) for one in simulated(generator, 0.0, 21, seeds=2).standings)
    assert worse <= 0.025 * 60 * 21


def test_a_seed_that_only_those_far_behind_have():
    runs = np.random.default_rng(9).normal(2, 0.1, (6, 2))
    scored = {str(name): even(of_name + name) for name, of_name in enumerate(runs)}
    more = compare_scores(scored | {"5": even([*(runs[5] + 5), 7.1])})
    fewer = compare_scores(scored)
    assert more.standings[1].interval == pytest.approx(fewer.standings[1].interval) and more.use == fewer.use


def test_a_seed_of_one_candidate_alone_does_not_move_the_difference():
    one, other = [1.50, 1.53, 9.0], [1.55, 1.57]
    found = compare_scores({"b": even(other), "a": even(one)})
    shared = compare_scores({"b": even(other), "a": even(one[:2])})
    assert [standing.name for standing in found.standings] == ["a", "b"]
    for name in ("behind", "interval"):
        assert getattr(found.standings[1], name) == pytest.approx(getattr(shared.standings[1], name))
    assert found.standings[0].bits_per_byte == pytest.approx(np.mean(one))


def test_the_draw_of_documents_counts():
    generator = np.random.default_rng(0)
    one, difference = generator.uniform(100, 200, 300), generator.normal(1, 5, 300)
    found = compare_scores({"a": scores([one, one]), "b": scores([one + difference, one + difference])})
    error = difference.std() / np.sqrt(300) / 100  # of a mean; the seeds agree, so they add nothing
    assert found.standings[1].interval == pytest.approx(stats.t.ppf(0.99, 1) * error, rel=0.05)


def simulated(generator, gap, candidates, seeds=3, fewer=()):
    """A comparison of candidates of which the first is better than all others by `gap`; fewer: those with two seeds."""
    order, documents = generator.normal(0, 0.02, seeds), generator.uniform(150, 250, 40)
    made = {}
    for name in range(candidates):
        runs = 2 + order + generator.normal(0, 0.01, seeds) + gap * (name > 0)
        made[str(name)] = scores(np.outer(runs / 2, documents) + generator.normal(0, 1, (1, 40)))[
            : 2 if name in fewer else None
        ]
    return compare_scores(made)


@pytest.mark.parametrize("candidates, seeds", [(2, 7), (3, 4), (4, 3), (7, 3), (21, 3)])
def test_enough_seeds_are_the_fewest_that_leave_six_degrees_of_freedom(candidates, seeds):
    assert enough_seeds(candidates) == seeds
    pooled = min(candidates, max(4, -(-candidates // 2)))
    assert (pooled - 1) * (seeds - 1) >= 6
    assert seeds == 3 or (pooled - 1) * (seeds - 2) < 6


@pytest.mark.parametrize(("candidates", "seed", "fewer"), [(2, 1, ()), (5, 1, ()), (5, 4, (3, 4))])
def test_equal_candidates_rarely_have_a_winner_also_where_some_have_fewer_seeds(candidates, seed, fewer):
    generator = np.random.default_rng(seed)
    false = sum(simulated(generator, 0.0, candidates, fewer=fewer).separable for _ in range(200))
    assert false <= 10  # 2 % are 4, with a deviation of 2


def test_the_detectable_difference_is_found_in_four_of_five_cases():
    generator = np.random.default_rng(2)
    detectable = np.mean([simulated(generator, 0.0, 2, 5).detectable for _ in range(50)])
    found = [simulated(generator, detectable, 2, 5) for _ in range(100)]
    assert 68 <= sum(one.separable and one.use == "0" for one in found) <= 95


def test_the_best_of_the_fastest_of_the_inseparable_is_taken():
    runs = np.random.default_rng(3).normal(2, 0.05, 3)
    found = compare_scores(
        {
            "slow": even(runs, cost=3e6),
            "fast": even(runs[::-1] + 0.01, cost=1.04e6),
            "fastest": even(runs + 0.02, cost=1e6),
            "bad": even(runs + 5, cost=1e3),
        }
    )
    assert not found.separable and found.use == "fast"
    assert found.answer.startswith("Not separable: ") and found.answer.endswith(
        "; take fast, the best of the fastest within one standard error: 1.04 million operations a byte."
    )
    assert "bad" not in found.answer
    best = compare_scores({"good": even(runs), "bad": even(runs + 5)})
    assert best.answer.startswith(f"Use good: {runs.mean():.3f} bits per byte, ")


def test_scores_that_cannot_be_compared_are_refused():
    with pytest.raises(InputError, match="other held-out documents"):
        compare_scores({"a": even([1, 2]), "b": scores(np.ones((2, 3)))})
    for wrong in ({"a": even([1, 2])}, {"a": even([1, 2]), "b": even([1])}):
        with pytest.raises(ParameterError, match="two of each are needed"):
            compare_scores(wrong)
