"""The codes family: tables of the codes of one corpus at several vocabulary sizes, and of all corpora at one size; then
figures 2 to 16 of the Latom paper, its codebook tables and tokens at growing sizes, and the likelihoods of its HMMs.

Tables are made from the scores of `evaluate_codes`: one row for each tokenizer, text, code, N, K and seed, and columns
such as `tokens_saved_C` and `tokens_saved_300` for the sizes. Plain characters, which save nothing, are a rival of the
codes: where all lose against them, they are the best.

Pictures take `curves`, one row for each tokenizer, text, code, N, K and vocabulary size: means over the seeds, and
standard deviations in the columns `*_sd` (`tasks.codes.evaluate`). Codes with a length N are learned or drawn at
random; codes without one, beside characters and bytes, come from tables.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex

from tasks.codes.encoded import read_merges
from tasks.codes.evaluate import HELD_OUT, TRAINING
from tasks.codes.splits import read_characters
from tasks.codes.variants import LATOM, read_variants
from tasks.report.inputs import all_generated, corpus_facts, pictures, read_table, tables_of
from tasks.report.measures import SHARES, metric_columns
from tasks.report.plot import THOUSANDS, curve, grid, log_where_needed, panels, save, whole_numbers
from tasks.report.style import ACCENT, INK, LENGTH_COLOURS, SECOND, Line, code_lines, code_name, line_colours
from tasks.report.table import Column, Results, Table, read_paper, tabulate
from tasks.report.verdict import ONE_RUN, Spread, kinds, verdict
from tasks.runtime.stage import Stage, read_json, write_json
from tokenlab.codes.codebook import Codebook
from tokenlab.codes.interface import atom_numbers, names_of, shown
from tokenlab.codes.registry import read_code
from tokenlab.codes.table import codebook_html, codebook_text, with_table_order
from tokenlab.core.files import write_text
from tokenlab.metrics.registry import TOKENIZATION, Metric
from tokenlab.tokenizers.merges import token_widths, tokenize

_SAVED, _BITS = "tokens_saved_{}", "bits_per_character_{}"
"""Columns of scores at a vocabulary size."""

_SUMMARISED = ("latom", "latom-refined", "random", "byte")
_REFINED = {"latom": "latom-refined", "latom-best": "latom-best-refined"}
"""Code -> what its refinement makes of it."""

_DISTINCT = Column("|C|", "alphabet", "{:,}", where={"code": "character"})
_SPREAD = "mean ± sd of the seeds"
_NO_VERDICT = f"{ONE_RUN}: the code with the best value was learned or drawn once, so that its spread is unknown"


def code_results(stage: Stage) -> Results:
    """Read the results of a preset."""
    of_corpora = tables_of(stage, "codes.corpora", "codes", "scores.parquet")
    corpora = [_corpus(stage, name, scores) for name, scores in of_corpora.items()]
    summaries = []
    if corpora:
        scores = pl.concat([corpus["scores"] for corpus in corpora], how="diagonal")
        # The corpora's own notes are not repeated, but that all text is generated is.
        generated = all_generated(corpus["facts"] for corpus in corpora)
        notes = corpora[0]["facts"]["notes"] if generated else []
        summaries = code_summaries(scores, stage.parameters("codes.vocabulary_sizes.reported", list[int]), notes)
    main = [table for table in summaries if table.name.endswith("-C")]
    others = [table for table in summaries if table not in main]
    others += [table for corpus in corpora for table in corpus["tables"]]
    drawn = pictures(stage.reports("figures", "codes", "overview"))
    overviews = [drawn[name] for name in ("tokens", "perplexity", "bits") if name in drawn]
    return Results(main, others, {"corpora": corpora, "summaries": summaries, "overviews": overviews})


def _corpus(stage: Stage, name: str, scores: pl.DataFrame) -> dict[str, Any]:
    """The section of a corpus with codes."""
    facts = corpus_facts(stage, name)
    figures = stage.reports("figures", "codes", name)
    restarts = (stage.sections["codes"]["corpora"][name].get("codebooks") or {}).get("restarts", 1)
    codebook = figures / "codebook.html"
    trace = read_json(figures / "trace.json") if codebook.exists() else []
    rows = [[row["text"], str(row["vocabulary"]), str(row["tokens"])] for row in trace]
    return {
        "facts": facts,
        "distinct": scores.filter(code="character", text="training")["alphabet"][0],
        "scores": scores,
        "tables": code_tables(scores, name, facts["notes"], restarts),
        "metrics": code_metrics(scores, name, TOKENIZATION, restarts),
        "pictures": pictures(figures),
        "codebook": codebook.read_text(encoding="utf-8") if codebook.exists() else None,
        "trace": Table("trace", "", ["text", "|V|", "tokens"], rows, []),
    }


def code_tables(scores: pl.DataFrame, corpus: str, notes: list[str], restarts: int) -> list[Table]:
    """A table for each tokenizer, and one for held-out text where the corpus has it.

    restarts: of the codebooks called `latom-best`.
    """
    tables = []
    for (tokenizer, text), rows in scores.group_by("tokenizer", "text", maintain_order=True):
        where = "held-out text" if text == "held-out" else "the text that they were learned from"
        columns = [
            Column("code", "code", partial(code_name, restarts=restarts)),
            Column("N", "N"),
            Column("K", "K"),
            Column("alphabet", "alphabet", "{:.0f}"),
            Column("seeds", len),
        ]
        for label in size_labels(rows):
            if rows[f"tokens_{label}"].is_not_null().any():
                columns += [
                    _at_size(f"saved, {size_text(label)}", _SAVED.format(label), saved=True),
                    _at_size(f"bits/character, {size_text(label)}", _BITS.format(label), saved=False),
                ]
        of_table = [
            *notes,
            "saved: tokens fewer than with plain characters at the same |V|; empty below |C|",
            *_equal_note(_unimproved(rows, restarts)),
        ]
        name = f"codes-{corpus}-{tokenizer}" + ("-held-out" if text == "held-out" else "")
        parity = rows.filter(code="character")["alphabet"].item()
        title = f"{corpus}: {tokenizer} on {where}, |C| = {parity:,}; {_SPREAD}"
        tables.append(tabulate(name, title, rows, columns, key=["code", "N", "K"], notes=of_table))
    return tables


def _at_size(heading: str, column: str, *, saved: bool) -> Column:
    """Tokens saved, or bits per character, at a vocabulary size."""
    form = "{:+,.0f}" if saved else "{:.3f}"
    judged = partial(_spread, column=column)
    return Column(heading, column, form, spread=True, best="largest" if saved else "smallest", judged=judged)


def _spread(rows: pl.DataFrame, column: str) -> Spread | None:
    """The values of one code. Codes that are learned or drawn have seeds; bytes and tables of characters have none."""
    return Spread.of(rows[column], by_chance=rows["seed"].null_count() < len(rows))


def _unimproved(rows: pl.DataFrame, restarts: int = 1) -> list[str]:
    """The codes whose refinement gives the same tokens at every size, whatever the seed."""
    found = []
    tokens = [f"tokens_{label}" for label in size_labels(rows)]
    for (N, K), of_shape in rows.group_by("N", "K", maintain_order=True):
        for code, refined in _REFINED.items():
            one, other = (of_shape.filter(code=name).sort("seed").select("seed", *tokens) for name in (code, refined))
            if len(one) and one.equals(other):
                found.append(f"{code_name(code, restarts)}, N = {N}, K = {K}")
    return found


def _equal_note(found: Sequence[str]) -> list[str]:
    return [f"equal with and without refinement (nothing was found to improve): {'; '.join(found)}"] if found else []


def code_summaries(scores: pl.DataFrame, sizes: list[int], notes: list[str]) -> list[Table]:
    """All corpora: |C| and the smallest K; then tokens saved and bits per character at |C| and at each of the sizes."""
    rows = scores.filter(tokenizer="bpe", text="training")
    shortest = pl.concat([_shortest(of_corpus) for _, of_corpus in rows.group_by("corpus", maintain_order=True)])
    tables = [_sizes_table(rows, sorted(scores["N"].drop_nulls().unique()), notes)]
    for label in ("C", *map(str, sizes)):
        tables += [_summary(shortest, label, saved, notes) for saved in (True, False)]
    return tables


def _shortest(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of the summarised codes: of the shortest length and the smallest K."""
    N = rows["N"].filter(rows["code"] == "latom").min()
    K = rows.filter(code="latom", N=N)["K"].min()
    shortest = rows.filter(pl.col("code").is_in(["character", "byte"]) | ((pl.col("N") == N) & (pl.col("K") == K)))
    return shortest.filter(pl.col("code").is_in(["character", *_SUMMARISED]))


