"""What the stages of the codes family share: parameters, the variants of codes that a corpus gets, and a pool.

A variant is one code: kind, N, K and seed. Its name is that of its files. `latom-refined` is the codebook of `latom`
after swap refinement, `latom-best` the best of several restarts, `latom-best-refined` that one refined. Variants of the
part `train` were learned from the training part of the corpus, to be evaluated on its held-out part.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Literal, NamedTuple, Self, TypeVar

import numpy as np
from pydantic import Field, model_validator
from tqdm import tqdm

from tasks.stage import Parameters, Stage, read_json
from tokenlab.codes.codebook import smallest_K
from tokenlab.codes.corpus import CharacterCorpus, character_corpus
from tokenlab.text.store import corpus_batches

Part = Literal["whole", "train"]
_LEARNED = ("random", "latom", "latom-refined")


class CorpusCodes(Parameters):
    """The codes of one corpus; `tables` is the folder of the tables for `fixed` codes that need them."""

    lengths: dict[int, int]
    """Code length N -> number of seeds (0, 1, ...); K is the smallest that gives every character a code."""
    larger_K: tuple[int, ...] = ()
    """Further K for N = 2, for the first three seeds."""
    restarts: int = Field(default=1, ge=1)
    """More than 1: the best of so many restarts as well, for N = 2 and the first three seeds."""
    fixed: tuple[Literal["radical", "stroke", "myte"], ...] = ()
    tables: str
    unigram: tuple[int, ...] = ()
    """Code lengths whose first seed gets a unigram tokenizer too; characters, bytes and fixed codes get one as well."""
    unseen: bool = False

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        if not self.lengths or not all(1 <= N <= 5 and seeds >= 1 for N, seeds in self.lengths.items()):
            raise ValueError("lengths gives for N from 1 to 5 a number of seeds of at least 1")
        if (self.larger_K or self.restarts > 1) and 2 not in self.lengths:
            raise ValueError("larger_K and restarts are for N = 2, which is none of the lengths")
        return self


class LatomParameters(Parameters):
    """How codebooks are learned."""

    iterations: int = Field(ge=0)
    end_state: bool
    floor: float = Field(gt=0, lt=1)
    backend: Literal["auto", "hmmlearn"]


class Sizes(Parameters):
    """Vocabulary sizes: from the alphabet to `largest` in steps of `step`, and |C|; `shown` are those of the tables."""

    largest: int = Field(ge=2)
    step: int = Field(ge=1)
    shown: list[int]


class Unseen(Parameters):
    """The held-out share of the sequences, drawn with `seed`; `sizes` beside |C|; the code lengths, one seed each."""

    share: float = Field(gt=0, lt=1)
    seed: int = Field(ge=0)
    sizes: list[int]
    lengths: list[int]


class Variant(NamedTuple):
    """One code of one corpus."""

    code: str
    N: int | None = None
    K: int | None = None
    seed: int | None = None
    part: Part = "whole"

    @property
    def name(self) -> str:
        """The stem of its files."""
        pieces = [self.code] if self.N is None else [self.code, f"N{self.N}", f"K{self.K}", f"seed{self.seed}"]
        return "-".join(pieces if self.part == "whole" else [self.part, *pieces])


def corpus_codes(stage: Stage) -> CorpusCodes:
    """The codes of the stage's corpus."""
    return stage.parameters(f"codes.corpora.{stage.variant}", CorpusCodes)


def variants(stage: Stage, characters: int, in_training: int | None) -> list[Variant]:
    """All variants for a corpus of so many distinct characters (and so many in its training part, if it has one)."""
    codes = corpus_codes(stage)
    found = [Variant("character"), Variant("byte"), *(Variant(kind) for kind in codes.fixed)]
    for N, seeds in codes.lengths.items():
        K = smallest_K(characters, N)
        found += [Variant(code, N, K, seed) for code in _LEARNED for seed in range(seeds)]
        if N == 2 and codes.restarts > 1:
            best = ("latom-best", "latom-best-refined")
            found += [Variant(code, N, K, seed) for code in best for seed in range(min(seeds, 3))]
    for K in sorted(set(codes.larger_K)):
        if smallest_K(characters, 2) == K:
            continue
        found += [Variant(code, 2, K, seed) for code in _LEARNED for seed in range(min(3, codes.lengths[2]))]
    if in_training is not None:
        found += [Variant("character", part="train"), Variant("byte", part="train")]
        for N in stage.parameters("codes.unseen", Unseen).lengths:
            found += [Variant(code, N, smallest_K(in_training, N), 0, "train") for code in _LEARNED]
    return found


def learned_variants(stage: Stage) -> list[Variant]:
    """The variants that the stage `codebook` learned; those whose tables are missing are not among them."""
    rows = read_json(stage.reports("codebooks", stage.variant, "variants.json"))["learned"]
    return [Variant(**row) for row in rows]


def read_characters(stage: Stage) -> CharacterCorpus:
    """The stage's corpus as characters."""
    return character_corpus(_texts(stage))


def _texts(stage: Stage) -> Iterator[str]:
    for batch in corpus_batches(stage.data("corpora", stage.variant), ["text"]):
        yield from batch.column(0).to_pylist()


def held_out_split(corpus: CharacterCorpus, unseen: Unseen) -> tuple[CharacterCorpus, list[str]]:
    """The training part as a corpus, and the held-out sequences without the characters that training never saw."""
    texts = list(corpus.texts())
    held_out = set(
        np.random.default_rng(unseen.seed).permutation(len(texts))[: round(unseen.share * len(texts))].tolist()
    )
    training = character_corpus(text for number, text in enumerate(texts) if number not in held_out)
    lost = dict.fromkeys(map(ord, set(corpus.characters) - set(training.characters)))
    return training, [texts[number].translate(lost) for number in sorted(held_out)]


Job = TypeVar("Job")
Result = TypeVar("Result")


def pooled(work: Callable[[Job], Result], jobs: Iterable[Job], what: str) -> list[Result]:
    """The results of all jobs in their order, computed on all cores; a bar on standard error where it is a terminal.

    The work is numpy and numba, which leave the interpreter's lock, so threads share one corpus in memory.
    """
    listed = list(jobs)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(work, job) for job in listed]
        try:
            for future in tqdm(as_completed(futures), total=len(futures), desc=what, disable=None):
                future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        return [future.result() for future in futures]
