"""The chains of the Markov experiments, drawn at random as in section 4 of the tokenization-bias paper."""

from pydantic import Field

from tasks.runtime.stage import Parameters
from tokenlab.exact.paper.chain import MarkovChain


class ChainParameters(Parameters):
    """Chains of one order over one alphabet: a chain for each seed.

    Each row of the transition matrix is uniform among all distributions. The texts are endless, and their first `order`
    characters are uniform.
    """

    alphabet: tuple[str, ...] = Field(min_length=2, max_length=26)
    order: int = Field(ge=1, le=8)
    seeds: tuple[int, ...] = Field(min_length=1)

    def chain(self, seed: int) -> MarkovChain:
        """The chain of a seed."""
        return MarkovChain.random(self.order, self.alphabet, seed)