def _summary(scores: pl.DataFrame, label: str, saved: bool, notes: list[str]) -> Table:
    """A row for each corpus, in which the codes are rivals; so are characters, which save nothing."""
    column = (_SAVED if saved else _BITS).format(label)
    rivals = ("character", *_SUMMARISED)

    def spreads(rows: pl.DataFrame) -> dict[str, Spread | None]:
        return {code: _spread(rows.filter(code=code), column) for code in rivals}

    def cell(rows: pl.DataFrame, code: str) -> str:
        marks = dict(zip(rivals, kinds(list(spreads(rows).values()), largest=saved), strict=True))
        return marks[code](_at_size("", column, saved=saved).cell(rows.filter(code=code)))

    def best(rows: pl.DataFrame) -> str:
        return verdict({code_name(code): spread for code, spread in spreads(rows).items()}, largest=saved).text()

    columns = [
        Column("corpus", "corpus"),
        _DISTINCT,
        Column("K", lambda rows: rows["K"].max(), where={"code": "latom"}),
        *(Column(code_name(code), partial(cell, code=code)) for code in (_SUMMARISED if saved else rivals)),
        Column("best", best, result=True),
    ]
    measured = "tokens saved against characters" if saved else "bits per character"
    title = f"All corpora, BPE at {size_text(label)}, N = 2: {measured}; {_SPREAD}"
    table = tabulate(f"codes-{'saved' if saved else 'bits'}-{label}", title, scores, columns, key=["corpus"])
    verdicts = {row[-1] for row in table.rows}
    zero = ["characters save 0 tokens, and are a rival"] if saved and any(verdicts) else []
    alone = [_NO_VERDICT] if ONE_RUN in verdicts else []
    equal = [name for (name,), rows in scores.group_by("corpus", maintain_order=True) if _unimproved(rows)]
    return table._replace(notes=[*notes, *zero, *alone, *_equal_note([str(name) for name in equal])])


