"""Latom: a codebook learned from a corpus (sections 3.2 and 3.3), and two steps beyond the paper.

`learn_latom` trains a periodic HMM (`hmm`) and assigns codes by its posteriors: `assignment` is the optimal one-to-one
assignment of section 3.3. Optional are a swap refinement of the assignment (`refine`), and restarts from other draws.
Both try several codebooks and let BPE select one: the first pairs that it merges decide its token count more than any
smooth measure of a codebook predicts.
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from tokenlab.codes.codebook import Codebook, atoms_per_digit, check_capacity
from tokenlab.codes.corpus import CharacterCorpus
from tokenlab.codes.interface import Unknown
from tokenlab.codes.latom.hmm import train
from tokenlab.codes.latom.refine import Refinement, character_bigrams, refine_codes
from tokenlab.codes.options import FLOOR, CodeShape, LatomOptions, SelectionOptions
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.shards import ClusterOptions
from tokenlab.tokenizers.merges import bpe_sweep, tokenize

LARGEST_COSTS = 1 << 28
"""Largest number of characters times codes in one assignment: 2 GiB of float64."""
Progress = Callable[[int, int, float], object]
"""Called after every E-step with the number of the restart (from 0), the M-steps done and the log-likelihood (nats)."""
ANNEALINGS = 4
"""Refinements from which BPE selects."""
_VOCABULARY = 300
_SHAPE, _TRAINING, _SELECTION = CodeShape(), LatomOptions(), SelectionOptions()


class Assignment(NamedTuple):
    """An injective mapping from characters to codes, and its objective."""

    assigned: np.ndarray
    """int64[|C|]: the code of each character, as the place of (a_1, ..., a_N) in lexicographic order."""
    objective: float
    """Nats: the sum over characters of s(c, f(c)), equation 1; the maximum over all injective mappings."""
    random_objective: float
    """Nats: the exact mean of that sum over all injective mappings; they give a character each code equally often."""


def assignment(q: np.ndarray, floor: float = FLOOR) -> Assignment:
    """The injective mapping with the maximal sum of s(c, a) = sum_n log max(q[c, n, a_n], floor), in nats.

    q: float64[|C|, N, K], the mean posterior of atom k at digit n of character c.

    Raises ParameterError where there are fewer codes than characters, where the |C| x K^N costs take more than 2 GiB,
    and where the floor is outside (0, 1].
    """
    characters, N, K = q.shape
    check_assignable(characters, N, K)
    if not 0 < floor <= 1:
        raise ParameterError(f"floor is {floor}; it must be above 0 and at most 1")
    scores = np.log(np.maximum(q, floor))
    costs = reduce(_add_digit, np.moveaxis(-scores, 1, 0))
    _, assigned = linear_sum_assignment(costs)  # Rows are in order. Costs, since maximize=True copies.
    objective = -costs[np.arange(characters), assigned].sum()
    random_objective = scores.mean(axis=2).sum()
    return Assignment(assigned.astype(np.int64), float(objective), float(random_objective))


def check_assignable(characters: int, N: int, K: int) -> None:
    """Raises ParameterError where there are fewer codes than characters, or costs or transitions exceed 2 GiB."""
    check_capacity(characters, N, K)
    if N * K * K > LARGEST_COSTS:
        raise ParameterError(
            f"N = {N}, K = {K}: the HMM has N K^2 = {N * K * K:,} transitions, and at most {LARGEST_COSTS:,} (2 GiB)"
            " can be learned; choose a smaller K"
        )
    if characters * K**N > LARGEST_COSTS:
        raise ParameterError(
            f"{characters:,} characters x K^N = {K}^{N} = {K**N:,} codes: an assignment has at most"
            f" {LARGEST_COSTS:,} such pairs (2 GiB); choose a smaller K or N"
        )


def _add_digit(costs: np.ndarray, digit: np.ndarray) -> np.ndarray:
    """float64[|C|, codes] and float64[|C|, K] -> float64[|C|, codes K], in lexicographic order."""
    return (costs[:, :, None] + digit[:, None, :]).reshape(len(costs), -1)


def learn_latom(
    corpus: CharacterCorpus,
    shape: CodeShape = _SHAPE,
    training: LatomOptions = _TRAINING,
    selection: SelectionOptions = _SELECTION,
    *,
    unknown: Unknown = "error",
    place: ClusterOptions | None = None,
    progress: Progress | None = None,
) -> Codebook:
    """Learn a codebook: train the HMM, assign codes by its posteriors; optionally refine it and restart.

    Args:
        corpus: at least two distinct characters.
        shape: N, K and the seed. Restart 0 draws from `default_rng(seed)`, restart i from `default_rng([seed, i])`.
        training: of the HMM, and the floor of the posteriors.
        selection: refinement as `refine_codebook` does it, and the number of restarts; the codebook that BPE cuts into
            the fewest tokens is kept, the first of equals.
        unknown: how characters missing from the corpus are encoded.
        place: where the HMM is trained, as in `train`.

    The facts of the codebook are the options, the corpus (SHA-256, sequences, characters), and the results:
    log-likelihoods in nats (before every M-step and after the last), the objective of the assignment and that of random
    ones in nats, the tokens of every restart, and those of `refine_codebook`.

    Raises:
        ParameterError: K^N < |C|, an assignment that does not fit into 2 GiB, or a vocabulary below the alphabet.
        InputError: a corpus of one character.
    """
    N, K = shape.N, atoms_per_digit(corpus.characters, shape.N, shape.K)
    check_assignable(len(corpus.characters), N, K)
    size = _vocabulary(selection.vocabulary, N, K)

    def run(restart: int) -> _Run:
        """Train, assign, and refine where asked."""
        trained = train(
            corpus.symbols,
            corpus.offsets,
            len(corpus.characters),
            N,
            K,
            iterations=training.iterations,
            seed=_generator(shape.seed, restart),
            end_state=training.end_state,
            backend=training.backend,
            place=place,
            progress=partial(progress, restart) if progress else None,
        )
        found = assignment(trained.posteriors, training.floor)
        refined, tokens = None, None
        if selection.refine:
            refined = _refined(corpus, found.assigned, N, K, _generator(shape.seed, restart), size)
            tokens = min(refined.tried)
        elif selection.restarts > 1:
            tokens = _count_tokens(corpus, found.assigned, N, K, size)
        return _Run(trained.log_likelihoods, found, refined, tokens)

    runs = [run(restart) for restart in range(selection.restarts)]
    kept = min(range(len(runs)), key=lambda restart: runs[restart].tokens or 0)
    best = runs[kept]
    facts = {
        **corpus.facts(),
        "N": N,
        "K": K,
        "seed": shape.seed,
        **asdict(training),
        "restarts": selection.restarts,
        "vocabulary": size if selection.restarts > 1 or selection.refine else None,
        "restart": kept,
        "tokens": [run.tokens for run in runs] if selection.restarts > 1 else None,
        "log_likelihood": best.log_likelihoods,
        "objective": best.found.objective,
        "random_objective": best.found.random_objective,
        "refine": selection.refine,
        **(best.refined.facts() if best.refined else {}),
    }
    assigned = best.refined.refinement.assigned if best.refined else best.found.assigned
    return Codebook("latom", N, K, corpus.characters, assigned, unknown, facts)


def refine_codebook(code: Codebook, corpus: CharacterCorpus, *, vocabulary: int | None = None) -> Codebook:
    """A codebook of the corpus after swap refinement: the same as `learn_latom` with `refine` for the same seed.

    `refine_codes` anneals it `ANNEALINGS` times, with other random numbers each time. Of the outcomes and the codebook
    itself the one that BPE cuts into the fewest tokens is kept, so the refinement does no harm at that vocabulary.

    Args:
        vocabulary: entries at which tokens are counted, as in `SelectionOptions`.

    Added to the facts are `refined_tokens`, those of the codebook itself and then of each annealing, and the mutual
    information of adjacent atoms before and after, in bits.

    Raises:
        InputError: the codebook has other characters than the corpus.
        ParameterError: more codes than a refinement keeps track of, or a vocabulary below the alphabet.
    """
    if code.characters != corpus.characters:
        raise InputError("this codebook was learned from another corpus: their characters differ; refine it on its own")
    size = _vocabulary(vocabulary, code.N, code.K)
    generator = _generator(code.facts.get("seed", 0), code.facts.get("restart", 0))
    refined = _refined(corpus, code.assigned, code.N, code.K, generator, size)
    facts = {**code.facts, "vocabulary": size, "refine": "swaps", **refined.facts()}
    return replace(code, assigned=refined.refinement.assigned, facts=facts)


class _Refined(NamedTuple):
    """The best of several annealings."""

    refinement: Refinement
    tried: list[int]
    """Tokens before refinement, and after each annealing."""

    def facts(self) -> dict[str, Any]:
        return {
            "refined_tokens": self.tried,
            "mutual_information_before": self.refinement.before.mutual_information,
            "mutual_information": self.refinement.after.mutual_information,
        }


class _Run(NamedTuple):
    """The result of one restart."""

    log_likelihoods: list[float]
    found: Assignment
    refined: _Refined | None
    tokens: int | None
    """None where there is nothing to select from."""


def _refined(
    corpus: CharacterCorpus, assigned: np.ndarray, N: int, K: int, generator: np.random.Generator, size: int
) -> _Refined:
    bigrams = character_bigrams(corpus)
    annealed = [refine_codes(corpus, assigned, N, K, generator, bigrams=bigrams) for _ in range(ANNEALINGS)]
    unchanged = Refinement(assigned, annealed[0].before, annealed[0].before)
    candidates = [unchanged, *annealed]
    tokens = [_count_tokens(corpus, candidate.assigned, N, K, size) for candidate in candidates]
    return _Refined(candidates[int(np.argmin(tokens))], tokens)


def _generator(seed: int, restart: int) -> np.random.Generator:
    return np.random.default_rng([seed, restart] if restart else seed)


def _vocabulary(vocabulary: int | None, N: int, K: int) -> int:
    size = max(_VOCABULARY, 2 * N * K) if vocabulary is None else vocabulary
    if size < N * K:
        raise ParameterError(
            f"vocabulary is {size}, smaller than the alphabet of {N} x {K} atoms; use at least {N * K}"
        )
    return size


def _count_tokens(corpus: CharacterCorpus, assigned: np.ndarray, N: int, K: int, size: int) -> int:
    """Tokens of the encoded corpus under BPE with a vocabulary of `size`, or the largest that BPE reaches below it."""
    atoms = np.stack(np.unravel_index(assigned, (K,) * N), axis=1) + np.arange(N) * K
    symbols, offsets = atoms.astype(np.int32)[corpus.symbols].ravel(), corpus.offsets * N
    swept = bpe_sweep(symbols, offsets, N * K, [size])
    return int(swept.tokens[0]) if len(swept.tokens) else len(tokenize(symbols, offsets, N * K, swept.merges)[0])
