"""Tables of patchers: their patches, boundaries against words, the second BPE, and zero-shot tasks.

They are made from the tables of `patches`, `patch_tokenizer` and `zero_shot`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tasks.report.tables.patch_tables import main_rows, published, read_paper, variant_name
from tasks.report.tables.table import Table
from tasks.report.tables.translation_tables import mean
from tasks.report.verdict import Spread, mark

TASKS = {
    "mmlu": ("MMLU", "acc"),
    "hellaswag": ("HellaSwag", "acc_norm"),
    "lambada": ("LAMBADA", "acc"),
    "arc_challenge": ("ARC-c", "acc_norm"),
    "arc_easy": ("ARC-e", "acc"),
    "winogrande": ("WinoGrande", "acc"),
    "piqa": ("PIQA", "acc"),
}
"""Task -> its name and its metric in Table 4 of the paper, in its order."""

_PAPER_MERGES = {("gpt2", 10): 497}
"""Tokenizer and S -> V' in the paper (section 3.2)."""

_OTHER_TEXT = "paper: another text; its entropy models are another model, whose threshold it does not state"
_BOUNDARIES = (
    "P, R, F1: boundaries inside texts, per cent; word F1: at word level, where both ends must be boundaries and none "
    "may lie between"
)


def patchers_table(patchers: pl.DataFrame, sources: Mapping[str, str | None], notes: Sequence[str]) -> Table:
    """The patches of every patcher, beside the mean lengths of the paper (Table 3 and Figure 3)."""
    paper = published(sources)
    rows = [
        [
            row["corpus"],
            row["patcher"],
            *(
                _text(row[name], form)
                for name, form in (("vocabulary", "{:,}"), ("longest", "{}"), ("symbols", "{:,}"))
            ),
            _text(row["threshold"], "{:.4f}"),
            _text(row["cap"], "{}"),
            _text(row["bytes_per_patch"], "{:.2f}"),
            *([_text(printed_length(paper, row), "{:.2f}")] if paper else []),
            _text(row["symbols_per_patch"], "{:.2f}"),
            _text(row["largest_patch"], "{:,}"),
            _text(row["fertility"], "{:.2f}"),
        ]
        for row in patchers.iter_rows(named=True)
    ]
    header = ["corpus", "patcher", "|V|", "S", "symbols", "threshold, nats", "cap", "bytes/patch"]
    header += [*(["paper bytes"] if paper else []), "symbols/patch", "longest", "fertility"]
    return Table("patchers", "Patches of the test texts", header, rows, [*notes, *([_OTHER_TEXT] if paper else [])])


def printed_length(paper: Mapping[str, Mapping[str, Mapping[str, Any]]], row: Mapping[str, Any]) -> float | None:
    """The paper's bytes per patch: of real tokenizers on its own rows, of other patchers by their name."""
    figures = paper.get(row["corpus"], {})
    of_bpe = figures.get("bpe", {})
    if row["kind"] == "bpe":
        return of_bpe.get("length") if row["tokenizer"] == of_bpe.get("tokenizer") else None
    return figures.get(row["patcher"], {}).get("length")


def boundaries_table(patchers: pl.DataFrame, scores: pl.DataFrame, notes: Sequence[str]) -> Table:
    """Boundaries of every patcher against gold words, where a corpus has them, and against whitespace."""
    kinds = ("gold", "whitespace") if patchers["gold_f1"].null_count() < len(patchers) else ("whitespace",)
    columns = [f"{kind}_{name}" for kind in kinds for name in ("precision", "recall", "f1")]
    columns += ["word_f1"] if "gold" in kinds else []
    chunks = main_rows(scores).filter(model="chunks")
    rows = []
    for (corpus,), of_corpus in patchers.group_by("corpus", maintain_order=True):
        for row in of_corpus.unique("patcher", keep="first", maintain_order=True).iter_rows(named=True):
            values = (row[name] for name in columns)
            rows.append([corpus, row["patcher"], *(_text(_percent(value), "{:.1f}") for value in values)])
        for (name, variant), learned in chunks.filter(corpus=corpus).group_by("name", "variant", maintain_order=True):
            shares = [
                mean(100 * learned[column].cast(pl.Float64), 1) if column in learned.columns else ""
                for column in columns
            ]
            rows.append([str(corpus), str(variant) if name == corpus else f"{variant}, {name}", *shares])
    names = {"gold": "words", "whitespace": "spaces"}
    header = ["corpus", "patcher", *(f"{names[kind]} {what}" for kind in kinds for what in ("P", "R", "F1"))]
    header += ["word F1"] if "gold" in kinds else []
    title = "Boundaries of patches against " + " and ".join(names[kind] for kind in kinds)
    return Table("patch-boundaries", title, header, rows, [*notes, _BOUNDARIES])


