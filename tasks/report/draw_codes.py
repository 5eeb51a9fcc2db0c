"""Stage `draw_codes`: figures 2 to 16 of the Latom paper, its codebook tables and its tokens at growing sizes."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tasks.codes.encoded import read_merges
from tasks.report.figures.canvas import draw_all
from tasks.report.figures.code_figures import (
    BITS,
    PERPLEXITY,
    TOKENS,
    TRAINING,
    draw_held_out,
    draw_K_summary,
    draw_K_sweep,
    draw_lengths,
    draw_likelihood,
    draw_overview,
    draw_tables,
    table_codes,
)
from tasks.report.inputs import read_table
from tasks.report.token_trace import trace_sizes
from tasks.runtime.stage import Stage, read_json, run, write_json
from tokenlab.codes.codebook import Codebook
from tokenlab.codes.corpus import character_corpus
from tokenlab.codes.interface import atom_numbers
from tokenlab.codes.registry import read_code
from tokenlab.codes.table import codebook_html, codebook_text, with_table_order
from tokenlab.core.files import atomic_folder, write_text
from tokenlab.text.store import read_corpus

_OVERVIEWS = {"tokens": TOKENS, "perplexity": PERPLEXITY, "bits": BITS}
_TRACED_CHARACTERS = 54
_SUMMARY_SIZE = 1500
"""The vocabulary at which all K are compared (figure 8), or the largest where that is smaller."""


class _Corpus(NamedTuple):
    """The results of a corpus, and the lengths of its codebooks."""

    characters: int
    """|C|."""
    curves: pl.DataFrame
    smallest_K: dict[int, int]
    """Code length N of Latom -> the smallest K; ascending."""

    @property
    def shown_N(self) -> int | None:
        """The length of the codebook in the tables: the shortest of more than one atom, where there is one."""
        return min((N for N in self.smallest_K if N > 1), default=min(self.smallest_K, default=None))


def draw(stage: Stage) -> None:
    """Draw every corpus, and all of them in one picture; write the codebook tables."""
    largest = stage.parameters("codes.vocabulary_sizes.largest", int)
    names = stage.parameters("codes.corpora", dict[str, Any])
    corpora = {
        name: _read(stage.models("codes", name, "variants.json"), stage.reports("codes", name, "curves.csv"))
        for name in names
    }
    with atomic_folder(stage.reports("figures", "codes")) as folder:
        drawings: list[Callable[[], None]] = []
        for name, corpus in corpora.items():
            drawings += _curves(corpus, min(_SUMMARY_SIZE, largest), folder / name)
            if corpus.shown_N is None:
                continue
            shown = f"latom-N{corpus.shown_N}-K{corpus.smallest_K[corpus.shown_N]}-seed0"
            code = read_code(stage.models("codes", name, f"{shown}.json"))
            assert isinstance(code, Codebook)
            likelihood = read_table(stage.reports("codebooks", name, "likelihood.csv"))
            drawings.append(partial(draw_likelihood, likelihood, code.facts["length"], folder / name / "likelihood"))
            merges = read_merges(stage.models("code_tokenizers", name, shown))
            drawings.append(partial(_write_tables, code, merges, stage.data("corpora", name), folder / name))
        if corpora:
            curves = {name: corpus.curves for name, corpus in corpora.items()}
            characters = {name: corpus.characters for name, corpus in corpora.items()}
            for name, panel in _OVERVIEWS.items():
                drawings.append(partial(draw_overview, curves, characters, panel, folder / "overview" / name))
        draw_all(drawings)


def _read(variants: Path, curves: Path) -> _Corpus:
    found = read_json(variants)
    latom = [variant for variant in found["learned"] if variant["code"] == "latom" and variant["split"] == "all"]
    lengths = sorted({variant["N"] for variant in latom})
    smallest = {N: min(variant["K"] for variant in latom if variant["N"] == N) for N in lengths}
    return _Corpus(found["characters"], read_table(curves), smallest)


def _curves(corpus: _Corpus, summary_size: int, folder: Path) -> Iterator[Callable[[], None]]:
    """The pictures for which a corpus has data."""
    characters, curves, smallest = corpus
    latom = curves.filter(code="latom", text=TRAINING)
    if smallest:
        yield partial(draw_lengths, curves, "bpe", smallest, characters, folder / "bpe")
    if unigram := sorted(latom.filter(tokenizer="unigram")["N"].unique()):
        of_unigram = {N: smallest[N] for N in unigram}
        yield partial(draw_lengths, curves, "unigram", of_unigram, characters, folder / "unigram")
    if table_codes(curves):
        N = corpus.shown_N
        yield partial(draw_tables, curves, N, smallest.get(N or 0), characters, folder / "tables")
    sizes_of_K = sorted(latom.filter(tokenizer="bpe", N=2)["K"].unique())
    if len(sizes_of_K) > 1:
        yield partial(draw_K_sweep, curves, sizes_of_K, characters, folder / "K-sweep")
        yield partial(draw_K_summary, curves, sizes_of_K, summary_size, folder / "K-sweep-summary")
    if len(curves.filter(pl.col("N").is_not_null(), text="held-out")):
        yield partial(draw_held_out, curves, folder / "held-out")


def _write_tables(code: Codebook, merges: np.ndarray, corpus: Path, folder: Path) -> None:
    """The codebook as a table (Table 3), and the first characters of the corpus cut at growing sizes (Table 4)."""
    characters = character_corpus(document.text for document in read_corpus(corpus))
    ordered = with_table_order(code, characters)
    write_text(folder / "codebook.txt", codebook_text(ordered))
    write_text(folder / "codebook.html", codebook_html(ordered))
    text = next(characters.texts())[:_TRACED_CHARACTERS]
    atoms = np.unique(atom_numbers(code.encode(code.characters)))
    rows = trace_sizes(code, text, atoms, merges, len(code.characters))
    write_json(folder / "trace.json", [row._asdict() for row in rows])


if __name__ == "__main__":
    run(draw)