def _sizes_table(scores: pl.DataFrame, lengths: list[int], notes: list[str]) -> Table:
    """Table 2: the smallest K for each code length, beside the paper's where it has the corpus."""
    paper = read_paper("latom")["sizes"]

    def printed(rows: pl.DataFrame, N: int | None = None) -> int | None:
        of_corpus = paper.get(rows["corpus"][0], {})
        return of_corpus.get("characters") if N is None else of_corpus.get("K", {}).get(N)

    columns = [Column("corpus", "corpus"), _DISTINCT, Column("paper |C|", printed)]
    for N in lengths:
        columns += [smallest_K(N), Column(f"paper K, N = {N}", partial(printed, N=N))]
    title = "Characters, and the smallest K with K^N of at least |C|"
    return tabulate("codes-sizes", title, scores, columns, key=["corpus"], notes=notes)


def smallest_K(N: int) -> Column:
    """The smallest K for a code length."""
    return Column(f"K, N = {N}", lambda rows: rows["K"].min(), where={"N": N}, result=True)


def code_metrics(scores: pl.DataFrame, corpus: str, metrics: Sequence[Metric], restarts: int) -> Table | None:
    """A row for each tokenizer, text, code, N, K and vocabulary size, means over the seeds, a column for each metric;
    None where none has a value."""
    key = ["tokenizer", "text", "code", "N", "K"]
    of_sizes = []
    for label in size_labels(scores):
        of_size = {metric.name: f"{metric.name}_{label}" for metric in metrics if f"{metric.name}_{label}" in scores}
        of_sizes.append(scores.select(*key, pl.lit(label).alias("size"), **of_size))
    rows = pl.concat(of_sizes, how="diagonal_relaxed") if of_sizes else scores
    if not (of_metrics := metric_columns(rows, metrics)):
        return None
    columns = [
        Column("code", "code", partial(code_name, restarts=restarts)),
        *(Column(name, name) for name in ("N", "K", "tokenizer", "text")),
        Column("size", "size", size_text),
        *of_metrics,
    ]
    title = f"{corpus}: all metrics, means over the seeds"
    table = tabulate(
        f"metrics-codes-{corpus}", title, rows, columns, key=[*key, "size"], within=len(key), notes=[SHARES]
    )
    return table._replace(rows=[row for row in table.rows if any(row[-len(of_metrics) :])])


