"""Tables of patch models: bits per byte of all patchers beside the paper's, what they cost, vocabulary sizes and S.

They are made from the scores of `evaluate_patch_lm`: one row for each name (a corpus, and a size of models where there
are several), variant and seed. Rows without `ablation` are the main comparison, at equal training FLOPs; others have
another vocabulary of the tokenizer, or another S.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import yaml

from tasks.report.tables.segmentation_tables import PAPERS
from tasks.report.tables.table import Table
from tasks.report.tables.translation_tables import mean
from tasks.report.verdict import ONE_RUN, Spread, Verdict, mark, mark_each, verdict

VARIANTS = {
    "bpe-tokens": "BPE",
    "bytes": "bytes",
    "bpe": "BPE-Patch",
    "space": "Space-Patch",
    "entropy": "Entropy-Patch",
    "entropy-unbounded": "Entropy-Patch, unbounded",
    "character": "Character-Patch",
    "fixed": "Fixed-Patch",
    "learned": "learned chunks",
}
"""Variant of the main comparison -> how tables and pictures name it; others go by their own names."""

FLOPS = ("flops_paper", "flops_built", "flops_padded")
"""Columns of FLOPs of a forward pass: by the paper's formula, and as built, packed and with padded patches."""

PAPER_BYTES = 8192
"""Bytes of the forward pass that Table 2 of the paper counts."""

_OTHER_SIZE = "paper: other text, and models of the sizes of its Table 1 trained for much longer"
_VERDICT = "against the best: difference to the lowest mean"
_ONE_SEED = "one seed: nothing is said about separability"


def variant_name(variant: str) -> str:
    """A variant as tables and pictures name it."""
    return VARIANTS.get(variant, variant)


def published(sources: Mapping[str, str | None]) -> dict[str, dict[str, dict[str, Any]]]:
    """What the paper prints of its small models: corpus -> variant -> figures, where it has the source of the corpus.

    sources: corpus -> its entry in the catalogue.
    """
    paper = read_paper()["corpora"]
    return {corpus: paper[source] for corpus, source in sources.items() if source in paper}


def read_paper() -> dict[str, Any]:
    """The paper's figures, as papers.yaml has them."""
    return yaml.safe_load(PAPERS.read_text(encoding="utf-8"))["hierarchical_bpe"]


def _published_models(scores: pl.DataFrame, sources: Mapping[str, str | None]) -> dict[str, dict[str, dict[str, Any]]]:
    """Name -> variant -> figures: of Table 4 for medium models, of Tables 2 and 3 for all others."""
    small, medium = published(sources), read_paper()["zero_shot"]
    found = {}
    for name, size, corpus in scores.select("name", "size", "corpus").unique(maintain_order=True).iter_rows():
        if size == "medium":
            found[name] = medium["rows"] if sources.get(corpus) in medium["sources"] else {}
        else:
            found[name] = small.get(corpus, {})
    return {name: figures for name, figures in found.items() if figures}


def main_rows(scores: pl.DataFrame) -> pl.DataFrame:
    """The main comparison."""
    return scores.filter(pl.col("ablation").is_null())


def models_table(scores: pl.DataFrame, sources: Mapping[str, str | None], notes: Sequence[str]) -> Table:
    """The main comparison of every name: bits per byte, patches, weights and FLOPs, beside the paper's."""
    paper = _published_models(scores, sources)
    rows = []
    for (name,), of_name in main_rows(scores).group_by("name", maintain_order=True):
        spreads = {
            str(variant): Spread.of(of_variant["bits_per_byte"])
            for (variant,), of_variant in of_name.group_by("variant", maintain_order=True)
        }
        found = verdict(spreads, largest=False)
        for variant in spreads:
            of_variant = of_name.filter(variant=variant)
            printed = paper.get(str(name), {}).get(variant, {})
            cells = [
                str(name),
                variant_name(variant),
                mean(of_variant["bits_per_byte"], 3),
                against_best(variant, spreads, found),
                *([_text(printed.get("bpb"), "{:.2f}")] if paper else []),
                mean_of(of_variant, "bytes_per_patch", "{:.2f}"),
                *([_text(printed.get("length"), "{:.2f}")] if paper else []),
                mean_of(of_variant, "symbols_per_patch", "{:.2f}"),
                mean_of(of_variant, "fertility", "{:.2f}"),
                *([_text(printed.get("fertility"), "{:.2f}")] if paper else []),
                mean_of(of_variant, "parameters", "{:,.0f}"),
                *_per_byte(of_variant),
            ]
            rows.append(cells)
        mark(rows[-len(spreads) :], 2, list(spreads.values()), largest=False)
    bits, length, fertility = (_beside(paper, name) for name in ("BPB", "bytes", "fertility"))
    header = ["corpus", "model", "BPB ↓", "against the best", *bits, "bytes/patch", *length, "symbols/patch"]
    header += ["fertility", *fertility, "weights", "MFLOPs/byte, formula", "as built", "padded"]
    hashed = main_rows(scores).filter("hash")["variant"].unique(maintain_order=True)
    hashes = [f"with hash n-gram embeddings: {', '.join(map(variant_name, hashed))}"] if len(hashed) else []
    seeds = main_rows(scores).group_by("name", "variant").len()["len"]
    verdicts = [_VERDICT, *([_ONE_SEED] if seeds.min() == 1 else [])]
    title = f"Patch models {equal(scores)}: bits per byte of held-out text" + _seeds(scores)
    return Table("patch-models", title, header, rows, [*notes, *([_OTHER_SIZE] if paper else []), *hashes, *verdicts])