def merges_table(merges: pl.DataFrame) -> Table:
    """The second BPE of every tokenizer and S."""
    rows = [
        [
            row["tokenizer"],
            f"{row['vocabulary']:,}",
            f"{row['mean_bytes']:.2f}",
            f"{row['largest_bytes']:,}",
            str(row["longest"]),
            f"{row['merges']:,}",
            f"{row['hierarchical_vocabulary']:,}",
            _text(_PAPER_MERGES.get((row["tokenizer"], row["longest"])), "{:,}"),
            f"{row['mean_length']:.2f}",
            f"{row['largest_length']:,}",
        ]
        for row in merges.iter_rows(named=True)
    ]
    header = ["tokenizer", "tokens", "bytes", "most bytes", "S", "merges", "V'", "paper V'", "symbols", "most symbols"]
    if not any(row[7] for row in rows):
        header.pop(7)
        rows = [row[:7] + row[8:] for row in rows]
    title = "The second BPE: merges until every token has at most S symbols, the marker included"
    return Table("patch-merges", title, header, rows, [])


def zero_shot_table(scores: pl.DataFrame, sources: Mapping[str, str | None], notes: Sequence[str]) -> Table:
    """Tasks as in Table 4 of the paper, a row for each model, what guessing scores, and the paper's rows.

    sources: corpus -> its entry in the catalogue; the paper's rows follow the models of its corpus.
    """
    paper = read_paper()["zero_shot"]
    known = [task for task in TASKS if task in scores["task"]]
    shown = pl.concat(scores.filter(task=task, metric=_metric(scores, task)) for task in known)
    rows = []
    for (name, corpus), of_name in shown.group_by("name", "corpus", maintain_order=True):
        for (variant,), of_variant in of_name.group_by("variant", maintain_order=True):
            values = (mean(100 * of_variant.filter(task=task)["value"], 1) for task in known)
            rows.append([str(name), variant_name(str(variant)), *values])
        models = [of_variant for _, of_variant in of_name.group_by("variant", maintain_order=True)]
        for place, task in enumerate(known, 2):
            mark(rows[-len(models) :], place, [_of_task(of_variant.filter(task=task)) for of_variant in models])
        chances = (of_name.filter(task=task)["chance"].mean() for task in known)
        rows.append([str(name), "guessing", *(_text(_percent(chance), "{:.1f}") for chance in chances)])
        if sources.get(str(corpus)) in paper["sources"]:
            rows += [
                [str(name), f"{variant_name(variant)}, paper", *(_text(figures.get(task), "{:g}") for task in known)]
                for variant, figures in paper["rows"].items()
            ]
    sizes = (
        shown.filter(task=task).select(pl.col("items").max(), pl.col("stderr").max() * 100).row(0) for task in known
    )
    counts = ", ".join(
        f"{TASKS[task][0]} {items:,} (± {_text(error, '{:.1f}')})"
        for task, (items, error) in zip(known, sizes, strict=True)
    )
    header = ["corpus", "model", *(f"{TASKS[task][0]}, {_metric(scores, task)}" for task in known)]
    title = "Zero-shot tasks, per cent" + (f"; mean ± sd of {n} seeds" if (n := scores["seed"].n_unique()) > 1 else "")
    return Table("patch-zero-shot", title, header, rows, [*notes, f"items (largest standard error): {counts}"])


def _of_task(rows: pl.DataFrame) -> Spread | None:
    """The values of a task: their spread over the seeds, or the standard error over the items where it is larger."""
    found = Spread.of(rows["value"])
    errors = rows["stderr"].drop_nulls()
    if found is None or not len(errors):
        return found
    return Spread(found.mean, max(found.deviation or 0.0, float(errors.max())))  # type: ignore[arg-type]


def _metric(scores: pl.DataFrame, task: str) -> str:
    """The metric of the paper where it was measured, else the first one."""
    found = scores.filter(task=task)["metric"].unique(maintain_order=True).to_list()
    return TASKS[task][1] if TASKS[task][1] in found else found[0]


def examples_table(name: str, examples: Sequence[Mapping[str, Any]]) -> Table:
    """Prompts from held-out text, what follows them there, and what the models write."""
    variants = list(dict.fromkeys(variant for example in examples for variant in example["texts"]))
    rows = [
        [example["prompt"], example["reference"], *(example["texts"].get(variant, "") for variant in variants)]
        for example in examples
    ]
    header = ["prompt", "text", *map(variant_name, variants)]
    return Table(f"patch-examples-{name}", f"{name}: samples of the models", header, rows, [])


def _percent(share: Any) -> float | None:
    return None if share is None else 100 * share


def _text(value: Any, form: str) -> str:
    return "" if value is None else form.format(value)