def size_labels(scores: pl.DataFrame) -> list[str]:
    """The vocabulary sizes that the columns name: `C` for |C|, and numbers."""
    return [found[1] for column in scores.columns if (found := re.fullmatch(r"tokens_(C|\d+)", column))]


def size_text(label: str) -> str:
    """A label of a vocabulary size as tables show it: `C` or `characters` for |C|, or a number."""
    return "|V| = |C|" if label in ("C", "characters") else f"|V| = {int(label):,}"


class Panel(NamedTuple):
    """What a row of panels shows: a column of the curves, its name, and whether zero stands for plain characters."""

    column: str
    label: str
    difference: bool = True


TOKENS = Panel("tokens_saved", "tokens saved")
PERPLEXITY = Panel("perplexity_saved", "perplexity saved")
BITS = Panel("bits_per_character_saved", "bits/character saved")
_OVERVIEWS = {"tokens": TOKENS, "perplexity": PERPLEXITY, "bits": BITS}
_ABSOLUTE = [
    Panel(name, name.replace("_", " "), difference=False) for name in ("tokens", "perplexity", "bits_per_character")
]
_SIZE, _PARITY = "vocabulary size", "|V| = |C|"
_LEARNED = ("random", "latom", "latom-refined")
_BASELINES = ("character", "byte")
_SELECTED = ("latom-best", "latom-best-refined")
"""The best of several restarts is in the tables only."""
_SEED_STYLES = ("-", "--", ":", "-.")
_ramp = LinearSegmentedColormap.from_list("K", [SECOND, ACCENT])
_TRACED_CHARACTERS, _TRACED_SIZES = 54, 6
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


def code_figures(stage: Stage, folder: Path) -> Iterator[Callable[[], None]]:
    """Drawings of every corpus, of all of them in one picture, and of the codebook tables."""
    largest = stage.parameters("codes.vocabulary_sizes.largest", int)
    of_corpora = tables_of(stage, "codes.corpora", "codes", "curves.csv")
    corpora = {name: _read(stage.models("codes", name), curves) for name, curves in of_corpora.items()}
    for name, corpus in corpora.items():
        yield from _curves(corpus, min(_SUMMARY_SIZE, largest), folder / name)
        if corpus.shown_N is None:
            continue
        variant = f"latom-N{corpus.shown_N}-K{corpus.smallest_K[corpus.shown_N]}-seed0"
        code = read_code(stage.models("codes", name, f"{variant}.json"))
        assert isinstance(code, Codebook)
        likelihood = read_table(stage.reports("codebooks", name, "likelihood.csv"))
        yield partial(draw_likelihood, likelihood, code.facts["length"], folder / name / "likelihood")
        merges = read_merges(stage.models("code_tokenizers", name, variant))
        yield partial(_write_tables, code, merges, stage.data("corpora", name), folder / name)
    for name, panel in _OVERVIEWS.items() if corpora else ():
        yield partial(draw_overview, corpora, panel, folder / "overview" / name)


def _read(codes: Path, curves: pl.DataFrame) -> _Corpus:
    found = read_variants(codes)
    latom = [variant for variant in found.learned if variant.code == LATOM and variant.split == "all"]
    smallest: dict[int, int] = {}
    for variant in latom:
        assert variant.N is not None and variant.K is not None  # Every codebook of Latom has both.
        smallest[variant.N] = min(variant.K, smallest.get(variant.N, variant.K))
    return _Corpus(found.characters, curves, dict(sorted(smallest.items())))


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
    if len(curves.filter(pl.col("N").is_not_null(), text=HELD_OUT)):
        yield partial(draw_held_out, curves, folder / "held-out")


