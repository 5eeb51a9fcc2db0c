"""Tables of the codes family: the codes of one corpus at several vocabulary sizes, and all corpora at one size."""

from statistics import fmean, stdev
from typing import Any

import polars as pl

from tasks.tables import Table

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
    """All corpora at |C| and at each of the sizes."""
    return [_summary(scores, label, notes) for label in ("C", *map(str, sizes))]


def _summary(scores: pl.DataFrame, label: str, notes: list[str]) -> Table:
    """All corpora at one vocabulary size: BPE, codes of the shortest length with the smallest K."""
    rows = scores.filter(tokenizer="bpe", text="same")
    header = ["corpus", "|C|", "K", *(NAMES[code] for code in _SUMMARISED), "most saved"]
    header += [f"{NAMES[code]}, bits" for code in ("character", *_SUMMARISED)] + ["fewest bits"]
    body = []
    for (corpus, *_), of_corpus in rows.group_by("corpus", maintain_order=True):
        length = of_corpus["N"].drop_nulls().min()
        smallest = of_corpus.filter(N=length)["K"].min()
        groups = {
            code: of_corpus.filter(code=code).filter(
                pl.col("K").is_null() | ((pl.col("N") == length) & (pl.col("K") == smallest))
            )
            for code in ("character", *_SUMMARISED)
        }
        saved = {code: groups[code][f"tokens_saved_{label}"] for code in _SUMMARISED}
        bits = {code: group[f"bits_per_character_{label}"] for code, group in groups.items()}
        parity = groups["character"]["alphabet"].item()
        body.append(
            [
                str(corpus),
                f"{parity:,}",
                str(smallest),
                *map(_signed, saved.values()),
                _best(saved, largest=True),
                *map(_bits, bits.values()),
                _best(bits, largest=False),
            ]
        )
    title = (
        f"All corpora, BPE at {_size(label)}, N = 2: tokens saved against characters, and bits per character; {_SPREAD}"
    )
    return Table(f"codes-summary-{label}", title, header, body, notes)


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
