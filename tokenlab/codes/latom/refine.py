"""Swap refinement of a codebook: simulated annealing over pairs of codes (not in the paper).

An assignment by posteriors considers one digit at a time, but a subword tokenizer merges pairs of adjacent atoms. The
refinement minimises H(atom, next atom) - balance H(atom): the joint entropy over all pairs inside sequences (atoms n
and n + 1 of a character, the last atom of a character and the first of the next), each weighted by its frequency, minus
the weighted entropy of the atoms.

Without balance the entropy falls by giving the frequent characters few atoms, and BPE merges across characters before
it has merged the atoms of a character: measured on the English Bible (N = 2, ten seeds, vocabulary of 300), four
annealings in ten cost more than 170,000 of 1.8 million tokens; with a balance of 2 none of thirty cost more than
50,000.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tokenlab.codes.codebook import check_capacity
from tokenlab.codes.corpus import CharacterCorpus
from tokenlab.codes.latom.refine_kernels import Bigrams, State, sweep, xlog2x_table
from tokenlab.core.errors import ParameterError

_PAIRS_AT_ONCE = 1 << 20
_TABLE = 1 << 16
"""Numbers whose m log m is looked up: half a megabyte, which stays in the cache."""
BALANCE = 2.0
"""Weight of the entropy of the atoms; with 2 the refinement maximises the mutual information of adjacent atoms."""
LARGEST_CODES = 1 << 28
"""Largest K^N of a refinement, which keeps an owner of every code: 1 GiB."""


class Refinement(NamedTuple):
    """A refined mapping of characters to codes, and the adjacent atoms before and after."""

    assigned: np.ndarray
    """int64[|C|]: the code of each character, as the place of (a_1, ..., a_N) in lexicographic order."""
    before: "AtomEntropy"
    after: "AtomEntropy"


class AtomEntropy(NamedTuple):
    """Entropies of adjacent atoms in an encoded corpus, within characters and across them, but not across sequences."""

    bigram: float
    """Bits per pair: the joint entropy of an atom and the next."""
    atom: float
    """Bits per atom."""

    @property
    def mutual_information(self) -> float:
        """Mutual information of adjacent atoms in bits, 2 H(atom) - H(atom, next atom), ignoring ends of sequences."""
        return 2 * self.atom - self.bigram


class Schedule(NamedTuple):
    """Schedule of the annealing: the temperature falls geometrically from the first to the last sweep."""

    sweeps: int = 500
    """Number of sweeps; each proposes |C| swaps of a random character and a random code, uniformly."""
    start: float = 1e-3
    """First temperature in bits per pair: a swap that raises the entropy by as much is kept with probability 1/e."""
    end: float = 1e-6
    """Last temperature."""


SCHEDULE = Schedule()


def character_bigrams(corpus: CharacterCorpus) -> csr_array:
    """int64[|C|, |C|], sparse: how often the character of a column follows that of a row in the same sequence."""
    size = len(corpus.characters)
    ends = np.zeros(len(corpus.symbols), bool)
    ends[corpus.offsets[1:] - 1] = True
    counts = csr_array((size, size), dtype=np.int64)
    for start in range(0, len(corpus.symbols) - 1, _PAIRS_AT_ONCE):
        symbols = corpus.symbols[start : start + _PAIRS_AT_ONCE + 1]
        inside = ~ends[start : start + len(symbols) - 1]
        # A product of memberships counts in linear time; a matrix from coordinates is sorted, ten times slower.
        counts += _members(symbols[:-1][inside], size).T @ _members(symbols[1:][inside], size)
    counts.sort_indices()
    return counts


def refine_codes(
    corpus: CharacterCorpus,
    assigned: np.ndarray,
    N: int,
    K: int,
    seed: int | np.random.Generator = 0,
    balance: float = BALANCE,
    schedule: Schedule = SCHEDULE,
    bigrams: csr_array | None = None,
) -> Refinement:
    """Swap codes, also with unused ones, to minimise H(atom, next atom) - balance H(atom).

    The best mapping after any sweep is kept, or the initial one. With N = 1 an atom is a character, no swap changes the
    entropies, and the mapping is returned unchanged. Memory grows with the number of distinct character bigrams, |C| K,
    N K^2 and K^N, not with the length of the corpus.

    Args:
        corpus: its character bigrams are counted.
        assigned, N, K: int64[|C|] and the size of the codebook, as in `Codebook`.
        balance: 0 for the entropy of pairs alone, 1 for the entropy of an atom given the one before, 2 for the negative
            mutual information of both.
        bigrams: of the corpus, if `character_bigrams` has counted them already.

    Raises ParameterError where there are fewer codes than characters or more than `LARGEST_CODES`.
    """
    check_capacity(len(corpus.characters), N, K)
    if K**N > LARGEST_CODES:
        raise ParameterError(
            f"K^N = {K}^{N} = {K**N:,} codes; refine at most {LARGEST_CODES:,}: choose a smaller K or N"
        )
    best = np.array(assigned, np.int64)
    bigrams = character_bigrams(corpus) if bigrams is None else bigrams
    counts = np.append(corpus.counts, 0)
    state = _state(best, N, K, counts, bigrams)
    before = after = _entropy(state)
    if N == 1:
        return Refinement(best, before, after)
    following, preceding = _rows(bigrams), _rows(bigrams.T.tocsr())
    pairs, characters = int(state.within.sum() + state.across.sum()), len(best)
    weight = balance * pairs / int(state.atoms.sum())  # The gain is in bits times pairs.
    table = xlog2x_table(min(pairs + 1, _TABLE))
    random = np.random.default_rng(seed)
    for temperature in np.geomspace(schedule.start, schedule.end, schedule.sweeps):
        chosen, places = random.integers(characters, size=characters), random.integers(K**N, size=characters)
        slack = random.standard_exponential(characters) * (temperature * pairs)
        sweep(chosen, places, slack, state, following, preceding, counts, weight, table)
        entropy = _entropy(state)
        if entropy.bigram - balance * entropy.atom < after.bigram - balance * after.atom:
            best, after = np.ravel_multi_index(state.digits[:-1].T, (K,) * N), entropy
    return Refinement(best, before, after)


def _entropy(state: State) -> AtomEntropy:
    pairs = np.concatenate([state.within.ravel(), state.across.ravel()])
    return AtomEntropy(_bits(pairs), _bits(state.atoms.ravel()))


def _bits(counts: np.ndarray) -> float:
    counts = counts[counts > 0]
    total = counts.sum()
    return float(np.log2(total) - (counts @ np.log2(counts)) / total) if total else 0.0


def _state(assigned: np.ndarray, N: int, K: int, counts: np.ndarray, bigrams: csr_array) -> State:
    size = len(assigned)
    digits = np.zeros((size + 1, N), np.int32)
    digits[:-1] = np.stack(np.unravel_index(assigned, (K,) * N), axis=1)
    owner = np.full(K**N, size, np.int32)
    owner[assigned] = np.arange(size)
    atoms, within = np.zeros((N, K), np.int64), np.zeros((N - 1, K, K), np.int64)
    for n in range(N):
        np.add.at(atoms[n], digits[:-1, n], counts[:-1])
    for n in range(N - 1):
        np.add.at(within[n], (digits[:-1, n], digits[:-1, n + 1]), counts[:-1])
    first, last = _members(digits[:-1, 0], K), _members(digits[:-1, -1], K)
    before, after = np.zeros((2, size + 1, K), np.int64)
    after[:-1] = (bigrams @ first).toarray()
    before[:-1] = (bigrams.T @ last).toarray()
    across = (last.T @ bigrams @ first).toarray()
    return State(digits, owner, atoms, within, across, before, after)


def _members(columns: np.ndarray, width: int) -> csr_array:
    """int64[len(columns), width]: a single 1 in each row, at the column given for it."""
    rows = len(columns)
    return csr_array((np.ones(rows, np.int64), columns, np.arange(rows + 1)), shape=(rows, width))


def _rows(counts: csr_array) -> Bigrams:
    """The counts as rows, with an empty row for "no character" at the end."""
    counts.sort_indices()
    starts = np.append(counts.indptr, counts.indptr[-1]).astype(np.int64)
    return Bigrams(starts, counts.indices.astype(np.int32), counts.data)
