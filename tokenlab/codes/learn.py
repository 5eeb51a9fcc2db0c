"""Codes from a corpus: `learn_latom`, its baselines, and `learn_code` for all kinds by name.

Latom (sections 3.2 and 3.3) trains a periodic HMM and assigns codes by its posteriors. Two steps beyond the paper are
optional: a swap refinement of the assignment, and restarts from other draws. Both try several codebooks and leave the
choice to BPE: which pair it merges first decides its token count by more than any smooth measure of a codebook tells.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from tokenlab.codes.assignment import FLOOR, Assignment, assignment, check_assignable
from tokenlab.codes.byte import ByteCode
from tokenlab.codes.code import Code, Unknown
from tokenlab.codes.codebook import Codebook, check_capacity, smallest_K
from tokenlab.codes.components import learn_components
from tokenlab.codes.corpus import CharacterCorpus
from tokenlab.codes.hmm import train
from tokenlab.codes.myte import learn_myte
from tokenlab.codes.refine import Refinement, character_bigrams, refine_codes
from tokenlab.codes.table_order import table_order
from tokenlab.errors import InputError, ParameterError
from tokenlab.tokenizers.bpe_sweep import bpe_sweep, tokenize

Kind = Literal["latom", "random", "character", "byte", "radical", "stroke", "myte"]
Backend = Literal["auto", "hmmlearn"]
Refine = Literal["swaps"]
Progress = Callable[[int, int, float], object]
"""Called after every E-step with the number of the restart (from 0), the M-steps done and the log-likelihood (nats)."""

ANNEALINGS = 4
"""Refinements that BPE chooses from."""
_VOCABULARY = 300
_PERMUTED = 1 << 20
"""Codes up to which a random codebook is the beginning of a permutation of all of them."""


def learn_latom(
    corpus: CharacterCorpus,
    N: int = 2,
    K: int | None = None,
    *,
    seed: int = 0,
    iterations: int = 10,
    end_state: bool = False,
    floor: float = FLOOR,
    backend: Backend = "auto",
    refine: Refine | None = None,
    restarts: int = 1,
    vocabulary: int | None = None,
    unknown: Unknown = "error",
    progress: Progress | None = None,
) -> Codebook:
    """Learn a codebook: train the HMM, assign codes by its posteriors, and if asked refine it and start again.

    Args:
        corpus: two different characters at least.
        N: digits of a code.
        K: atoms per digit; None: the smallest with K^N >= |C|.
        seed: of the draws. Restart 0 draws from `default_rng(seed)`, restart i from `default_rng([seed, i])`.
        iterations: of EM.
        end_state: learn how likely a sequence ends after each state of the last group.
        floor: posteriors below it count as that much.
        backend: "hmmlearn" gives the same numbers as "auto", up to rounding, slowly.
        refine: "swaps" refines the assignment as `refine_codebook` does.
        restarts: codebooks to learn; the one that BPE cuts into the fewest tokens is kept, the first of equals.
        vocabulary: entries at which tokens are counted; None: 300, or twice the alphabet where that is more.
        unknown: what becomes of characters that the corpus has not.

    The facts of the codebook are the arguments, the corpus (SHA-256, sequences, characters), and what came out:
    log-likelihoods in nats (before every M-step and after the last), the objective of the assignment and that of random
    ones, in nats, the tokens of every restart, those of `refine_codebook`, and the order of its table (`table_order`).

    Raises:
        ParameterError: K^N < |C|, an assignment that does not fit into 2 GiB, or a parameter out of its range.
        InputError: a corpus of one character.
    """
    K = _atoms_per_digit(corpus, N, K)
    check_assignable(len(corpus.characters), N, K)
    _check_choice("backend", backend, get_args(Backend))
    if refine is not None:
        _check_choice("refine", refine, get_args(Refine))
    if restarts < 1:
        raise ParameterError(f"restarts is {restarts}; it must be at least 1")
    size = _vocabulary(vocabulary, N, K)

    def learned(restart: int) -> _Learned:
        def report(iteration: int, log_likelihood: float) -> None:
            if progress:
                progress(restart, iteration, log_likelihood)

        trained = train(
            corpus.symbols,
            corpus.offsets,
            len(corpus.characters),
            N,
            K,
            iterations=iterations,
            seed=_generator(seed, restart),
            end_state=end_state,
            backend=backend,
            progress=report,
        )
        found = assignment(trained.posteriors, floor)
        refined = _refined(corpus, found.assigned, N, K, _generator(seed, restart), size) if refine else None
        if refined:
            return _Learned(trained.log_likelihoods, found, refined, refined.tokens)
        tokens = _count_tokens(corpus, found.assigned, N, K, size) if restarts > 1 else None
        return _Learned(trained.log_likelihoods, found, None, tokens)

    tried = [learned(restart) for restart in range(restarts)]
    chosen = min(range(restarts), key=lambda restart: tried[restart].tokens or 0)
    best = tried[chosen]
    facts = {
        **_corpus_facts(corpus),
        "N": N,
        "K": K,
        "seed": seed,
        "iterations": iterations,
        "end_state": end_state,
        "floor": floor,
        "backend": backend,
        "restarts": restarts,
        "vocabulary": size if restarts > 1 or refine else None,
        "restart": chosen,
        "tokens": [one.tokens for one in tried] if restarts > 1 else None,
        "log_likelihood": best.log_likelihoods,
        "objective": best.found.objective,
        "random_objective": best.found.random_objective,
        "refine": refine,
        **(best.refined.facts() if best.refined else {}),
    }
    assigned = best.refined.refinement.assigned if best.refined else best.found.assigned
    return _with_table(Codebook("latom", N, K, corpus.characters, assigned, unknown, facts), corpus)


def refine_codebook(code: Codebook, corpus: CharacterCorpus, *, vocabulary: int | None = None) -> Codebook:
    """A codebook of the corpus after swap refinement; what `learn_latom` with `refine` gives for the same seed.

    `refine_codes` anneals it `ANNEALINGS` times, with other random numbers each. Of the outcomes and the codebook
    itself the one that BPE cuts into the fewest tokens is kept, so the refinement does no harm at that vocabulary.

    Args:
        vocabulary: entries at which tokens are counted, as in `learn_latom`.

    To the facts come `refined_tokens`, those of the codebook itself and then of each annealing, and the mutual
    information of adjacent atoms before and after, in bits.

    Raises:
        InputError: a codebook of other characters than the corpus has.
        ParameterError: more codes than a refinement keeps track of, or a vocabulary smaller than the alphabet.
    """
    if code.characters != corpus.characters:
        raise InputError("this codebook is of another corpus: their characters differ; refine it on its own")
    size = _vocabulary(vocabulary, code.N, code.K)
    generator = _generator(code.facts.get("seed", 0), code.facts.get("restart", 0))
    refined = _refined(corpus, code.assigned, code.N, code.K, generator, size)
    facts = {**code.facts, "vocabulary": size, "refine": "swaps", **refined.facts()}
    return _with_table(replace(code, assigned=refined.refinement.assigned, facts=facts), corpus)


class _Refined(NamedTuple):
    refinement: Refinement
    tried: list[int]
    """Tokens before, and after each annealing."""

    @property
    def tokens(self) -> int:
        return min(self.tried)

    def facts(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "refined_tokens": self.tried,
            "mutual_information_before": self.refinement.before.mutual_information,
            "mutual_information": self.refinement.after.mutual_information,
        }


class _Learned(NamedTuple):
    """What one restart came to."""

    log_likelihoods: list[float]
    found: Assignment
    refined: _Refined | None
    tokens: int | None


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
    """Tokens of the encoded corpus under BPE with a vocabulary of `size`, or of as many entries as it comes to."""
    atoms = np.stack(np.unravel_index(assigned, (K,) * N), axis=1) + np.arange(N) * K
    symbols, offsets = atoms.astype(np.int32)[corpus.symbols].ravel(), corpus.offsets * N
    swept = bpe_sweep(symbols, offsets, N * K, [size])
    return int(swept.tokens[0]) if len(swept.tokens) else len(tokenize(symbols, offsets, N * K, swept.merges)[0])


def random_codebook(
    corpus: CharacterCorpus, N: int = 2, K: int | None = None, *, seed: int = 0, unknown: Unknown = "error"
) -> Codebook:
    """A codebook with codes drawn without replacement: the baseline of section 4.1.3 at the same N and K.

    The codes are the first of `default_rng(seed).permutation(K^N)`; where K^N is above 2^20 they are drawn by
    `default_rng(seed).choice`, which needs no list of them all.

    Raises ParameterError where K^N < |C|, and InputError for a corpus of one character.
    """
    K = _atoms_per_digit(corpus, N, K)
    size = len(corpus.characters)
    random = np.random.default_rng(seed)
    codes = random.permutation(K**N)[:size] if K**N <= _PERMUTED else random.choice(K**N, size, replace=False)
    facts = {**_corpus_facts(corpus), "N": N, "K": K, "seed": seed}
    return _with_table(Codebook("random", N, K, corpus.characters, codes.astype(np.int64), unknown, facts), corpus)


def character_codebook(corpus: CharacterCorpus, unknown: Unknown = "error") -> Codebook:
    """The code in which each character is an atom: N = 1, K = |C|, in the order of code points."""
    size = len(corpus.characters)
    return Codebook("character", 1, size, corpus.characters, np.arange(size), unknown, _corpus_facts(corpus))


def learn_code(
    kind: Kind, corpus: CharacterCorpus, *, unknown: Unknown = "error", tables: str | Path | None = None, **options: Any
) -> Code:
    """A code of any kind for the characters of a corpus.

    Args:
        unknown: what becomes of characters that the corpus has not; of no meaning for bytes and MYTE, which know all.
        tables: for radical, stroke and myte, the folder to which the catalogue's source `ids` or `myte` was fetched.
        options: those of `learn_latom` or `random_codebook`; the other kinds have none.

    Raises:
        ParameterError: no such kind, an option that the kind does not have, or as the functions of the kinds do.
        InputError: as they do.
    """
    _check_choice("kind", kind, get_args(Kind))
    for name in sorted(options.keys() - _OPTIONS.get(kind, frozenset())):
        raise ParameterError(f"{name}: the code `{kind}` has no such option")
    match kind:
        case "latom":
            return learn_latom(corpus, unknown=unknown, **options)
        case "random":
            return random_codebook(corpus, unknown=unknown, **options)
        case "character":
            return character_codebook(corpus, unknown)
        case "byte":
            return ByteCode(_corpus_facts(corpus))
        case "radical" | "stroke":
            return learn_components(kind, corpus, _folder(kind, tables, "ids"), unknown)
        case "myte":
            return learn_myte(_folder(kind, tables, "myte"))


_SHAPE = frozenset({"N", "K", "seed"})
_OPTIONS = {
    "random": _SHAPE,
    "latom": _SHAPE | {"iterations", "end_state", "floor", "backend", "refine", "restarts", "vocabulary", "progress"},
}


def _folder(kind: str, tables: str | Path | None, source: str) -> str | Path:
    if tables is None:
        raise ParameterError(
            f"tables: the code `{kind}` needs the folder of the catalogue's source `{source}`;"
            f" fetch it with `dvc repro data/raw/dvc.yaml:tables@{source}`"
        )
    return tables


def _with_table(code: Codebook, corpus: CharacterCorpus) -> Codebook:
    """With the order of the rows and columns of its table among the facts."""
    return replace(code, facts={**code.facts, "table": table_order(code, corpus)})


def _corpus_facts(corpus: CharacterCorpus) -> dict[str, Any]:
    return {
        "corpus": corpus.sha256,
        "sequences": len(corpus.offsets) - 1,
        "length": len(corpus.symbols),
        "characters": len(corpus.characters),
    }


def _atoms_per_digit(corpus: CharacterCorpus, N: int, K: int | None) -> int:
    """K, or the smallest that has enough codes; raises as `learn_latom` does."""
    characters = len(corpus.characters)
    if characters < 2:
        raise InputError(f"the corpus has one character, {corpus.characters!r}; a codebook needs two different ones")
    check_capacity(1, N, 1)
    K = smallest_K(characters, N) if K is None else K
    check_capacity(characters, N, K)
    return K


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ParameterError(f"{name}: {value!r} is none of {', '.join(choices)}")