def equal(scores: pl.DataFrame) -> str:
    """What the models of the main comparison have in common: all steps of a name, or else the budget of FLOPs."""
    steps = main_rows(scores).group_by("name").agg(pl.col("steps").n_unique())["steps"]
    return "after equally many steps" if steps.max() == 1 else "at equal training FLOPs"


def against_best(variant: str, spreads: Mapping[str, Spread | None], found: Verdict) -> str:
    """The distance of a mean to the lowest, and whether the spread over seeds hides it."""
    if variant in found.best:
        return "best" if len(found.best) == 1 else "best, equal"
    spread = spreads[variant]
    assert spread is not None
    behind = spread.mean - min(other.mean for other in spreads.values() if other is not None)
    distance = f"+{behind:.3f}" if behind else "lowest"
    if variant in found.tied:
        return f"{distance}, not separable"
    return distance if behind or not found.unknown else f"{distance}, {ONE_RUN}"


def costs_table(scores: pl.DataFrame, sources: Mapping[str, str | None], notes: Sequence[str]) -> Table:
    """What was spent on the models of the main comparison, and the paper's weights and FLOPs."""
    paper = _published_models(scores, sources)
    rows = []
    for (name, variant), of_variant in main_rows(scores).group_by("name", "variant", maintain_order=True):
        printed = paper.get(str(name), {}).get(str(variant), {})
        flops, (formula, *built) = printed.get("flops"), _per_byte(of_variant)
        rows.append(
            [
                str(name),
                variant_name(str(variant)),
                mean_of(of_variant, "symbols", "{:,.0f}"),
                mean_of(of_variant, "parameters", "{:,.0f}"),
                *([_text(printed.get("parameters"), "{}")] if paper else []),
                formula,
                *([_text(None if flops is None else 1000 * flops / PAPER_BYTES, "{:.1f}")] if paper else []),
                *built,
                _number(of_variant["training_flops"] / 1e12),
                mean_of(of_variant, "steps", "{:,.0f}"),
                _number(of_variant["training_bytes"] / 1e6),
                mean_of(of_variant, "epochs", "{:.2f}"),
            ]
        )
    weights, flops = (_beside(paper, name) for name in ("weights", "formula"))
    header = ["corpus", "model", "symbols", "weights", *weights, "MFLOPs/byte, formula", *flops, "as built", "padded"]
    header += ["training TFLOPs", "steps", "training MB", "epochs"]
    return Table("patch-costs", "What the patch models cost, and what was spent on them", header, rows, list(notes))


def vocabulary_table(scores: pl.DataFrame, notes: Sequence[str]) -> Table | None:
    """Plain BPE and BPE-Patch at growing vocabularies; None where one size was trained."""
    rows = vocabulary_points(scores)
    if rows.is_empty():
        return None
    cells = [
        [
            str(name),
            f"{vocabulary:,}",
            MODELS_OF_BPE[str(model)],
            mean_of(of_point, "symbols", "{:,.0f}"),
            mean_of(of_point, "bytes_per_patch", "{:.2f}"),
            mean(of_point["nats_per_patch"], 3),
            mean(of_point["bits_per_byte"], 3),
            mean_of(of_point, "parameters", "{:,.0f}"),
            *_per_byte(of_point),
        ]
        for (name, vocabulary, model), of_point in rows.group_by("name", "vocabulary", "model", maintain_order=True)
    ]
    mark_each(cells, rows, ["name", "vocabulary", "model"], "bits_per_byte", 6, largest=False)
    header = ["corpus", "|V|", "model", "symbols", "bytes/token", "nats/token", "BPB ↓", "weights"]
    header += ["MFLOPs/byte, formula", "as built", "padded"]
    title = f"Vocabulary of the tokenizer: plain BPE and BPE-Patch {equal(scores)}"
    return Table("patch-vocabulary", title, header, cells, list(notes))


