"""Stage `encode`: the corpus in the atoms of every variant, checked to decode to the same text."""

from collections.abc import Iterable
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


def _write(path: Path, code: Code, texts: Iterable[str]) -> dict[str, object]:
    """Encode, check, write; returns the lengths."""
    characters, offsets, blocks = 0, [0], []
    for text in texts:
        encoded = code.encode(text)
        if code.reversible and code.decode(encoded) != text:
            raise InputError(f"{path.stem}: a sequence does not decode to itself: {text[:40]!r}")
        characters += len(text)
        offsets.append(offsets[-1] + len(encoded))
        blocks.append(encoded)
    numbers = atom_numbers("".join(blocks))
    numbers = numbers.astype(np.min_scalar_type(numbers.max(initial=0)))
    lists = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pa.array(numbers))
    pq.write_table(pa.table({"atoms": lists}), path, compression="zstd")
    used = len(np.unique(numbers))
    return {"characters": characters, "atoms": len(numbers), "alphabet": used, "reversible": code.reversible}


if __name__ == "__main__":
    run(encode)
