"""Drawing symbols: distributions against their definition, and random numbers that depend on nothing else."""

import numpy as np
import pytest
import torch

from tokenlab.language.generation import draw, uniforms

_LOGITS = [2.0, -1.0, 0.5, 0.5, -torch.inf, 3.0, 0.5]
_N = 20_000


def _shares(temperature: float, top_k: int | None, allowed: torch.Tensor | None = None) -> np.ndarray:
    """Shares of the symbols over evenly spaced numbers: within 1 / _N of the probabilities."""
    logits = torch.tensor([_LOGITS]).expand(_N, -1)
    masks = None if allowed is None else allowed.expand(_N, -1)
    drawn = draw(logits, (np.arange(_N) + 0.5) / _N, temperature, top_k, masks)
    return np.bincount(drawn.numpy(), minlength=len(_LOGITS)) / _N


def _wanted(temperature: float, kept: list[int]) -> np.ndarray:
    weights = np.zeros(len(_LOGITS))
    weights[kept] = np.exp(np.array(_LOGITS)[kept] / temperature)
    return weights / weights.sum()


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
@pytest.mark.parametrize(
    ("top_k", "kept"), [(None, [0, 1, 2, 3, 5, 6]), (2, [0, 5]), (4, [0, 2, 3, 5]), (99, [0, 1, 2, 3, 5, 6])]
)
def test_distribution(temperature, top_k, kept):
    assert _shares(temperature, top_k) == pytest.approx(_wanted(temperature, kept), abs=1e-4)


def test_only_allowed_symbols_count_for_top_k():
    allowed = torch.tensor([[True, True, False, False, True, False, True]])
    assert _shares(1.0, 2, allowed) == pytest.approx(_wanted(1.0, [0, 6]), abs=1e-4)
    # Fewer possible symbols than top_k: impossible ones are still never drawn.
    assert _shares(1.0, 4, allowed) == pytest.approx(_wanted(1.0, [0, 1, 6]), abs=1e-4)


@pytest.mark.parametrize(("temperature", "top_k"), [(0.0, None), (0.0, 3), (1.0, 1)])
def test_most_probable_symbol_is_the_first_of_equal_ones(temperature, top_k):
    logits = torch.tensor([[0.0, 2.0, 2.0], [5.0, 1.0, 5.0]])
    assert draw(logits, np.array([0.9, 0.9]), temperature, top_k).tolist() == [1, 0]


def test_numbers_at_the_ends_of_the_interval():
    logits = torch.tensor([[-torch.inf, 0.0, 0.0, -torch.inf]]).expand(2, -1)
    assert draw(logits, np.array([0.0, np.nextafter(1.0, 0)]), 1.0, None).tolist() == [1, 2]


class TestUniforms:
    def test_a_number_depends_on_seed_row_and_position_alone(self):
        rows, positions = np.divmod(np.arange(60), 12)
        together = uniforms(7, rows, positions)
        alone = [
            uniforms(7, np.array([r]), np.array([p])).item()
            for r, p in zip(rows.tolist(), positions.tolist(), strict=True)
        ]
        assert together.tolist() == alone
        assert len(set(together.tolist())) == 60
        assert not np.intersect1d(together, uniforms(8, rows, positions)).size

    def test_known_values(self):
        # SplitMix64 by its definition in integers of Python, so that the numbers stay the same on every machine.
        def mixed(state: int) -> int:
            state = (state + 0x9E3779B97F4A7C15) % 2**64
            state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
            state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
            return state ^ (state >> 31)

        wanted = (mixed(mixed(mixed(3) ^ 5) ^ 11) >> 11) / 2**53
        assert uniforms(3, np.array([5]), np.array([11])).tolist() == [wanted]