MODELS_OF_BPE = {"tokens": VARIANTS["bpe-tokens"], "patches": VARIANTS["bpe"]}
"""Kind of model of the ablation of the vocabulary -> its name."""


def vocabulary_points(scores: pl.DataFrame) -> pl.DataFrame:
    """The ablation of the vocabulary with the point of the main comparison, by size; empty without ablation."""
    return _points(scores, "vocabulary", ["bpe-tokens", "bpe"])


def longest_table(scores: pl.DataFrame, notes: Sequence[str]) -> Table | None:
    """BPE-Patch at several S; None where one was trained."""
    rows = longest_points(scores)
    if rows.is_empty():
        return None
    cells = [
        [
            str(name),
            str(longest),
            mean_of(of_point, "symbols", "{:,.0f}"),
            mean_of(of_point, "symbols_per_patch", "{:.2f}"),
            mean(of_point["nats_per_patch"], 3),
            mean(of_point["bits_per_byte"], 3),
            mean_of(of_point, "parameters", "{:,.0f}"),
            *_per_byte(of_point),
        ]
        for (name, longest), of_point in rows.group_by("name", "longest", maintain_order=True)
    ]
    mark_each(cells, rows, ["name", "longest"], "bits_per_byte", 5, largest=False)
    header = ["corpus", "S", "V'", "symbols/patch", "nats/patch", "BPB ↓", "weights"]
    header += ["MFLOPs/byte, formula", "as built", "padded"]
    title = f"The longest patch S of the second BPE: BPE-Patch {equal(scores)}"
    return Table("patch-longest", title, header, cells, list(notes))


def longest_points(scores: pl.DataFrame) -> pl.DataFrame:
    """The ablation of S with the point of the main comparison, by S; empty without ablation."""
    return _points(scores, "longest", ["bpe"])


def _points(scores: pl.DataFrame, ablation: str, variants: Sequence[str]) -> pl.DataFrame:
    """The rows of an ablation, and these variants of the main comparison of the names that have it."""
    of_ablation = scores.filter(pl.col("ablation") == ablation)
    main = main_rows(scores).filter(pl.col("variant").is_in(variants))
    return (
        pl.concat(
            pl.concat([main.filter(name=name), of_ablation.filter(name=name)]).sort(
                ablation, pl.col("model") == "patches", maintain_order=True
            )
            for name in of_ablation["name"].unique(maintain_order=True)
        )
        if len(of_ablation)
        else of_ablation
    )


def _beside(paper: Mapping[str, Any], what: str) -> list[str]:
    """The heading of the paper's column, where there is one."""
    return [f"paper {what}"] if paper else []


def _per_byte(rows: pl.DataFrame) -> list[str]:
    """MFLOPs of a byte in a forward pass: by the paper's formula, as built, and as built with padded patches."""
    return [_number(per_byte(rows)[column]) for column in FLOPS]


def per_byte(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with FLOPs in millions a byte instead of billions a document of `context` bytes."""
    return rows.with_columns(pl.col(column).cast(pl.Float64) * 1000 / pl.col("context") for column in FLOPS)


def _number(values: pl.Series) -> str:
    """The mean with three digits, or all digits before the point; empty where there is no value."""
    value: Any = values.mean()
    form = "{:.3g}" if value is None or value < 10 else "{:.1f}" if value < 100 else "{:,.0f}"
    return _text(value, form)


def mean_of(rows: pl.DataFrame, column: str, form: str) -> str:
    """The mean over seeds; empty where there is no value."""
    return _text(rows[column].mean(), form)


def _text(value: Any, form: str) -> str:
    return "" if value is None else form.format(value)


def _seeds(scores: pl.DataFrame) -> str:
    seeds = main_rows(scores)["seed"].n_unique()
    return f"; mean ± sd of {seeds} seeds" if seeds > 1 else ""
