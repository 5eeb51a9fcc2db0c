"""Tables of the codes family: the codes of one corpus at several vocabulary sizes, and all corpora at one size."""

from statistics import fmean, stdev
from typing import Any

import polars as pl
import yaml

from tasks.tables import PAPERS, Table

NAMES = {
    "character": "characters",
    "byte": "bytes",
    "random": "random",
    "latom": "Latom",
    "latom-refined": "Latom, refined",
    "latom-best": "Latom, best of {restarts}",
    "latom-best-refined": "Latom, best of {restarts}, refined",
    "radical": "radicals",
    "stroke": "strokes",
    "myte": "MYTE",
}
_SUMMARISED = ("latom", "latom-refined", "random", "byte")
_SPREAD = "mean ± sd of the seeds"


def code_tables(scores: pl.DataFrame, facts: dict[str, Any], restarts: int) -> list[Table]:
    """One table for each tokenizer, and one for held-out text, where the corpus has them."""
    tables = []
    for (tokenizer, text), rows in scores.group_by("tokenizer", "text", maintain_order=True):
        where = "held-out text" if text == "unseen" else "the text that they were learned from"
        name = f"codes-{facts['corpus']}-{tokenizer}" + ("-unseen" if text == "unseen" else "")
        parity = rows.filter(code="character")["alphabet"].item()
        title = f"{facts['corpus']}: {tokenizer} on {where}, |C| = {parity:,}; {_SPREAD}"
        tables.append(_corpus_table(name, title, rows, facts["notes"], restarts))
    return tables


def _corpus_table(name: str, title: str, rows: pl.DataFrame, notes: list[str], restarts: int) -> Table:
    labels = [column.removeprefix("tokens_") for column in rows.columns if _is_size(column)]
    labels = [label for label in labels if rows[f"tokens_{label}"].is_not_null().any()]
    header = ["code", "N", "K", "alphabet", "seeds"]
    for label in labels:
        header += [f"saved, {_size(label)}", f"bits/character, {_size(label)}"]
    body = []
    for (code, N, K), group in rows.group_by("code", "N", "K", maintain_order=True):
        alphabet = float(group["alphabet"].mean())  # type: ignore[arg-type]
        cells = [NAMES[str(code)].format(restarts=restarts), _text(N), _text(K), f"{alphabet:.0f}", str(len(group))]
        for label in labels:
            cells += [_signed(group[f"tokens_saved_{label}"]), _bits(group[f"bits_per_character_{label}"])]
        body.append(cells)
    notes = [*notes, "saved: tokens fewer than with plain characters at the same |V|; empty below |C|"]
    return Table(name, title, header, body, notes)


def code_summaries(scores: pl.DataFrame, sizes: list[int], notes: list[str]) -> list[Table]:
    """All corpora at |C| and at each of the sizes: tokens saved, and bits per character."""
    rows = scores.filter(tokenizer="bpe", text="same")
    corpora = {
        str(corpus): _shortest(of_corpus) for (corpus, *_), of_corpus in rows.group_by("corpus", maintain_order=True)
    }
    tables = []
    for label in ("C", *map(str, sizes)):
        tables += [_summary(corpora, label, "saved", notes), _summary(corpora, label, "bits", notes)]
    return [_sizes_table(scores, notes), *tables]


def _shortest(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rows of each summarised code: of the shortest length and the smallest K."""
    N = rows["N"].filter(rows["code"] == "latom").min()
    K = rows.filter(code="latom", N=N)["K"].min()
    shortest = rows.filter(pl.col("code").is_in(["character", "byte"]) | ((pl.col("N") == N) & (pl.col("K") == K)))
    return {code: shortest.filter(code=code) for code in ("character", *_SUMMARISED)}


def _summary(corpora: dict[str, dict[str, pl.DataFrame]], label: str, what: str, notes: list[str]) -> Table:
    saved = what == "saved"
    column = f"tokens_saved_{label}" if saved else f"bits_per_character_{label}"
    codes = _SUMMARISED if saved else ("character", *_SUMMARISED)
    header = ["corpus", "|C|", "K", *(NAMES[code] for code in codes), "best"]
    body = []
    for corpus, groups in corpora.items():
        values = {code: groups[code][column] for code in codes}
        cells = map(_signed if saved else _bits, values.values())
        parity, K = groups["character"]["alphabet"].item(), groups["latom"]["K"][0]
        body.append([corpus, f"{parity:,}", str(K), *cells, _best(values, largest=saved)])
    measured = "tokens saved against characters" if saved else "bits per character"
    title = f"All corpora, BPE at {_size(label)}, N = 2: {measured}; {_SPREAD}"
    return Table(f"codes-{what}-{label}", title, header, body, notes)


def _sizes_table(scores: pl.DataFrame, notes: list[str]) -> Table:
    """Table 2: the smallest K for each code length, beside the paper's for corpora that it has."""
    paper = yaml.safe_load(PAPERS.read_text(encoding="utf-8"))["latom"]["sizes"]
    lengths = sorted(scores["N"].drop_nulls().unique())
    header = ["corpus", "|C|", "paper", *(cell for N in lengths for cell in (f"K, N = {N}", "paper"))]
    body = []
    for (corpus, *_), rows in scores.filter(tokenizer="bpe", text="same").group_by("corpus", maintain_order=True):
        printed = paper.get(corpus, {})
        cells = [str(corpus), f"{rows.filter(code='character')['alphabet'].item():,}", _text(printed.get("characters"))]
        for N in lengths:
            cells += [_text(rows.filter(N=N)["K"].min()), _text(printed.get("K", {}).get(N))]
        body.append(cells)
    return Table("codes-sizes", "Characters, and the smallest K with K^N of at least |C|", header, body, notes)


def _best(values: dict[str, pl.Series], largest: bool) -> str:
    means = {code: float(series.mean()) for code, series in values.items() if series.null_count() < len(series)}  # type: ignore[arg-type]
    if not means:
        return ""
    return NAMES[(max if largest else min)(means, key=lambda code: means[code])]


def _is_size(column: str) -> bool:
    return column.startswith("tokens_") and not column.startswith("tokens_saved")


def _size(label: str) -> str:
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
