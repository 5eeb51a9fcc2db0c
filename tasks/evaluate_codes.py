"""Stage `evaluate_codes`: what every code saves against plain characters, at every vocabulary size."""

from pathlib import Path

import numpy as np
import polars as pl

from tasks.code_figures import draw_fixed, draw_K_summary, draw_larger_K, draw_lengths, draw_unseen
from tasks.code_scores import averaged, compared, metrics, scores
from tasks.code_tokenizer import read_merges, read_sequences
from tasks.codes import CorpusCodes, Sizes, Unseen, Variant, corpus_codes, held_out_split, read_characters
from tasks.stage import Stage, run, write_json
from tokenlab.codes.code import atom_numbers
from tokenlab.codes.codebook import Codebook, smallest_K
from tokenlab.codes.corpus import CharacterCorpus
from tokenlab.codes.saved import read_code
from tokenlab.codes.table import codebook_html, codebook_text
from tokenlab.codes.trace import trace_tokens
from tokenlab.files import atomic_file, atomic_folder, write_text
from tokenlab.tokenizers import token_widths, tokenize

_TRACED_CHARACTERS = 54
_TRACED_SIZES = 6
_SUMMARY_SIZE = 1500
"""The vocabulary at which K are compared (figure 8), or the largest where that is smaller."""


def evaluate(stage: Stage) -> None:
    """Write the scores (one row: tokenizer x text x variant), the curves over vocabulary sizes, pictures and tables."""
    codes, sizes = corpus_codes(stage), stage.parameters("codes.sizes", Sizes)
    corpus = read_characters(stage)
    length, parity, named = len(corpus.symbols), len(corpus.characters), sizes.shown
    characters, parities, sizes_of = {"same": length}, {"same": parity}, {"same": named}
    if codes.unseen:
        unseen = stage.parameters("codes.unseen", Unseen)
        training, held_out = held_out_split(corpus, unseen)
        characters["unseen"] = sum(map(len, held_out))
        parities["unseen"] = len(training.characters)
        sizes_of["unseen"] = unseen.sizes
    rows = compared(pl.read_parquet(stage.data("code_sweeps", f"{stage.variant}.parquet")), characters)
    folder = stage.reports("codes", stage.variant)
    table = scores(rows, parities, sizes_of, stage.variant)
    with atomic_file(folder / "scores.parquet") as path:
        table.write_parquet(path)
    write_json(folder / "metrics.json", metrics(table))
    curves = averaged(rows)
    with atomic_file(folder / "curves.csv") as path:
        curves.write_csv(path)
    smallest = {N: smallest_K(parity, N) for N in sorted(codes.lengths)}
    draw_lengths(curves, "bpe", smallest, parity, folder / "bpe")
    with atomic_folder(folder / "details") as details:
        _draw(curves, codes, smallest, parity, sizes.largest, details)
        _write_tables(stage, corpus, smallest, details)


def _draw(
    curves: pl.DataFrame, codes: CorpusCodes, smallest: dict[int, int], characters: int, largest: int, folder: Path
) -> None:
    """The pictures that not every corpus has."""
    if codes.unigram:
        of_lengths = {N: smallest[N] for N in codes.unigram}
        draw_lengths(curves, "unigram", of_lengths, characters, folder / "unigram")
    if codes.fixed:
        draw_fixed(curves, codes.fixed, smallest[2], characters, folder / "fixed")
    if codes.larger_K:
        all_K = sorted({smallest[2], *codes.larger_K})
        draw_larger_K(curves, all_K, characters, folder / "larger-K")
        draw_K_summary(curves, all_K, min(_SUMMARY_SIZE, largest), folder / "larger-K-summary")
    if codes.unseen:
        draw_unseen(curves, folder / "unseen")


def _write_tables(stage: Stage, corpus: CharacterCorpus, smallest: dict[int, int], folder: Path) -> None:
    """The codebook of the shortest length (Table 3), and the first characters cut at growing sizes (Table 4)."""
    N = min(length for length in smallest if length > 1 or len(smallest) == 1)
    variant = Variant("latom", N, smallest[N], 0)
    code = read_code(stage.models("codes", stage.variant, f"{variant.name}.json"))
    assert isinstance(code, Codebook)
    write_text(folder / "codebook.txt", codebook_text(code))
    write_text(folder / "codebook.html", codebook_html(code))
    merges = read_merges(stage.models("code_tokenizers", stage.variant, variant.name))
    atoms = read_sequences(stage.data("encoded", stage.variant, f"{variant.name}.parquet")).atoms
    text = next(corpus.texts())[:_TRACED_CHARACTERS]
    write_json(folder / "trace.json", traced(code, text, atoms, merges, len(corpus.characters)))


def traced(
    code: Codebook, text: str, atoms: np.ndarray, merges: np.ndarray, characters: int
) -> list[dict[str, int | str]]:
    """A text as BPE cuts it at vocabulary sizes from the alphabet to |C|: the size, the number of tokens, the tokens.

    atoms: the numbers of the atoms that symbols 0, 1, ... of the merges stand for.
    """
    encoded = code.encode(text)
    symbols = np.searchsorted(atoms, atom_numbers(encoded)).astype(np.int32)
    offsets = np.array([0, len(symbols)])
    sizes = sorted({round(size) for size in np.linspace(len(atoms), max(characters, len(atoms)), _TRACED_SIZES)})
    widths = token_widths(len(atoms), merges)
    rows: list[dict[str, int | str]] = []
    for size in sizes:
        tokens = tokenize(symbols, offsets, len(atoms), merges[: size - len(atoms)])[0]
        cut = trace_tokens(code, encoded, widths[tokens].tolist())
        rows.append({"vocabulary": size, "tokens": len(tokens), "text": cut})
    return rows


if __name__ == "__main__":
    run(evaluate)
