"""Parameters of the codes family that belong to the pipeline alone; `codes.latom` is the library's `LatomOptions`."""

from typing import Self

from pydantic import Field, model_validator

from tasks.runtime.stage import Parameters


class CodebookParameters(Parameters):
    """The codebooks of one corpus."""

    lengths: dict[int, int]
    """Code length N -> number of seeds (0, 1, ...); K is the smallest with K^N >= |C|."""
    K_sweep: tuple[int, ...] = ()
    """Further K for N = 2, for the first three seeds."""
    restarts: int = Field(default=1, ge=1)
    """If more than 1: also the best codebook of so many restarts, for N = 2 and the first three seeds."""
    held_out: bool = False
    """Whether codebooks are also learned from training text and evaluated on held-out text."""
    tables: tuple[str, ...] = ()
    """Kinds of codes made from published tables: `radical`, `stroke`, `myte`."""

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        if not self.lengths or not all(1 <= N <= 5 and seeds >= 1 for N, seeds in self.lengths.items()):
            raise ValueError("lengths maps N, from 1 to 5, to a number of seeds of at least 1")
        if (self.K_sweep or self.restarts > 1) and 2 not in self.lengths:
            raise ValueError("K_sweep and restarts are for N = 2, which lengths does not have")
        return self


class CorpusCodes(Parameters):
    """All codes of one corpus, and their tokenizers."""

    codebooks: CodebookParameters
    baselines: tuple[str, ...]
    """Other kinds of codes to compare with, which need no training; `character` among them."""
    unigram: tuple[int, ...] = ()
    """Code lengths whose first seed also gets a unigram tokenizer; if any, codes without N and K get one, too."""

    @model_validator(mode="after")
    def _check_unigram(self) -> Self:
        missing = set(self.unigram) - self.codebooks.lengths.keys()
        if missing:
            raise ValueError(f"unigram has the code length {min(missing)}, which codebooks.lengths does not have")
        return self


class HeldOut(Parameters):
    """The held-out share of the sequences, drawn with `seed`, and the lengths of codes learned from the other ones."""

    share: float = Field(gt=0, lt=1)
    seed: int = Field(ge=0)
    lengths: tuple[int, ...]


class VocabularySizes(Parameters):
    """Vocabulary sizes: the alphabet, every multiple of a step up to `largest`, and |C|.

    unigram_step: the step of unigram tokenizers, which take half a second a size, if it is another. reported: the sizes
    in tables. held_out: the sizes beside |C| on held-out text.
    """

    largest: int = Field(ge=2)
    step: int = Field(ge=1)
    unigram_step: int | None = Field(default=None, ge=1)
    reported: tuple[int, ...]
    held_out: tuple[int, ...]

    def step_of(self, tokenizer: str) -> int:
        """The step of a kind of tokenizer, `bpe` or `unigram`."""
        return self.unigram_step or self.step if tokenizer == "unigram" else self.step
