"""Stage `code_tokenizer`: BPE and unigram on the atoms of every code; tokens and bigram bits at all sizes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tasks.codes.encoded import Sequences, read_sequences, write_merges
from tasks.codes.parameters import CorpusCodes, VocabularySizes
from tasks.codes.variants import Variant, read_variants
from tasks.runtime.pool import pooled
from tasks.runtime.stage import Stage, run
from tasks.runtime.tables import write_table
from tokenlab.codes.codebook import smallest_K
from tokenlab.codes.interface import atom
from tokenlab.core.files import atomic_folder
from tokenlab.tokenizers.bpe import bpe_tokenizer, save_tokenizer, unigram_tokenizer
from tokenlab.tokenizers.merges import BpeSweep, SizeRows, apply_merges, bpe_sweep
from tokenlab.tokenizers.unigram import UnigramSweep, unigram_sweep


class Plan(NamedTuple):
    """The tokenizers and vocabulary sizes of a corpus."""

    sizes: VocabularySizes
    unigram: tuple[int, ...]
    """Code lengths that get a unigram tokenizer."""
    characters: int
    """|C|."""
    training_characters: int | None
    """|C| of the training text, where some text is held out."""

    def has_unigram(self, variant: Variant) -> bool:
        """Whether a variant gets a unigram tokenizer, too: that takes half a minute where BPE takes a second."""
        if variant.N is None:
            return bool(self.unigram)
        smallest = smallest_K(self.characters, variant.N)
        return variant.N in self.unigram and variant.seed == 0 and smallest == variant.K

    def training_sizes(self, alphabet: int, tokenizer: str) -> list[int]:
        """Vocabulary sizes on the training text: the alphabet, multiples of the step, |C|, and those reported."""
        steps = range(0, self.sizes.largest + 1, self.sizes.step_of(tokenizer))
        return _ascending_from(alphabet, [*steps, self.characters, *self.sizes.reported])

    def held_out_sizes(self, alphabet: int) -> list[int]:
        """Vocabulary sizes on held-out text: the alphabet, |C| of the training text, and those of the parameters."""
        assert self.training_characters is not None
        return _ascending_from(alphabet, [self.training_characters, *self.sizes.held_out])


def train_tokenizers(stage: Stage) -> None:
    """Write the tokenizers at the largest size, and a row for each variant, tokenizer and vocabulary size."""
    parameters = stage.parameters(f"codes.corpora.{stage.variant}", CorpusCodes)
    sizes = stage.parameters("codes.vocabulary_sizes", VocabularySizes)
    encoded = stage.data("encoded", stage.variant)
    made = read_variants(encoded)
    plan = Plan(sizes, parameters.unigram, made.characters, made.training_characters)

    def work(variant: Variant) -> list[dict[str, Any]]:
        trained = read_sequences(encoded / f"{variant.name}.parquet")
        if variant.split == "train":
            held_out = read_sequences(encoded / f"{variant.name}.held-out.parquet", trained.atoms)
            return held_out_rows(variant, plan, trained, held_out)
        return train_variant(variant, plan, trained, target / variant.name)

    with atomic_folder(stage.models("code_tokenizers", stage.variant)) as target:
        rows = [row for of_variant in pooled(work, made.learned, "training tokenizers") for row in of_variant]
    write_table(stage.data("code_sweeps", f"{stage.variant}.parquet"), rows)


def train_variant(variant: Variant, plan: Plan, text: Sequences, folder: Path) -> list[dict[str, Any]]:
    """Train and write the tokenizers of a variant; returns a row for each tokenizer and vocabulary size."""
    alphabet = [atom(int(number)) for number in text.atoms]
    bpe = bpe_sweep(text.symbols, text.offsets, len(alphabet), plan.training_sizes(len(alphabet), "bpe"))
    save_tokenizer(bpe_tokenizer(bpe.merges, alphabet), folder / "bpe")
    write_merges(folder, bpe.merges)
    rows = list(_rows(variant, "bpe", "training", bpe))
    if plan.has_unigram(variant):
        sizes = plan.training_sizes(len(alphabet), "unigram")
        unigram = unigram_sweep(text.symbols, text.offsets, len(alphabet), sizes)
        save_tokenizer(unigram_tokenizer(unigram.models[-1], alphabet), folder / "unigram")
        rows += _rows(variant, "unigram", "training", unigram)
    return rows


def held_out_rows(variant: Variant, plan: Plan, trained: Sequences, held_out: Sequences) -> list[dict[str, Any]]:
    """Learn merges from the training text and apply them to the held-out text; a row for each vocabulary size."""
    alphabet = len(trained.atoms)
    sizes = plan.held_out_sizes(alphabet)
    merges = bpe_sweep(trained.symbols, trained.offsets, alphabet, sizes).merges
    applied = apply_merges(held_out.symbols, held_out.offsets, alphabet, merges, sizes)
    return list(_rows(variant, "bpe", "held-out", applied))


def _rows(
    variant: Variant, tokenizer: str, text: str, swept: BpeSweep | SizeRows | UnigramSweep
) -> Iterator[dict[str, Any]]:
    of_code = {"code": variant.code, "N": variant.N, "K": variant.K, "seed": variant.seed}
    for size, tokens, bits in zip(swept.sizes, swept.tokens, swept.bits, strict=True):
        counts = {"vocabulary": int(size), "tokens": int(tokens), "bits": float(bits)}
        yield of_code | {"tokenizer": tokenizer, "text": text} | counts


def _ascending_from(alphabet: int, sizes: list[int]) -> list[int]:
    """The alphabet and the sizes above it, in order."""
    return sorted({alphabet, *(size for size in sizes if size > alphabet)})


if __name__ == "__main__":
    run(train_tokenizers)