def _write_tables(code: Codebook, merges: np.ndarray, corpus: Path, folder: Path) -> None:
    """The codebook as a table (Table 3), and the first characters of the corpus cut at growing sizes (Table 4)."""
    characters = read_characters(corpus)
    ordered = with_table_order(code, characters)
    write_text(folder / "codebook.txt", codebook_text(ordered))
    write_text(folder / "codebook.html", codebook_html(ordered))
    text = next(characters.texts())[:_TRACED_CHARACTERS]
    write_json(folder / "trace.json", trace_sizes(code, text, merges))


def trace_sizes(code: Codebook, text: str, merges: np.ndarray) -> list[dict[str, Any]]:
    """A text cut by BPE at vocabulary sizes from the alphabet to |C|: the rows of Table 4, with the tokens as text.

    Args:
        text: characters of the codebook.
        merges: int32[merges, 2] of `bpe_sweep` over its atoms.
    """
    atoms, largest = np.unique(atom_numbers(code.encode(code.characters))), len(code.characters)
    encoded = code.encode(text)
    symbols = np.searchsorted(atoms, atom_numbers(encoded)).astype(np.int32)
    offsets = np.array([0, len(symbols)])
    alphabet = len(atoms)
    widths = token_widths(alphabet, merges)
    rows = []
    for size in sorted({round(size) for size in np.linspace(alphabet, max(largest, alphabet), _TRACED_SIZES)}):
        tokens = tokenize(symbols, offsets, alphabet, merges[: size - alphabet])[0]
        spans = pairwise([0, *widths[tokens].cumsum().tolist()])
        text = " ".join(_token(code, encoded, start, end) for start, end in spans)
        rows.append({"vocabulary": size, "tokens": len(tokens), "text": text})
    return rows


def _token(code: Codebook, encoded: str, start: int, end: int) -> str:
    """A token: whole characters as themselves (a space as ␣), and atoms of a character that it holds only in part as
    ⟨a2⟩. encoded: atoms of whole characters, without byte escapes."""
    pieces, position, names = [], start, names_of(code)
    while position < end:
        if position % code.N == 0 and position + code.N <= end:
            character = code.decode(encoded[position : position + code.N])
            pieces.append("␣" if character == " " else shown(character))
            position += code.N
        else:
            pieces.append(f"⟨{names[encoded[position]]}⟩")
            position += 1
    return "".join(pieces)


def draw_lengths(curves: pl.DataFrame, tokenizer: str, smallest_K: dict[int, int], characters: int, path: Path) -> None:
    """Figures 2 to 5, 9 to 12: tokens, perplexity and bits over vocabulary sizes, a column for each code length.

    Args:
        smallest_K: code length N -> K.
        characters: the number of distinct characters, |C|.
    """
    size = (1.2 + 3.1 * len(smallest_K), 7.6)
    figure, found = grid(3, len(smallest_K), size, sharex=True, sharey="row")
    rows = curves.filter(tokenizer=tokenizer, text=TRAINING)
    for panel, row in zip(_panels(rows), found, strict=True):
        for (N, K), axes in zip(smallest_K.items(), row, strict=True):
            _baselines(axes, rows, panel, characters)
            _learned(axes, rows, panel, N=N, K=K)
        row[0].set_ylabel(panel.label)
        _finish(row, panel)
    for (N, K), top, bottom in zip(smallest_K.items(), found[0], found[-1], strict=True):
        top.set_title(f"N = {N}, K = {K}")
        bottom.set_xlabel(_SIZE)
    save(figure, path, legend=4)


def table_codes(curves: pl.DataFrame) -> list[str]:
    """The codes that come from tables."""
    codes = curves.filter(pl.col("N").is_null())["code"].unique(maintain_order=True)
    return [code for code in codes if code not in _BASELINES]


