"""The codes family: tables of the codes of one corpus at several vocabulary sizes, and of all corpora at one size.

They are made from the scores of `evaluate_codes`: one row for each tokenizer, text, code, N, K and seed, and columns
such as `tokens_saved_C` and `tokens_saved_300` for the sizes. Plain characters, which save nothing, are a rival of the
codes: where all lose against them, they are the best.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from tasks.report.inputs import all_generated, corpus_facts, pictures
from tasks.report.measures import SHARES, metric_columns
from tasks.report.style import code_name
from tasks.report.table import Column, Results, Table, read_paper, tabulate
from tasks.report.verdict import ONE_RUN, Spread, kinds, verdict
from tasks.runtime.stage import Stage, read_json
from tokenlab.metrics.registry import TOKENIZATION, Metric

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
    corpora = [_corpus(stage, name) for name in stage.parameters("codes.corpora", dict[str, Any])]
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


def _corpus(stage: Stage, name: str) -> dict[str, Any]:
    """The section of a corpus with codes."""
    facts = corpus_facts(stage, name)
    scores = pl.read_parquet(stage.reports("codes", name, "scores.parquet"))
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
            Column("code", lambda rows: code_name(rows["code"][0], restarts)),
            Column("N", "N"),
            Column("K", "K"),
            Column("alphabet", lambda rows: rows["alphabet"].mean(), "{:.0f}"),
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
        Column("K", lambda rows: rows.filter(code="latom")["K"].max()),
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

    def printed(rows: pl.DataFrame) -> dict[str, Any]:
        return paper.get(rows["corpus"][0], {})

    def printed_K(rows: pl.DataFrame, N: int) -> int | None:
        return printed(rows).get("K", {}).get(N)

    columns = [
        Column("corpus", "corpus"),
        _DISTINCT,
        Column("paper |C|", lambda rows: printed(rows).get("characters")),
    ]
    for N in lengths:
        columns += [smallest_K(N), Column(f"paper K, N = {N}", partial(printed_K, N=N))]
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
        Column("code", lambda rows: code_name(rows["code"][0], restarts)),
        *(Column(name, name) for name in ("N", "K", "tokenizer", "text")),
        Column("size", lambda rows: size_text(rows["size"][0])),
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
