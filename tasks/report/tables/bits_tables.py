"""Tables of bit-level codes: what they save over byte fallback, the entropy of their tokens, and splits of the 24 bits.

They are made from the tables of `bits_length`. Of lengths: one row for each corpus, base vocabulary, code, mode,
prefixes and emission. Of the search: one row for each corpus, split, policy and set of prefixes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import yaml

from tasks.report.tables.segmentation_tables import PAPERS
from tasks.report.tables.table import Table
from tasks.report.verdict import Spread, kinds

CHARACTERS = "characters"
"""The base vocabularies that hold the most frequent characters of the corpus and nothing else."""

EMISSIONS = {"run": "every run", "change": "changes"}
"""Emission -> the places of prefixes: every run, or changes alone."""

_LOSSLESS = {"code": "bits", "mode": "lossless"}
_VARIANTS = {(3, "run"): "3 prefixes", (4, "run"): "4 prefixes", (4, "change"): "4, on change"}
"""Prefixes and emission of the codes in tables -> their names."""

_OTHER_CODES = {"bytes": "byte fallback", "script": "SCRIPT", "characters": "characters"}
_CHOSEN = "measured on every second text; prefixes: all, or those that save tokens in the other texts"
_OWN_TEXT = "paper: another text and another vocabulary"
_LIMITS = (16, 259, 1024)
"""Added tokens of the splits in the short table; 259 is what the paper adds, though half of them can never occur."""

_BEST_LAST = (pl.col("saved"), -pl.col("added"), pl.col("renyi"))
"""Of equally short splits that with the fewest added tokens is better, then the most efficient."""

_SPLIT_HEADER = ["split", "prefixes", "written", "tokens added", "saved %", "H", "Rényi % of |V|"]


def savings_table(lengths: pl.DataFrame, notes: Sequence[str]) -> Table | None:
    """Tokens saved with the most frequent characters in the vocabulary, a row for each corpus; None without rows."""
    rows = lengths.filter(**_LOSSLESS, base=CHARACTERS)
    if rows.is_empty():
        return None
    known = rows["known"].unique().sort().to_list()
    paper = yaml.safe_load(PAPERS.read_text(encoding="utf-8"))["bit_level_bpe"]["shorter"]
    printed = any(corpus in paper for corpus in rows["corpus"])
    cells = []
    for (corpus,), of_corpus in rows.group_by("corpus", maintain_order=True):
        saved = [" / ".join(_variants(of_corpus.filter(known=number), "saved", "{:.1f}", 100)) for number in known]
        beside = [f"{paper[corpus]:g}" if corpus in paper else ""] if printed else []
        cells.append([str(corpus), *beside, *saved, _text(of_corpus["resets"].max(), "{:,}")])
    header = ["corpus", *(["paper"] if printed else []), *(f"{number:,} known" for number in known), "resets"]
    title = "Tokens saved over byte fallback in per cent: three / four prefixes / four, on change alone"
    return Table("bits-savings", title, header, cells, [*notes, *([_OWN_TEXT] if printed else [])])


def _variants(rows: pl.DataFrame, column: str, form: str, scale: float = 1) -> list[str]:
    """A value of one corpus and base under each of the variants."""
    values = [_only(rows.filter(prefixes=prefixes, emission=emission), column) for prefixes, emission in _VARIANTS]
    return [_text(None if value is None else scale * value, form) for value in values]


def _marked_variants(rows: pl.DataFrame) -> list[str]:
    """Tokens saved under each of the variants, in per cent; counted without chance, so that any lead is one."""
    found = [_only(rows.filter(prefixes=prefixes, emission=emission), "saved") for prefixes, emission in _VARIANTS]
    leading = kinds([None if share is None else Spread(share, 0.0) for share in found])
    cells = _variants(rows, "saved", "{:.2f}", 100)
    return [kind(cell) for kind, cell in zip(leading, cells, strict=True)]


def tokenizers_table(lengths: pl.DataFrame, notes: Sequence[str]) -> Table | None:
    """Tokens saved over the byte fallback of trained and published tokenizers; None without any."""
    rows = lengths.filter(pl.col("base") != CHARACTERS, **_LOSSLESS)
    if rows.is_empty():
        return None
    cells = []
    for (corpus, base), of_base in rows.group_by("corpus", "base", maintain_order=True):
        bytes_alone = lengths.filter(corpus=corpus, base=base, code="bytes").row(0, named=True)
        cells.append(
            [
                str(corpus),
                str(base),
                _text(bytes_alone["vocabulary"], "{:,}"),
                _text(bytes_alone["tokens"] / bytes_alone["characters"], "{:.3f}"),
                _percent_of(bytes_alone["fallback_characters"], 2),
                *_marked_variants(of_base),
                _text(of_base["resets"].max(), "{:,}"),
            ]
        )
    header = ["corpus", "tokenizer", "|V|", "tokens/character", "fallen back %"]
    header += [*(f"{variant}, %" for variant in _VARIANTS.values()), "resets"]
    return Table(
        "bits-tokenizers", "Over tokenizers: tokens saved over their byte fallback", header, cells, list(notes)
    )


def entropy_table(lengths: pl.DataFrame, notes: Sequence[str]) -> Table | None:
    """Entropy of bytes, of prefixes at every run, and of prefixes on change alone; None without rows."""
    rows = lengths.filter(pl.col("base") == CHARACTERS)
    if rows.is_empty():
        return None
    cells = []
    for (corpus, known), of_known in rows.group_by("corpus", "known", maintain_order=True):
        bits = of_known.filter(**_LOSSLESS, prefixes=4)
        codes = [of_known.filter(code="bytes"), *(bits.filter(emission=emission) for emission in EMISSIONS)]
        cells.append(
            [
                str(corpus),
                f"{known:,}",
                " / ".join(_text(_only(code, "entropy"), "{:.2f}") for code in codes),
                *(" / ".join(_percent(code, f"renyi_{of}") for code in codes) for of in ("nominal", "observed")),
                " / ".join(_text(_bits_per_character(code), "{:.2f}") for code in codes),
            ]
        )
    alpha = f"alpha = {rows['alpha'][0]:g}"
    header = [
        "corpus",
        "known",
        "H, bits per token",
        f"Rényi, {alpha}, % of |V|",
        "% of the used",
        "bits per character",
    ]
    title = "Entropy of single tokens: byte fallback / four prefixes at every run / on change alone"
    return Table("bits-entropy", title, header, cells, list(notes))


def comparison_table(lengths: pl.DataFrame, notes: Sequence[str]) -> Table | None:
    """Bytes, bit-level codes and SCRIPT where no character is a token, and characters; None without rows."""
    bottom = lengths.filter(pl.col("base") == CHARACTERS, known=0)
    bits = bottom.filter(**_LOSSLESS)
    columns = {"bytes": bottom.filter(code="bytes")}
    columns |= {name: bits.filter(prefixes=some, emission=emission) for (some, emission), name in _VARIANTS.items()}
    columns |= {"SCRIPT": lengths.filter(code="script"), "characters": lengths.filter(code="characters")}
    if bottom.is_empty():
        return None
    cells = []
    for corpus in lengths["corpus"].unique(maintain_order=True):
        of_columns = [rows.filter(corpus=corpus) for rows in columns.values()]
        pairs = [(_tokens_per_character(rows), _bits_per_character(rows)) for rows in of_columns]
        cells.append([corpus, *(f"{_text(length, '{:.3f}')} / {_text(bits, '{:.2f}')}" for length, bits in pairs)])
    title = "Without merges: tokens per character / bits per character by the entropy of single tokens"
    return Table("bits-comparison", title, ["corpus", *columns], cells, list(notes))


def _tokens_per_character(rows: pl.DataFrame) -> float | None:
    """Of the only row; None where there is no row."""
    return rows["tokens"].item() / rows["characters"].item() if len(rows) else None


def _bits_per_character(rows: pl.DataFrame) -> float | None:
    """Of the only row: the entropy of its tokens, times tokens per character; None where there is no row."""
    return rows["entropy"].item() * rows["tokens"].item() / rows["characters"].item() if len(rows) else None


def dead_table(lengths: pl.DataFrame) -> Table:
    """Tokens that no text can have, a row for the bases that have as many."""
    rows = lengths.filter(**_LOSSLESS)
    bases: dict[tuple[str, ...], list[str]] = {}
    for (base,), of_base in rows.unique(["base", "prefixes", "emission"], maintain_order=True).group_by(
        "base", maintain_order=True
    ):
        bases.setdefault(tuple(_variants(of_base, "dead", "{:,}")), []).append(str(base))
    cells = [[", ".join(names), *dead] for dead, names in bases.items()]
    title = "Tokens that no text can have, of the 256 bytes and the 261 added tokens"
    return Table("bits-dead", title, ["base", *_VARIANTS.values()], cells, [])


def corpus_table(lengths: pl.DataFrame, corpus: str, notes: Sequence[str]) -> Table:
    """Every row of one corpus."""
    cells = [
        [
            row["base"] if row["known"] is None else f"{row['known']:,} characters",
            _variant(row),
            f"{row['tokens']:,}",
            _percent_of(row["saved"], 2),
            _text(row["resets"], "{:,}"),
            _text(row["ambiguous"], "{:,}"),
            _percent_of(row["byte_tokens"], 1),
            _text(row["entropy"], "{:.3f}"),
            _percent_of(row["renyi_nominal"], 1),
            _percent_of(row["renyi_observed"], 1),
            _text(row["vocabulary"], "{:,}"),
            _text(row["dead"], "{:,}"),
        ]
        for row in lengths.filter(corpus=corpus).iter_rows(named=True)
    ]
    header = ["base", "code", "tokens", "saved %", "resets", "ambiguous", "byte tokens %", "H"]
    header += ["Rényi % of |V|", "of the used", "|V|", "dead"]
    return Table(f"bits-{corpus}", f"{corpus}: every base and code", header, cells, list(notes))


def choices_table(search: pl.DataFrame, notes: Sequence[str]) -> Table:
    """The paper's split, and the shortest of each corpus with at most so many added tokens."""
    cells = []
    for (corpus,), rows in search.group_by("corpus", maintain_order=True):
        cells.append([str(corpus), "the paper's", *_of_split(rows.filter("paper").row(0, named=True))])
        for limit in _LIMITS:
            shortest = rows.filter(pl.col("added") <= limit).sort(*_BEST_LAST, maintain_order=True)
            cells.append([str(corpus), f"at most {limit:,}", *_of_split(shortest.row(-1, named=True))])
    title = "The shortest splits of the 24 bits, by the number of tokens that they may add"
    return Table("bits-splits", title, ["corpus", "added", *_SPLIT_HEADER], cells, [*notes, _CHOSEN])