def draw_tables(curves: pl.DataFrame, N: int | None, K: int | None, characters: int, path: Path) -> None:
    """Figures 13 and 14: codes that come from tables, beside the learned ones of length N."""
    figure, (row,) = grid(1, 3, (11, 3.9))
    rows = curves.filter(tokenizer="bpe", text=TRAINING)
    for axes, panel in zip(row, _panels(rows), strict=True):
        _baselines(axes, rows, panel, characters)
        for code, line in code_lines(table_codes(curves)).items():
            _curve(axes, rows, panel, code, line)
        if N is not None:
            _learned(axes, rows, panel, N=N, K=K)
        axes.set(xlabel=_SIZE, ylabel=panel.label)
        _finish([axes], panel)
    save(figure, path, legend=4)


def draw_K_sweep(curves: pl.DataFrame, sizes_of_K: Sequence[int], characters: int, path: Path) -> None:
    """Figures 6 and 7: Latom with N = 2 and more atoms than needed."""
    figure, (row,) = grid(1, 2, (9, 3.9))
    rows = curves.filter(tokenizer="bpe", text=TRAINING, N=2)
    for axes, panel in zip(row, (TOKENS, PERPLEXITY), strict=True):
        _zero(axes, panel, characters)
        for place, K in enumerate(sizes_of_K):
            colour = to_hex(_ramp(place / max(1, len(sizes_of_K) - 1)))
            _curve(axes, rows.filter(K=K), panel, "latom", Line(f"K = {K}", colour))
        axes.set(xlabel=_SIZE, ylabel=panel.label)
        _finish([axes], panel)
    save(figure, path, legend=4)


def draw_K_summary(curves: pl.DataFrame, sizes_of_K: Sequence[int], vocabulary: int, path: Path) -> None:
    """Figure 8: token count and bigram perplexity over K at one vocabulary size."""
    at = curves.filter(pl.col("vocabulary") == vocabulary, tokenizer="bpe", text=TRAINING, N=2)
    figure, (row,) = grid(1, 2, (9, 3.7))
    measures = {"tokens": f"tokens at |V| = {vocabulary:,}", "perplexity": f"bigram perplexity at |V| = {vocabulary:,}"}
    for axes, (column, name) in zip(row, measures.items(), strict=True):
        for place, (code, line) in enumerate(code_lines(_LEARNED).items(), -1):
            points = at.filter(pl.col("K").is_in(sizes_of_K), code=code).sort("K")
            if points.is_empty():
                continue
            spread = points[f"{column}_sd"].fill_null(0).to_numpy()
            style: dict[str, Any] = {"color": line.colour, "label": line.label, "marker": "o", "markersize": 3.5}
            beside = points["K"] + 0.012 * place * (max(sizes_of_K) - min(sizes_of_K))
            axes.errorbar(beside, points[column], spread, capsize=3, **style)
        axes.set(xlabel="K", ylabel=name)
        axes.set_xticks(sizes_of_K)
    row[0].yaxis.set_major_formatter(THOUSANDS)
    save(figure, path, legend=4)


def draw_held_out(curves: pl.DataFrame, path: Path) -> None:
    """Figures 15 and 16: tokenizers of the training split applied to held-out text."""
    rows = curves.filter(tokenizer="bpe", text=HELD_OUT)
    lengths = sorted(rows["N"].drop_nulls().unique())
    figure, found = grid(2, len(lengths), (1.2 + 3.6 * len(lengths), 6), sharey="row")
    byte = code_lines(["byte"])["byte"]
    for row, panel in zip(found, (TOKENS, PERPLEXITY), strict=True):
        for axes, N in zip(row, lengths, strict=True):
            _scale(axes, panel)
            _curve(axes, rows, panel, "byte", byte, marker="o")
            _learned(axes, rows, panel, marker="o", N=N)
            axes.set(xlabel=_SIZE, title=f"N = {N}")
        row[0].set_ylabel(panel.label)
        _finish(row, panel)
    save(figure, path, legend=4)


