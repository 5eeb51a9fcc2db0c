"""Tables of codes: the codes of one corpus at several vocabulary sizes, and all corpora at one size.

They are made from the scores of `evaluate_codes`: one row for each tokenizer, text, code, N, K and seed, and columns
such as `tokens_saved_C` and `tokens_saved_300` for the sizes. Plain characters, which save nothing, are a rival of the
codes: where all lose against them, they are the best.
"""

import re
from collections.abc import Sequence
from statistics import fmean, stdev

import polars as pl
import yaml

from tasks.report.style import code_name
from tasks.report.tables.segmentation_tables import PAPERS
from tasks.report.tables.table import Table
from tasks.report.verdict import ONE_RUN, Spread, kinds, mark, verdict

_SAVED, _BITS = "tokens_saved_{}", "bits_per_character_{}"
"""Columns of scores at a vocabulary size."""

_SUMMARISED = ("latom", "latom-refined", "random", "byte")
_REFINED = {"latom": "latom-refined", "latom-best": "latom-best-refined"}
"""Code -> what its refinement makes of it."""

_SPREAD = "mean ± sd of the seeds"
_NO_VERDICT = f"{ONE_RUN}: the code with the best value was learned or drawn once, so that its spread is unknown"


def code_tables(scores: pl.DataFrame, corpus: str, notes: list[str], restarts: int) -> list[Table]:
    """A table for each tokenizer, and one for held-out text where the corpus has it.

    restarts: of the codebooks called `latom-best`.
    """
    tables = []
    for (tokenizer, text), rows in scores.group_by("tokenizer", "text", maintain_order=True):
        where = "held-out text" if text == "held-out" else "the text that they were learned from"
        name = f"codes-{corpus}-{tokenizer}" + ("-held-out" if text == "held-out" else "")
        parity = rows.filter(code="character")["alphabet"].item()
        title = f"{corpus}: {tokenizer} on {where}, |C| = {parity:,}; {_SPREAD}"
        tables.append(_corpus_table(name, title, rows, notes, restarts))
    return tables


def _corpus_table(name: str, title: str, rows: pl.DataFrame, notes: list[str], restarts: int) -> Table:
    labels = [label for label in size_labels(rows) if rows[f"tokens_{label}"].is_not_null().any()]
    header = ["code", "N", "K", "alphabet", "seeds"]
    for label in labels:
        header += [f"saved, {size_text(label)}", f"bits/character, {size_text(label)}"]
    body = []
    groups = dict(rows.group_by("code", "N", "K", maintain_order=True))
    for (code, N, K), group in groups.items():
        alphabet = float(group["alphabet"].mean())  # type: ignore[arg-type]
        cells = [code_name(str(code), restarts), _text(N), _text(K), f"{alphabet:.0f}", str(len(group))]
        for label in labels:
            cells += [_signed(group[f"tokens_saved_{label}"]), _bits(group[f"bits_per_character_{label}"])]
        body.append(cells)
    for place, label in enumerate(labels):
        for offset, (column, largest) in enumerate(((_SAVED, True), (_BITS, False))):
            spreads = [_spread(group, column.format(label)) for group in groups.values()]
            mark(body, 5 + 2 * place + offset, spreads, largest=largest)
    notes = [*notes, "saved: tokens fewer than with plain characters at the same |V|; empty below |C|"]
    return Table(name, title, header, body, [*notes, *_equal_note(_unimproved(rows, restarts))])


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
    corpora = {
        str(corpus): _shortest(of_corpus) for (corpus, *_), of_corpus in rows.group_by("corpus", maintain_order=True)
    }
    tables = [_sizes_table(rows, sorted(scores["N"].drop_nulls().unique()), notes)]
    for label in ("C", *map(str, sizes)):
        tables += [_summary(corpora, label, "saved", notes), _summary(corpora, label, "bits", notes)]
    return tables


