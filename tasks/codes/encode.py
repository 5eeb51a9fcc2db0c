"""Stage `encode`: all codes of a corpus, and the corpus in the atoms of each, checked to decode to the same text.

Codes of Latom and of tables were learned by earlier stages; all other kinds are learned here, since they need no
training.
"""

import shutil
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tasks.codes.encoded import write_sequences
from tasks.codes.parameters import CodebookParameters, HeldOut
from tasks.codes.splits import held_out_split, read_characters
from tasks.codes.variants import CorpusVariants, Kinds, Split, Variant, all_variants, write_variants
from tasks.runtime.pool import pooled
from tasks.runtime.stage import Stage, run
from tokenlab.codes.corpus import CharacterCorpus
from tokenlab.codes.interface import Code, atom_numbers, write_code
from tokenlab.codes.registry import KINDS, learn_code, read_code
from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_folder
from tokenlab.text.code_points import code_points


def encode(stage: Stage) -> None:
    """Write every code and the corpus encoded in it, the list of codes, and the table of encoded lengths."""
    section = f"codes.corpora.{stage.variant}"
    codebooks = stage.parameters(f"{section}.codebooks", CodebookParameters)
    baselines = stage.parameters(f"{section}.baselines", tuple[str, ...])
    held_out = stage.parameters("codes.held_out", HeldOut)
    learned = stage.models("codebooks", stage.variant)
    kinds = baseline_kinds(baselines, [kind for kind in codebooks.tables if (learned / f"{kind}.json").exists()])
    corpora: dict[Split, CharacterCorpus] = {"all": read_characters(stage.data("corpora", stage.variant))}
    unseen = None
    if codebooks.held_out:
        corpora["train"], unseen = held_out_split(corpora["all"], held_out.share, held_out.seed)
    characters = {split: len(corpus.characters) for split, corpus in corpora.items()}
    variants = all_variants(codebooks, characters, held_out.lengths, kinds)
    texts = {split: list(corpus.texts()) for split, corpus in corpora.items()}

    def work(variant: Variant) -> dict[str, Any]:
        path = codes / f"{variant.name}.json"
        corpus = corpora[variant.split]
        if variant.by_latom or KINDS[variant.code].table:
            shutil.copyfile(learned / path.name, path)
            code = read_code(path)
            if code.facts.get("corpus", corpus.sha256) != corpus.sha256:
                raise InputError(f"{learned / path.name}: learned from another text; run the stage codebook again")
        else:
            code = learn_variant(variant, corpus)
            write_code(code, path)
        found = encode_texts(variant.name, code, texts[variant.split])
        write_sequences(encoded / f"{variant.name}.parquet", found.numbers, found.lengths)
        if variant.split == "train" and unseen is not None:
            other = encode_texts(f"{variant.name}.held-out", code, unseen)
            write_sequences(encoded / f"{other.name}.parquet", other.numbers, other.lengths)
        return found.figures()

    models, data = stage.models("codes", stage.variant), stage.data("encoded", stage.variant)
    with atomic_folder(models) as codes, atomic_folder(data) as encoded:
        rows = pooled(work, variants, "encoding")
        pl.DataFrame(rows).write_csv(encoded / "atoms.csv")
        made = CorpusVariants(
            variants,
            characters["all"],
            len(corpora["all"].symbols),
            characters.get("train"),
            None if unseen is None else sum(map(len, unseen)),
        )
        for folder in (codes, encoded):
            write_variants(folder, made)


def baseline_kinds(names: Sequence[str], tables: Sequence[str]) -> Kinds:
    """The kinds of codes of a corpus beside Latom's. tables: those learned from tables by the stage `codebook`."""
    return Kinds(
        single=[name for name in names if not KINDS[name].shaped],
        tables=tables,
        shaped=[name for name in names if KINDS[name].shaped],
    )


def learn_variant(variant: Variant, corpus: CharacterCorpus) -> Code:
    """Learn a code that needs no training."""
    shape: dict[str, Any] = {"N": variant.N, "K": variant.K, "seed": variant.seed} if KINDS[variant.code].shaped else {}
    return learn_code(variant.code, corpus, **shape)


class EncodedText(NamedTuple):
    """A text in the atoms of a code."""

    name: str
    characters: int
    numbers: np.ndarray
    """int32[total]: the number of every atom."""
    lengths: list[int]
    """Atoms of each sequence."""
    reversible: bool

    def figures(self) -> dict[str, Any]:
        """A row of the table of encoded lengths."""
        return {
            "variant": self.name,
            "characters": self.characters,
            "atoms": len(self.numbers),
            "alphabet": np.count_nonzero(np.bincount(self.numbers)),
            "reversible": self.reversible,
        }


def encode_texts(name: str, code: Code, texts: Sequence[str]) -> EncodedText:
    """Encode the sequences of a text.

    Raises InputError, naming the variant, where the atoms of a reversible code do not decode to the text.
    """
    whole = "".join(texts)
    if code.contextual:
        encoded = [code.encode(text) for text in texts]
        atoms, lengths = "".join(encoded), list(map(len, encoded))
        pairs = [*zip(encoded, texts, strict=True)]
    else:
        atoms, lengths = _encoded_by_character(code, whole, texts)
        pairs = [(atoms, whole)]
    if code.reversible and not all(code.decode(sequence) == text for sequence, text in pairs):
        raise InputError(f"{name}: the atoms do not decode to the text")
    return EncodedText(name, len(whole), atom_numbers(atoms), lengths, code.reversible)


def _encoded_by_character(code: Code, whole: str, texts: Sequence[str]) -> tuple[str, list[int]]:
    """The atoms of the concatenated texts, and of each text their number: each distinct character is encoded once."""
    encoded = {ord(character): code_points(code.encode(character)) for character in dict.fromkeys(whole)}
    length = np.zeros(sys.maxunicode + 1, np.int64)  # By code point.
    length[list(encoded)] = list(map(len, encoded.values()))
    blocks = np.zeros((len(length), length.max()), np.uint32)  # Shorter ones end in zeros, which are no atoms.
    for point, atoms in encoded.items():
        blocks[point, : len(atoms)] = atoms
    points = code_points(whole)
    found = blocks[points].ravel()
    before = np.cumsum(length[points])
    ends = np.append(0, before)[np.cumsum([0, *map(len, texts)])]
    return found[found > 0].tobytes().decode("utf-32-le"), np.diff(ends).tolist()


if __name__ == "__main__":
    run(encode)
