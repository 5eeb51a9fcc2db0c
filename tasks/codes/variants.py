"""The variants of a corpus: one for each of its codes, by kind, N, K and seed.

A variant's name is the stem of its files. `latom-refined` is the codebook `latom` after swap refinement, `latom-best`
the best of several restarts, `latom-best-refined` that one after refinement. A variant with the split `train` is
learned from the training text of the corpus and evaluated on its held-out text.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from tasks.codes.parameters import CodebookParameters
from tasks.runtime.stage import read_json, write_json
from tokenlab.codes.codebook import smallest_K

Split = Literal["all", "train"]
LATOM, BEST, REFINED = "latom", "latom-best", "-refined"
_SEEDS_OF_SWEEPS = 3
_FILE = "variants.json"


class Variant(NamedTuple):
    """One code of one corpus."""

    code: str
    N: int | None = None
    K: int | None = None
    seed: int | None = None
    split: Split = "all"

    @property
    def name(self) -> str:
        """The stem of its files."""
        pieces = [self.code] if self.N is None else [self.code, f"N{self.N}", f"K{self.K}", f"seed{self.seed}"]
        return "-".join(pieces if self.split == "all" else [self.split, *pieces])

    @property
    def by_latom(self) -> bool:
        """Whether Latom learns it."""
        return self.code.removesuffix(REFINED) in (LATOM, BEST)

    @property
    def refined(self) -> bool:
        """Whether it is the refinement of another variant."""
        return self.code.endswith(REFINED)


class Kinds(NamedTuple):
    """The kinds of codes of a corpus that Latom does not learn."""

    single: Sequence[str] = ()
    """Kinds with one variant for each split."""
    tables: Sequence[str] = ()
    """Kinds from published tables, with one variant."""
    shaped: Sequence[str] = ()
    """Kinds with the same N, K and seeds as Latom."""


def all_variants(
    codebooks: CodebookParameters, characters: Mapping[Split, int], held_out_lengths: Sequence[int], kinds: Kinds
) -> list[Variant]:
    """The variants of a corpus in the order of tables.

    Args:
        characters: |C| of each split that the corpus has.
        held_out_lengths: lengths of the codes of the split `train`, which have one seed.
    """
    everywhere = [*kinds.shaped, LATOM, LATOM + REFINED]
    found = [Variant(code) for code in (*kinds.single, *kinds.tables)]
    for N, seeds in codebooks.lengths.items():
        K = smallest_K(characters["all"], N)
        found += _seeded(everywhere, N, K, seeds)
        if N == 2 and codebooks.restarts > 1:
            found += _seeded([BEST, BEST + REFINED], N, K, min(seeds, _SEEDS_OF_SWEEPS))
    for K in sorted(set(codebooks.K_sweep) - {smallest_K(characters["all"], 2)}):
        found += _seeded(everywhere, 2, K, min(codebooks.lengths[2], _SEEDS_OF_SWEEPS))
    if "train" in characters:
        found += [Variant(code, split="train") for code in kinds.single]
        for N in held_out_lengths:
            K = smallest_K(characters["train"], N)
            found += [variant._replace(split="train") for variant in _seeded(everywhere, N, K, 1)]
    return found


def _seeded(codes: Sequence[str], N: int, K: int, seeds: int) -> list[Variant]:
    return [Variant(code, N, K, seed) for code in codes for seed in range(seeds)]


class CorpusVariants(NamedTuple):
    """The codes that a corpus has, for the stages that read them."""

    learned: list[Variant]
    characters: int
    """|C|."""
    length: int
    """Characters of the text."""
    training_characters: int | None = None
    """|C| of the training text, where some text is held out."""
    held_out_length: int | None = None
    """Characters of the held-out text."""


def write_variants(folder: Path, made: CorpusVariants) -> None:
    """Write the variants into the folder that holds their files."""
    rows = [variant._asdict() for variant in made.learned]
    write_json(folder / _FILE, made._asdict() | {"learned": rows})


def read_variants(folder: Path) -> CorpusVariants:
    """Read what `write_variants` wrote."""
    document = read_json(folder / _FILE)
    return CorpusVariants(**document | {"learned": [Variant(**row) for row in document["learned"]]})