def _shortest(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rows of each summarised code: of the shortest length and the smallest K."""
    N = rows["N"].filter(rows["code"] == "latom").min()
    K = rows.filter(code="latom", N=N)["K"].min()
    shortest = rows.filter(pl.col("code").is_in(["character", "byte"]) | ((pl.col("N") == N) & (pl.col("K") == K)))
    return {code: shortest.filter(code=code) for code in ("character", *_SUMMARISED)}


def _summary(corpora: dict[str, dict[str, pl.DataFrame]], label: str, what: str, notes: list[str]) -> Table:
    saved = what == "saved"
    column = (_SAVED if saved else _BITS).format(label)
    codes = _SUMMARISED if saved else ("character", *_SUMMARISED)
    header = ["corpus", "|C|", "K", *map(code_name, codes), "best"]
    body = []
    for corpus, groups in corpora.items():
        spreads = {code: _spread(groups[code], column) for code in ("character", *_SUMMARISED)}
        parity, K = groups["character"]["alphabet"].item(), groups["latom"]["K"].max()
        cells = [(_signed if saved else _bits)(groups[code][column]) for code in codes]
        marks = dict(zip(spreads, kinds(list(spreads.values()), largest=saved), strict=True))
        marked = [marks[code](cell) for code, cell in zip(codes, cells, strict=True)]
        best = verdict({code_name(code): spread for code, spread in spreads.items()}, largest=saved).text()
        body.append([corpus, f"{parity:,}", _text(K), *marked, best])
    measured = "tokens saved against characters" if saved else "bits per character"
    title = f"All corpora, BPE at {size_text(label)}, N = 2: {measured}; {_SPREAD}"
    verdicts = {row[-1] for row in body}
    zero = ["characters save 0 tokens, and are a rival"] if saved and any(verdicts) else []
    alone = [_NO_VERDICT] if ONE_RUN in verdicts else []
    equal = _equal_note([corpus for corpus, groups in corpora.items() if _unimproved(pl.concat(groups.values()))])
    return Table(f"codes-{what}-{label}", title, header, body, [*notes, *zero, *alone, *equal])


def _sizes_table(scores: pl.DataFrame, lengths: list[int], notes: list[str]) -> Table:
    """Table 2: the smallest K for each code length, beside the paper's where it has the corpus."""
    paper = yaml.safe_load(PAPERS.read_text(encoding="utf-8"))["latom"]["sizes"]
    header = ["corpus", "|C|", "paper", *(cell for N in lengths for cell in (f"K, N = {N}", "paper"))]
    body = []
    for (corpus, *_), rows in scores.group_by("corpus", maintain_order=True):
        printed = paper.get(corpus, {})
        cells = [str(corpus), f"{rows.filter(code='character')['alphabet'].item():,}", _text(printed.get("characters"))]
        for N in lengths:
            cells += [_text(rows.filter(N=N)["K"].min()), _text(printed.get("K", {}).get(N))]
        body.append(cells)
    return Table("codes-sizes", "Characters, and the smallest K with K^N of at least |C|", header, body, notes)


def size_labels(scores: pl.DataFrame) -> list[str]:
    """The vocabulary sizes that the columns name: `C` for |C|, and numbers."""
    return [found[1] for column in scores.columns if (found := re.fullmatch(r"tokens_(C|\d+)", column))]


def size_text(label: str) -> str:
    """A label of a vocabulary size as tables show it."""
    return "|V| = |C|" if label == "C" else f"|V| = {int(label):,}"


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _signed(values: pl.Series) -> str:
    return _mean(values, "{:+,.0f}", "{:,.0f}")


def _bits(values: pl.Series) -> str:
    return _mean(values, "{:.3f}", "{:.3f}")


def _mean(values: pl.Series, form: str, form_of_spread: str) -> str:
    known: list[float] = values.drop_nulls().to_list()
    if not known:
        return ""
    return form.format(fmean(known)) + (f" ± {form_of_spread.format(stdev(known))}" if len(known) > 1 else "")
