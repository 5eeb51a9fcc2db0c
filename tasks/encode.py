"""Stage `encode`: the corpus in the atoms of every variant, checked to decode to the same text."""

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.codes import Unseen, Variant, held_out_split, learned_variants, pooled, read_characters
from tasks.stage import Stage, run
from tokenlab.codes.code import Code, atom_numbers
from tokenlab.codes.saved import read_code
from tokenlab.errors import InputError
from tokenlab.files import atomic_file, atomic_folder


def encode(stage: Stage) -> None:
    """Write for every variant the numbers of its atoms, a list for each sequence, and the table of their lengths."""
    corpus = read_characters(stage)
    learned = learned_variants(stage)
    texts = {"whole": list(corpus.texts())}
    known = {"whole": corpus.sha256}
    if any(variant.part == "train" for variant in learned):
        training, held_out = held_out_split(corpus, stage.parameters("codes.unseen", Unseen))
        texts |= {"train": list(training.texts()), "held-out": held_out}
        known["train"] = training.sha256
    folder = stage.models("codes", stage.variant)

    def work(variant: Variant) -> dict[str, object]:
        path = folder / f"{variant.name}.json"
        code = read_code(path)
        if code.facts.get("corpus", known[variant.part]) != known[variant.part]:
            raise InputError(f"{path}: learned from another corpus than {stage.variant}; run the stage codebook again")
        facts = _write(target / f"{variant.name}.parquet", code, texts[variant.part])
        if variant.part == "train":
            _write(target / f"{variant.name}.held-out.parquet", code, texts["held-out"])
        return {"variant": variant.name, **facts}

    with atomic_folder(stage.data("encoded", stage.variant)) as target:
        rows = pooled(work, learned, f"encode {stage.variant}")
    with atomic_file(stage.reports("codes", stage.variant, "atoms.csv")) as path:
        pl.DataFrame(rows).write_csv(path)


def _write(path: Path, code: Code, texts: list[str]) -> dict[str, object]:
    """Encode, check, write; returns the lengths."""
    encoded = [code.encode(text) for text in texts]
    atoms = "".join(encoded)
    if code.reversible and not _comes_back(code, atoms, texts, encoded):
        raise InputError(f"{path.stem}: the atoms do not decode to the text")
    numbers = atom_numbers(atoms)
    numbers = numbers.astype(np.min_scalar_type(numbers.max(initial=0)))
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(numbers))
    pq.write_table(pa.table({"atoms": lists}), path, compression="zstd")
    used = len(np.unique(numbers))
    return {"characters": sum(map(len, texts)), "atoms": len(numbers), "alphabet": used, "reversible": code.reversible}


def _comes_back(code: Code, atoms: str, texts: list[str], encoded: list[str]) -> bool:
    """Whether all sequences decode to themselves: at once, but for MYTE, whose atoms depend on those before."""
    if code.kind == "myte":
        return all(code.decode(sequence) == text for sequence, text in zip(encoded, texts, strict=True))
    return code.decode(atoms) == "".join(texts)


if __name__ == "__main__":
    run(encode)
