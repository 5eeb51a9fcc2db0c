"""The cuts of a corpus: its codes, tokenizers over their atoms at some vocabulary sizes, and tokenizers of text.

Seed s of a training uses the code of seed s where a code has seeds, as in the paper; other codes are the same for all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import Tokenizer

from tasks.codes.encoded import read_merges, read_sequences
from tasks.codes.variants import Variant, read_variants
from tasks.downstream.parameters import CutChoice
from tasks.runtime.stage import Stage
from tokenlab.codes.codebook import smallest_K
from tokenlab.codes.interface import Code, Unknown, atom
from tokenlab.codes.measured import CodeAsTokenizer, TokenizerOfAtoms
from tokenlab.codes.registry import KINDS, read_code
from tokenlab.core.errors import InputError
from tokenlab.metrics.counting import TextTokenizer
from tokenlab.tokenizers.bpe import bpe_tokenizer, unigram_tokenizer
from tokenlab.tokenizers.measured import read_text_tokenizer
from tokenlab.tokenizers.unigram import unigram_sweep

OF_TEXT = "tokenizer"
"""`Cut.code` of a tokenizer of text."""


class Folders(NamedTuple):
    """What the stages of the codes made for a corpus."""

    codes: Path
    tokenizers: Path
    encoded: Path


class Cut(NamedTuple):
    """A way of cutting a corpus, with the seeds of the trainings that use it."""

    code: str
    """The kind of the code, or `OF_TEXT`."""
    N: int | None
    K: int | None
    tokenizer: str
    """`none`, `bpe` or `unigram`; of a tokenizer of text its name."""
    size: str
    """The vocabulary size as the parameters have it; empty where there is no choice."""
    entries: int | None
    """That size as a number."""
    variant: Variant | None
    """The code; None for a tokenizer of text."""
    seeds: tuple[int, ...]

    @property
    def name(self) -> str:
        """A name for files."""
        whole = [self.code if self.variant is None else self.variant.name, self.tokenizer, self.size]
        return "-".join(part.replace("/", "-") for part in whole if part)

    def key(self) -> dict[str, Any]:
        """The columns of tables that name the cut."""
        return {name: getattr(self, name) for name in ("code", "N", "K", "tokenizer", "size")}


class OpenCut(NamedTuple):
    """A cut that can encode texts."""

    tokenizer: TextTokenizer
    code: Code | None
    """None for a tokenizer of text."""
    merged: Tokenizer | None
    """The tokenizer over the atoms of the code; None where these are the tokens."""


def folders_of(stage: Stage, corpus: str) -> Folders:
    """The folders of a corpus in `codes.corpora`."""
    return Folders(
        stage.models("codes", corpus), stage.models("code_tokenizers", corpus), stage.data("encoded", corpus)
    )


def cuts_of(folders: Folders, choice: CutChoice, seeds: Sequence[int], texts: Path | None = None) -> list[Cut]:
    """The cuts of a corpus, in the order of its codes.

    Args:
        folders: of its codes; those learned from all of its text are taken, with the smallest K (Table 10).
        choice: tokenizers and sizes.
        seeds: of the trainings.
        texts: a folder of tokenizers of text; None, or the folder of the tokenizers over codes: there are none.

    Raises InputError where there is no code of one of the seeds, and no tokenizer of text below the folder.
    """
    made = read_variants(folders.codes)
    of_code: dict[tuple[Any, ...], dict[int | None, Variant]] = {}
    for variant in made.learned:
        smallest = None if variant.N is None else smallest_K(made.characters, variant.N)
        if variant.split == "all" and smallest == variant.K:
            of_code.setdefault((variant.code, variant.N, variant.K), {})[variant.seed] = variant
    found = []
    for (code, N, K), variants in of_code.items():
        for tokenizer in choice.tokenizers:
            for size in [""] if tokenizer == "none" else choice.sizes:
                entries = made.characters if size == "characters" else int(size) if size else None
                for variant, own in _seeded(variants, seeds, folders.codes):
                    found.append(Cut(code, N, K, tokenizer, str(size), entries, variant, own))
    if texts is not None and texts != folders.tokenizers:
        names = sorted(str(path.parent.relative_to(texts)) for path in texts.rglob("tokenizer.json"))
        if not names:
            raise InputError(f"{texts}: no tokenizer.json below it; name another folder, or {folders.tokenizers}")
        found += [Cut(OF_TEXT, None, None, name, "", None, None, tuple(seeds)) for name in names]
    return found


def _seeded(
    variants: dict[int | None, Variant], seeds: Sequence[int], folder: Path
) -> Iterator[tuple[Variant, tuple[int, ...]]]:
    """Each variant of a code, and the seeds that use it."""
    if None in variants:
        yield variants[None], tuple(seeds)
        return
    for seed in seeds:
        if seed not in variants:
            one = next(iter(variants.values()))
            raise InputError(
                f"{folder}: no code {one.code} of N = {one.N} with the seed {seed}; raise its codebooks.lengths"
            )
        yield variants[seed], (seed,)


def open_cut(folders: Folders, cut: Cut, unknown: Unknown, texts: Path | None = None) -> OpenCut:
    """Read a cut; a smaller BPE tokenizer has the first merges of the largest.

    Args:
        folders: of the corpus.
        cut: one of its cuts.
        unknown: what its code does with a character that it lacks.
        texts: the folder of `cuts_of`.

    Raises InputError where the text has too few pieces for a unigram tokenizer of this size.
    """
    if cut.variant is None:
        assert texts is not None
        return OpenCut(read_text_tokenizer(texts / cut.tokenizer), None, None)
    code = read_code(folders.codes / f"{cut.variant.name}.json")
    if not KINDS[code.kind].total:
        code = replace(code, unknown=unknown)  # type: ignore[type-var]
    if cut.entries is None:
        return OpenCut(CodeAsTokenizer(code), code, None)
    text = read_sequences(folders.encoded / f"{cut.variant.name}.parquet")
    alphabet = [atom(int(number)) for number in text.atoms]
    size = max(cut.entries, len(alphabet))
    if cut.tokenizer == "bpe":
        merged = bpe_tokenizer(read_merges(folders.tokenizers / cut.variant.name)[: size - len(alphabet)], alphabet)
    else:
        swept = unigram_sweep(text.symbols, text.offsets, len(alphabet), [size])
        if not swept.models:
            raise InputError(f"{cut.name}: the text has fewer than {size:,} pieces; take the size out of sizes")
        merged = unigram_tokenizer(swept.models[-1], alphabet)
    return OpenCut(TokenizerOfAtoms(code, merged), code, merged)