def front_tables(search: pl.DataFrame, notes: Sequence[str]) -> list[Table]:
    """The front of the search, a table for each corpus; one of those that are equally good."""
    tables = []
    for (corpus,), rows in search.group_by("corpus", maintain_order=True):
        front = rows.filter("front").unique(["added", "tokens", "renyi"], keep="first", maintain_order=True)
        cells = [_of_split(row) for row in front.sort("added", "saved", maintain_order=True).iter_rows(named=True)]
        title = f"{corpus}: splits on the front of tokens, added tokens and Rényi efficiency"
        tables.append(Table(f"bits-front-{corpus}", title, _SPLIT_HEADER, cells, [*notes, _CHOSEN]))
    return tables


def _of_split(row: Mapping[str, Any]) -> list[str]:
    """The cells of a row of the search."""
    return [
        row["split"],
        str(row["prefixes"]),
        EMISSIONS[row["policy"]],
        f"{row['added']:,}",
        _percent_of(row["saved"], 2),
        _text(row["entropy"], "{:.3f}"),
        _percent_of(row["renyi"], 1),
    ]


def _variant(row: Mapping[str, Any]) -> str:
    """The code of a row of lengths."""
    if row["code"] != "bits":
        return _OTHER_CODES[row["code"]]
    mode = "" if row["mode"] == "lossless" else f", {row['mode']}"
    return f"{row['prefixes']} prefixes, {EMISSIONS[row['emission']]}{mode}"


def _only(rows: pl.DataFrame, column: str) -> Any:
    """The value of the only row; None where there is no row."""
    return rows[column].item() if len(rows) else None


def _percent(rows: pl.DataFrame, column: str, digits: int = 1) -> str:
    return _percent_of(_only(rows, column), digits)


def _percent_of(value: float | None, digits: int) -> str:
    return _text(None if value is None else 100 * value, f"{{:.{digits}f}}")


def _text(value: Any, form: str) -> str:
    return "" if value is None else form.format(value)