def draw_overview(corpora: dict[str, _Corpus], panel: Panel, path: Path) -> None:
    """Figures 9 to 12 at a glance: every corpus, BPE, the learned and random codes of length 2, and bytes."""
    figure, found = panels(corpora, 4, (3, 2.6), (_SIZE, panel.label))
    for (characters, curves, _), axes in zip(corpora.values(), found.values(), strict=True):
        rows = curves.filter(tokenizer="bpe", text=TRAINING)
        _baselines(axes, rows, panel, characters)
        _learned(axes, rows, panel, N=2, K=rows.filter(N=2)["K"].min())
        _finish([axes], panel)
        whole_numbers(axes, 3)
    save(figure, path, legend=5)


def draw_likelihood(table: pl.DataFrame, characters: int, path: Path) -> None:
    """Log-likelihood of the HMM before each iteration and after the last, in nats per character: a panel for each N, a
    colour for each K, a style for each seed.

    Args:
        table: columns N, K, seed, iteration, log_likelihood (nats, of the whole text).
        characters: the length of the text.
    """
    lengths = table["N"].unique().sort().to_list()
    labels = "iteration of EM", "log-likelihood, nats per character"
    figure, found = panels([f"N = {N}" for N in lengths], len(lengths), (3.4, 2.8), labels)
    styles = dict(zip(table["seed"].unique().sort(), cycle(_SEED_STYLES), strict=False))
    colours = line_colours(table["K"].unique().sort().to_list(), LENGTH_COLOURS)
    for axes, N in zip(found.values(), lengths, strict=True):
        for (K, seed), line in table.filter(N=N).group_by("K", "seed", maintain_order=True):
            style: dict[str, Any] = {"color": colours[K], "linestyle": styles[seed], "linewidth": 1.2}
            axes.plot(line["iteration"], line["log_likelihood"] / characters, label=f"K = {K}, seed {seed}", **style)
        whole_numbers(axes)
    save(figure, path, legend=4)


def _panels(rows: pl.DataFrame) -> list[Panel]:
    """Differences to characters, unless these have a tokenizer of one size only because all others are below |C|."""
    return list(_OVERVIEWS.values()) if len(rows.filter(code="character")) > 1 else _ABSOLUTE


def _baselines(axes: Axes, rows: pl.DataFrame, panel: Panel, characters: int) -> None:
    _zero(axes, panel, characters)
    for code, line in code_lines(["byte"] if panel.difference else _BASELINES).items():
        _curve(axes, rows, panel, code, line)


def _learned(axes: Axes, rows: pl.DataFrame, panel: Panel, marker: str | None = None, **shape: Any) -> None:
    """The codes with a length N: random, Latom, refined, and other kinds in their order."""
    found = rows.filter(pl.col("N").is_not_null())["code"].unique(maintain_order=True)
    codes = [*_LEARNED, *(code for code in found if code not in (*_LEARNED, *_SELECTED))]
    for code, line in code_lines(codes).items():
        _curve(axes, rows.filter(**shape), panel, code, line, marker)


def _zero(axes: Axes, panel: Panel, characters: int) -> None:
    _scale(axes, panel)
    axes.axvline(characters, color=INK, linewidth=0.8, linestyle=":", label=_PARITY)


def _scale(axes: Axes, panel: Panel) -> None:
    if panel.difference:
        axes.axhline(0, color=INK, linewidth=0.8, label="zero: characters")


def _finish(found: Sequence[Axes], panel: Panel) -> None:
    """Axes of panels that share the vertical one: whole sizes; a logarithmic scale for large differences near |C|."""
    for axes in found:
        whole_numbers(axes)
        if panel.column.startswith("tokens"):
            axes.yaxis.set_major_formatter(THOUSANDS)
    if panel.difference:
        log_where_needed(found)


def _curve(axes: Axes, rows: pl.DataFrame, panel: Panel, code: str, line: Line, marker: str | None = None) -> None:
    """The mean of the seeds of a code, and a band of one standard deviation."""
    known = rows.filter(pl.col(panel.column).is_not_null(), code=code).sort("vocabulary")
    if len(known):
        style: dict[str, Any] = {"color": line.colour, "label": line.label, "linewidth": 1.3, "markersize": 3}
        style |= {"marker": marker} if marker else {}
        mean, spread = known[panel.column], known[f"{panel.column}_sd"]
        curve(axes, known["vocabulary"], mean, line.style, spread=spread, **style)
