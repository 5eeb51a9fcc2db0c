"""The patches family: bits per byte of all patchers beside the paper's, costs, vocabularies, S, boundaries and tasks;
then figures 2 to 7 of the BPE-Patch paper: lengths of tokens and patches, bits per byte during training, vocabularies,
and the longest patch.

Tables of models are made from the scores of `evaluate_patch_lm`: one row for each name (a corpus, and a size of models
where there are several), variant and seed. Rows without `ablation` are the main comparison, at equal training FLOPs;
others have another vocabulary of the tokenizer, or another S. All are compared with n-gram models of the same text, and
a row with more bits a byte than the best of these says so. Tables of patchers are made from those of `patches`,
`patch_tokenizer` and `zero_shot`.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from tasks.report.inputs import corpus_facts, examples, notes_of, pictures, read_parts
from tasks.report.plot import THOUSANDS, curve, grid, legend_above, save
from tasks.report.style import ACCENT, GREEN, GREY, INK, OCHRE, PURPLE, SECOND, VIOLET, Line
from tasks.report.table import (
    Caveat,
    Column,
    Results,
    Table,
    names_above,
    of_seeds,
    read_paper,
    shown,
    tabulate,
    there,
    together,
)
from tasks.report.verdict import ONE_RUN, Spread, few_runs, verdict
from tasks.runtime.stage import Stage

_VARIANTS = {
    "bpe-tokens": Line("BPE", INK),
    "bytes": Line("bytes", GREY),
    "bpe": Line("BPE-Patch", ACCENT),
    "space": Line("Space-Patch", SECOND),
    "entropy": Line("Entropy-Patch", OCHRE),
    "entropy-unbounded": Line("Entropy-Patch, unbounded", OCHRE, "--"),
    "entropy-published": Line("entropy-published", OCHRE, ":"),
    "character": Line("Character-Patch", GREEN),
    "fixed": Line("Fixed-Patch", VIOLET),
    "learned": Line("learned chunks", PURPLE),
}
"""Variant of the main comparison, or patcher -> its name in tables and pictures, and how it is drawn; others have their
own names."""

_OTHER = Line("", GREY, ":")

_MODELS_OF_BPE = {"tokens": _VARIANTS["bpe-tokens"], "patches": _VARIANTS["bpe"]}
"""Kind of model of the ablation of the vocabulary -> its name, and how it is drawn."""

FLOPS = ("flops_paper", "flops_built", "flops_padded")
"""Columns of FLOPs of a forward pass: by the paper's formula, and as built, packed and with padded patches."""

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

_OTHER_TEXT = "paper: another text; its entropy models are another model, whose threshold it does not state"
_OTHER_SIZE = "paper: other text, and models of the sizes of its Table 1 trained for much longer"
_VERDICT = "against the best: difference to the lowest mean of the patch models"
_SEEDS = {
    1: "one seed: nothing is said about separability",
    2: "two seeds: what is said about separability rests on two runs",
}
"""Fewest seeds of a model -> the note below its table."""

_CALIBRATED = (
    "calibrated: bytes a patch on the validation text, for which the threshold was chosen; bytes/patch: on test text"
)
_BOUNDARIES = (
    "P, R, F1: boundaries inside texts, per cent; word F1: at word level, where both ends must be boundaries and none "
    "may lie between"
)

Sources = Mapping[str, str | None]
"""Corpus -> its entry in the catalogue."""


def patch_results(stage: Stage) -> Results:
    """Read the results of a preset."""
    merges = read_parts(stage, "patches.tokenizers", "patch_tokenizers", "merges.parquet")
    patchers = read_parts(stage, "patches.corpora", "patches", "patchers.parquet")
    scores = read_parts(stage, "patches.models", "patch_scores", "scores.parquet")
    ngrams = read_parts(stage, "patches.models", "patch_scores", "ngrams.parquet")
    losses = read_parts(stage, "patches.models", "patch_models", "loss.csv")
    facts, sources = _facts(stage), read_sources(stage)
    notes = notes_of(facts.values())
    models: list[Table] = []
    ablations: list[Table] = []
    of_patchers: list[Table] = []
    if len(scores):
        costs = costs_table(scores, sources, notes)
        models = there([models_table(scores, ngrams, sources, notes), costs, rates_table(losses, ngrams, notes)])
        ablations = there([vocabulary_table(scores, ngrams, notes), longest_table(scores, ngrams, notes)])
    if len(patchers):
        gold = list(dict.fromkeys([*notes, *_gold_notes(stage)]))
        of_patchers = [patchers_table(patchers, sources, notes), boundaries_table(patchers, scores, gold)]
    of_patchers += [merges_table(merges)] if len(merges) else []
    asked = read_parts(stage, "patches.zero_shot", "zero_shot", "zero_shot.parquet")
    zero_shot = []
    if len(asked):
        of_asked = notes_of(facts[name] for name in asked["corpus"].unique(maintain_order=True))
        zero_shot = [zero_shot_table(asked, sources, of_asked)]
    page = {
        "models": models,
        "ablations": ablations,
        "patchers": of_patchers,
        "zero_shot": zero_shot,
        "examples": examples(stage, "patches.models", "patch_scores", examples_table),
        "pictures": pictures(stage.reports("figures", "patches")),
    }
    return Results([*models[:1], *zero_shot], [*models[1:], *ablations, *of_patchers], page)


def _facts(stage: Stage) -> dict[str, dict[str, Any]]:
    """Key of `patches.corpora` -> facts about its corpus."""
    parameters = stage.parameters("patches.corpora", dict[str, Any])
    return {key: corpus_facts(stage, of_one["corpus"]) for key, of_one in parameters.items()}


def read_sources(stage: Stage) -> dict[str, str | None]:
    """Key of `patches.corpora` -> the entry of its corpus in the catalogue."""
    return {key: of_one["source"] for key, of_one in _facts(stage).items()}


def _gold_notes(stage: Stage) -> list[str]:
    """On which text boundaries are compared, and the notes of these corpora."""
    parameters = stage.parameters("patches.corpora", dict[str, Any])
    names = {key: of_one["gold"] for key, of_one in parameters.items() if of_one.get("gold")}
    texts = [f"{key}: on the text {name}" for key, name in names.items() if name != key]
    return [*notes_of(corpus_facts(stage, name) for name in names.values()), *texts]


def variant_name(variant: str) -> str:
    """A variant as tables and pictures name it."""
    return _VARIANTS[variant].label if variant in _VARIANTS else variant


def published(sources: Sources) -> dict[str, dict[str, dict[str, Any]]]:
    """What the paper prints of small models, where it has the source of a corpus: corpus -> variant -> figures."""
    paper = read_paper("hierarchical_bpe")["corpora"]
    return {corpus: paper[source] for corpus, source in sources.items() if source in paper}


def main_rows(scores: pl.DataFrame) -> pl.DataFrame:
    """The main comparison."""
    return scores.filter(pl.col("ablation").is_null())


def _printed_of(sources: Sources, figure: str) -> Callable[[pl.DataFrame], Any]:
    """The paper's figure for a row: of Table 4 for medium models, of Tables 2 and 3 for all others."""
    small, medium = published(sources), read_paper("hierarchical_bpe")["zero_shot"]

    def printed(rows: pl.DataFrame) -> Any:
        size, corpus, variant = rows.select("size", "corpus", "variant").row(0)
        figures = small.get(corpus, {})
        if size == "medium":
            figures = medium["rows"] if sources.get(corpus) in medium["sources"] else {}
        return figures.get(variant, {}).get(figure)

    return printed


_NAME = Column("corpus", "name")
_MODEL = Column("model", "variant", variant_name)
_WEIGHTS = Column("weights", "parameters", "{:,.0f}")
_BPB = Column("BPB ↓", "bits_per_byte", "{:,.3f}", spread=True, best="smallest")


def _costs(paper: Sequence[Column] = ()) -> list[Column]:
    """MFLOPs of a byte in a forward pass: by the paper's formula, as built, and as built with padded patches."""
    headings = ("MFLOPs/byte, formula", "as built", "padded")
    formula, *as_built = (Column(*both, _three_digits) for both in zip(headings, FLOPS, strict=True))
    return [formula, *paper, *as_built]


def per_byte(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with FLOPs in millions a byte instead of billions a document of `context` bytes."""
    return rows.with_columns(pl.col(column).cast(pl.Float64) * 1000 / pl.col("context") for column in FLOPS)


def _three_digits(value: float) -> str:
    """With three digits, or all digits before the point."""
    return f"{value:.3g}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def models_table(scores: pl.DataFrame, ngrams: pl.DataFrame, sources: Sources, notes: Sequence[str]) -> Table:
    """The main comparison of every name: bits per byte, patches, weights and FLOPs, beside the paper's, and n-gram
    models of the same text below."""
    main = per_byte(main_rows(scores))
    distances = {
        (name, variant): distance
        for (name,), rows in main.group_by("name", maintain_order=True)
        for variant, distance in _against_best(rows).items()
    }
    seeds = main.group_by("name", "variant").len()["len"].to_list()
    share = max(main["small_share"].drop_nulls(), default=None)

    def printed(heading: str, figure: str) -> Column:
        return Column(heading, _printed_of(sources, figure), "{:.2f}", optional=True)

    columns = [
        _NAME,
        _MODEL,
        _BPB,
        Column("against the best", lambda rows: distances[rows["name"][0], rows["variant"][0]]),
        _against_ngrams(ngrams),
        dataclasses.replace(_BPB, heading=f"BPB at {share} of the FLOPs ↓", value="small_bits_per_byte", optional=True),
        printed("paper BPB", "bpb"),
        Column("bytes/patch", "bytes_per_patch", "{:.2f}"),
        Column("calibrated", "calibrated", "{:.2f}", optional=True, note=_CALIBRATED),
        printed("paper bytes", "length"),
        Column("symbols/patch", "symbols_per_patch", "{:.2f}"),
        Column("fertility", "fertility", "{:.2f}"),
        printed("paper fertility", "fertility"),
        _WEIGHTS,
        *_costs(),
    ]

    def below(part: pl.DataFrame) -> Iterator[dict[str, str]]:
        for row in ngrams.filter(name=part["name"][0]).iter_rows(named=True):
            model = f"{row['order']}-grams of bytes" if row["over"] == "bytes" else "single BPE tokens"
            bits = shown(row["bits_per_byte"], "{:.3f}")
            yield {_NAME.heading: row["name"], _MODEL.heading: model, _BPB.heading: bits}

    hashed = main.filter("hash")["variant"].unique(maintain_order=True)
    hashes = [f"with hash n-gram embeddings: {', '.join(map(variant_name, hashed))}"] if len(hashed) else []
    title = f"Patch models {equal(scores)}: bits per byte of held-out text{of_seeds(main)}"
    table = tabulate("patch-models", title, main, columns, key=["name", "variant"], within=1, after=below)
    beside = [_OTHER_SIZE] if "paper BPB" in table.header else []
    few = [Caveat(_SEEDS[min(seeds)])] if min(seeds) in _SEEDS else []
    return table._replace(notes=[*notes, *beside, *table.notes, *_beside_ngrams(main, ngrams), *hashes, _VERDICT, *few])


def _best_ngrams(ngrams: pl.DataFrame) -> dict[str, float]:
    """Name -> the fewest bits per byte of its n-gram models."""
    return dict(ngrams.group_by("name").agg(pl.col("bits_per_byte").min()).iter_rows())


def _against_ngrams(ngrams: pl.DataFrame) -> Column:
    """The distance of a row's mean to the best n-gram model; a row behind it says so."""
    best = _best_ngrams(ngrams)

    def distance(rows: pl.DataFrame) -> str | None:
        lowest, found = best.get(rows["name"][0]), Spread.of(rows["bits_per_byte"])
        if lowest is None or found is None:
            return None
        worse = f", worse{few_runs(found.runs)}" if found.mean > lowest else ""
        return f"{found.mean - lowest:+.3f}{worse}"

    note = "against n-grams: difference to the best n-gram model of all the training text"
    return Column("against n-grams", distance, optional=True, note=note)


def _worse_than_ngrams(scores: pl.DataFrame, column: str, ngrams: pl.DataFrame) -> Iterator[tuple[str, float, str]]:
    """Of each name: the fewest bits per byte of its n-gram models, and the variants whose mean has more, if any."""
    best = _best_ngrams(ngrams)
    for (key,), rows in scores.filter(pl.col("name").is_in([*best])).group_by("name", maintain_order=True):
        name = str(key)
        worse = names_above(rows, "variant", column, best[name], "models")
        yield name, best[name], ", ".join(map(variant_name, worse))


def _beside_ngrams(main: pl.DataFrame, ngrams: pl.DataFrame) -> list[str]:
    """Which models of the main comparison are worse than n-grams, and what each kind has read."""
    texts = []
    for name, _, behind in _worse_than_ngrams(main, "bits_per_byte", ngrams):
        read, counted = (table.filter(name=name)["training_bytes"].to_numpy() / 1e6 for table in (main, ngrams))
        sizes = f"n-grams count {max(counted):.3g} MB, models read {min(read):.3g} to {max(read):.3g} MB"
        text = f"{name}: worse than the best n-gram model: {behind or 'no model'}; {sizes}"
        texts.append(Caveat(text) if behind else text)
    return texts


def equal(scores: pl.DataFrame) -> str:
    """What the models of the main comparison have in common: all steps of a name, or else the budget of FLOPs."""
    steps = main_rows(scores).group_by("name").agg(pl.col("steps").n_unique())["steps"]
    return "after equally many steps" if steps.max() == 1 else "at equal training FLOPs"


def _against_best(scores: pl.DataFrame) -> dict[str, str]:
    """Variant -> the distance of its mean to the lowest, and whether the spread over seeds hides it."""
    spreads = {
        str(variant): Spread.of(rows["bits_per_byte"])
        for (variant,), rows in scores.group_by("variant", maintain_order=True)
    }
    found = verdict(spreads, largest=False)
    lowest = min(spread.mean for spread in spreads.values() if spread is not None)
    texts = {}
    for variant, spread in spreads.items():
        behind = 0.0 if spread is None else spread.mean - lowest
        distance = f"+{behind:.3f}" if behind else "lowest"
        if variant in found.best:
            distance = "best" if len(found.best) == 1 else "best, equal"
        elif variant in found.tied:
            distance += ", not separable"
        elif found.unknown and not behind:
            distance += f", {ONE_RUN}"
        texts[variant] = distance
    return texts


def costs_table(scores: pl.DataFrame, sources: Sources, notes: Sequence[str]) -> Table:
    """What was spent on the models of the main comparison, and the paper's weights and FLOPs."""
    a_byte = 1000 / 8192  # Table 2 of the paper counts billions for so many bytes.
    columns = [
        _NAME,
        _MODEL,
        Column("symbols", "symbols", "{:,.0f}"),
        _WEIGHTS,
        Column("paper weights", _printed_of(sources, "parameters"), optional=True),
        *_costs([Column("paper formula", _printed_of(sources, "flops"), "{:.1f}", a_byte, optional=True)]),
        Column("training TFLOPs", "training_flops", lambda value: _three_digits(value / 1e12), result=True),
        Column("steps", "steps", "{:,.0f}"),
        Column("training MB", "training_bytes", lambda value: _three_digits(value / 1e6)),
        Column("epochs", "epochs", "{:.2f}"),
    ]
    title = "What the patch models cost, and what was spent on them"
    rows = per_byte(main_rows(scores))
    return tabulate("patch-costs", title, rows, columns, key=["name", "variant"], within=1, notes=notes)


def rates_table(losses: pl.DataFrame, ngrams: pl.DataFrame, notes: Sequence[str]) -> Table:
    """The search for learning rates: bits per byte of validation text with each; no rows without a search."""
    key = ["name", "variant"]
    last = losses.filter("small").group_by(*key, "seed", "learning_rate", maintain_order=True).last()
    tried = last.filter(pl.col("seed") == pl.col("seed").min().over(key))
    chosen = losses.filter(~pl.col("small")).select(*key, chosen="learning_rate").unique()
    columns = [
        _NAME,
        _MODEL,
        *(
            Column(f"{rate:g}", "held_out", "{:.3f}", where={"learning_rate": rate})
            for rate in tried["learning_rate"].unique().sort()
        ),
        Column("chosen", "chosen", "{:g}", result=True),
    ]
    title = "Learning rates of the patch models: bits per byte of validation text with the small budget, one seed"
    rows = tried.join(chosen, key, maintain_order="left")
    lowest = rows.group_by(key, maintain_order=True).agg(pl.col("held_out").min())
    behind = [
        Caveat(f"{name}: worse than n-grams of all the training text ({bits:.3f} on test text): {worse}")
        for name, bits, worse in _worse_than_ngrams(lowest, "held_out", ngrams)
        if worse
    ]
    return tabulate("patch-learning-rates", title, rows, columns, key=key, notes=[*notes, *behind])


def _results(ngrams: pl.DataFrame) -> list[Column]:
    """Bits per byte of a model of an ablation, and what it costs."""
    return [_BPB, _against_ngrams(ngrams), _WEIGHTS, *_costs()]


def vocabulary_table(scores: pl.DataFrame, ngrams: pl.DataFrame, notes: Sequence[str]) -> Table:
    """Plain BPE and BPE-Patch at growing vocabularies; no rows where one size was trained."""
    rows = per_byte(ablation_points(scores, "vocabulary"))
    columns = [
        _NAME,
        Column("|V|", "vocabulary", "{:,}"),
        Column("model", "model", lambda model: _MODELS_OF_BPE[model].label),
        Column("symbols", "symbols", "{:,.0f}"),
        Column("bytes/token", "bytes_per_patch", "{:.2f}"),
        Column("nats/token", "nats_per_patch", "{:,.3f}", spread=True),
        *_results(ngrams),
    ]
    title = f"Vocabulary of the tokenizer: plain BPE and BPE-Patch {equal(scores)}"
    key = ["name", "vocabulary", "model"]
    return tabulate("patch-vocabulary", title, rows, columns, key=key, within=1, notes=notes)


def longest_table(scores: pl.DataFrame, ngrams: pl.DataFrame, notes: Sequence[str]) -> Table:
    """BPE-Patch at several S; no rows where one was trained."""
    rows = per_byte(ablation_points(scores, "longest"))
    columns = [
        _NAME,
        Column("S", "longest"),
        Column("V'", "symbols", "{:,.0f}"),
        Column("symbols/patch", "symbols_per_patch", "{:.2f}"),
        Column("nats/patch", "nats_per_patch", "{:,.3f}", spread=True),
        *_results(ngrams),
    ]
    title = f"The longest patch S of the second BPE: BPE-Patch {equal(scores)}"
    return tabulate("patch-longest", title, rows, columns, key=["name", "longest"], within=1, notes=notes)


def ablation_points(scores: pl.DataFrame, ablation: str) -> pl.DataFrame:
    """The rows of an ablation, `vocabulary` or `longest`, with the point of the main comparison of the names that have
    it; empty without ablation."""
    of_ablation = scores.filter(pl.col("ablation") == ablation)
    variants = ["bpe-tokens", "bpe"] if ablation == "vocabulary" else ["bpe"]
    main = main_rows(scores).filter(pl.col("variant").is_in(variants))
    parts = [of_ablation]
    for name in of_ablation["name"].unique(maintain_order=True):
        points = pl.concat([main.filter(name=name), of_ablation.filter(name=name)])
        parts.append(points.sort(ablation, pl.col("model") == "patches", maintain_order=True))
    return pl.concat(parts[1:] or parts)


def patchers_table(patchers: pl.DataFrame, sources: Sources, notes: Sequence[str]) -> Table:
    """The patches of every patcher, beside the mean lengths of the paper (Table 3 and Figure 3)."""
    paper = published(sources)
    columns = [
        Column("corpus", "corpus"),
        Column("patcher", "patcher"),
        Column("|V|", "vocabulary", "{:,}"),
        Column("S", "longest"),
        Column("symbols", "symbols", "{:,}"),
        Column("threshold, nats", "threshold", "{:.4f}"),
        Column("cap", "cap"),
        Column("bytes/patch", "bytes_per_patch", "{:.2f}", result=True),
        Column("calibrated", "calibrated", "{:.2f}", optional=True, note=_CALIBRATED),
        Column(
            "paper bytes",
            partial(printed_length, paper),
            "{:.2f}",
            optional=True,
            note=_OTHER_TEXT,
        ),
        Column("symbols/patch", "symbols_per_patch", "{:.2f}"),
        Column("longest", "largest_patch", "{:,}"),
        Column("fertility", "fertility", "{:.2f}"),
    ]
    return tabulate("patchers", "Patches of the test texts", patchers, columns, notes=notes)


def printed_length(paper: Mapping[str, Mapping[str, Mapping[str, Any]]], rows: pl.DataFrame) -> float | None:
    """The paper's bytes per patch: of real tokenizers on its own rows, of other patchers by their name."""
    row = rows.row(0, named=True)
    figures = paper.get(row["corpus"], {})
    of_bpe = figures.get("bpe", {})
    if row["kind"] == "bpe":
        return of_bpe.get("length") if row["tokenizer"] == of_bpe.get("tokenizer") else None
    return figures.get(row["patcher"], {}).get("length")


def boundaries_table(patchers: pl.DataFrame, scores: pl.DataFrame, notes: Sequence[str]) -> Table:
    """Boundaries of every patcher, then of the learned chunks, against gold words, where a corpus has them, and against
    whitespace."""
    has_gold = patchers["gold_f1"].null_count() < len(patchers)
    parts = [patchers.unique(["corpus", "patcher"], keep="first", maintain_order=True)]
    if len(scores):
        of_size = pl.format("{}, {}", "variant", "name")
        names = pl.when(pl.col("name") == pl.col("corpus")).then("variant").otherwise(of_size)
        chunks = main_rows(scores).filter(pl.col("corpus").is_in([*patchers["corpus"]]), model="chunks")
        parts.append(chunks.with_columns(patcher=names))
    against = {"gold": "words", "whitespace": "spaces"} if has_gold else {"whitespace": "spaces"}
    shares = [
        (f"{text} {heading}", f"{kind}_{name}")
        for kind, text in against.items()
        for heading, name in (("P", "precision"), ("R", "recall"), ("F1", "f1"))
    ]
    shares += [("word F1", "word_f1")] if has_gold else []
    shown_columns = ["corpus", "patcher", *(column for _, column in shares)]
    scored = [part.select(name for name in shown_columns if name in part.columns) for part in parts]
    rows = together(pl.concat(scored, how="diagonal_relaxed"), "corpus")
    columns = [Column("corpus", "corpus"), Column("patcher", "patcher")]
    columns += [
        Column(heading, column, "{:,.1f}", 100, spread=True, result=heading.endswith("F1"))
        for heading, column in shares
    ]
    title = "Boundaries of patches against " + " and ".join(against.values())
    key = ["corpus", "patcher"]
    return tabulate("patch-boundaries", title, rows, columns, key=key, notes=[*notes, _BOUNDARIES])


def merges_table(merges: pl.DataFrame) -> Table:
    """The second BPE of every tokenizer and S."""
    columns = [
        Column("tokenizer", "tokenizer"),
        Column("tokens", "vocabulary", "{:,}"),
        Column("bytes", "mean_bytes", "{:.2f}"),
        Column("most bytes", "largest_bytes", "{:,}"),
        Column("S", "longest"),
        Column("merges", "merges", "{:,}"),
        Column("V'", "hierarchical_vocabulary", "{:,}", result=True),
        Column("symbols", "mean_length", "{:.2f}"),
        Column("most symbols", "largest_length", "{:,}"),
    ]
    title = "The second BPE: merges until every token has at most S symbols, the marker included"
    return tabulate("patch-merges", title, merges, columns)


def zero_shot_table(scores: pl.DataFrame, sources: Sources, notes: Sequence[str]) -> Table:
    """Tasks as in Table 4 of the paper, a row for each model, what guessing scores, and the paper's rows, which follow
    the models of its corpus."""
    paper = read_paper("hierarchical_bpe")["zero_shot"]
    metrics = {}  # That of the paper where it was measured, else the first one.
    for task, (_, wanted) in TASKS.items():
        if found := scores.filter(task=task)["metric"].unique(maintain_order=True).to_list():
            metrics[task] = wanted if wanted in found else found[0]
    rows = pl.concat(scores.filter(task=task, metric=metric) for task, metric in metrics.items())

    def beside(part: pl.DataFrame) -> Iterator[dict[str, str]]:
        name = {_NAME.heading: part["name"][0]}
        chances = {task: part.filter(task=task)["chance"].mean() for task in metrics}
        guessed = {headings[task]: shown(chance, "{:.1f}", 100) for task, chance in chances.items()}
        yield {**name, _MODEL.heading: "guessing", **guessed}
        for variant, figures in paper["rows"].items() if sources.get(part["corpus"][0]) in paper["sources"] else ():
            printed = {headings[task]: shown(figures.get(task), "{:g}") for task in metrics}
            yield {**name, _MODEL.heading: f"{variant_name(variant)}, paper", **printed}

    columns, items = [_NAME, _MODEL], []
    headings = {task: f"{TASKS[task][0]}, {metric}" for task, metric in metrics.items()}
    for task, heading in headings.items():
        where, of_task = {"task": task}, rows.filter(task=task)
        columns.append(Column(heading, "value", "{:,.1f}", 100, where, spread=True, best="largest", judged=_of_task))
        error = shown(of_task["stderr"].max(), "{:.1f}", 100)
        items.append(f"{TASKS[task][0]} {shown(of_task['items'].max(), '{:,}')} (± {error})")
    title = f"Zero-shot tasks, per cent{of_seeds(scores)}"
    notes = [*notes, f"items (largest standard error): {', '.join(items)}"]
    key = ["name", "corpus", "variant"]
    return tabulate("patch-zero-shot", title, rows, columns, key=key, within=2, notes=notes, after=beside)


def _of_task(rows: pl.DataFrame) -> Spread | None:
    """The values of a task: their spread over the seeds, or the standard error over the items where it is larger."""
    found = Spread.of(rows["value"])
    errors = rows["stderr"].drop_nulls()
    if found is None or not len(errors):
        return found
    return found._replace(deviation=max(found.deviation or 0.0, float(errors.max())))  # type: ignore[arg-type]


def examples_table(name: str, prompts: Sequence[Mapping[str, Any]]) -> Table:
    """Prompts from held-out text, what follows them there, and what the models write."""
    variants = list(dict.fromkeys(variant for prompt in prompts for variant in prompt["texts"]))
    rows = [
        [prompt["prompt"], prompt["reference"], *(prompt["texts"].get(variant, "") for variant in variants)]
        for prompt in prompts
    ]
    header = ["prompt", "text", *map(variant_name, variants)]
    return Table(f"patch-examples-{name}", f"{name}: samples of the models", header, rows, [])


_LONGEST_COLOURS = (SECOND, GREEN, OCHRE, ACCENT, PURPLE)
_COSTS = {
    "flops_built": ("-", "FLOPs as built"),
    "flops_padded": ("--", "padded to S"),
    "flops_paper": (":", "the paper's formula"),
}
"""Column -> line and label."""

_ABLATIONS = {
    "vocabulary": (
        "tokens in the vocabulary, logarithmic scale",
        "nats per token (figure 5)",
        "bits per byte",
        "MFLOPs a byte (figure 6)",
    ),
    "longest": ("longest patch S, symbols with the marker", "nats per patch", "bits per byte", "MFLOPs a byte"),
}
"""Ablation -> labels of the horizontal axis, and of the three vertical ones."""

_LAST_TOKEN = 40
"""Bytes at which the histogram of tokens ends; few are longer."""

_LAST_PATCH = 16
"""Bytes at which the distribution of patches ends."""


def patch_figures(stage: Stage, folder: Path) -> Iterator[Callable[[], None]]:
    """Drawings of all vocabularies together, and of all corpora together."""
    tokens = read_parts(stage, "patches.tokenizers", "patch_tokenizers", "lengths.csv")
    if len(tokens):
        yield partial(draw_tokens, largest_tokenizers(tokens), folder / "tokens")
    patchers = read_parts(stage, "patches.corpora", "patches", "patchers.parquet")
    lengths = read_parts(stage, "patches.corpora", "patches", "lengths.csv")
    scores = read_parts(stage, "patches.models", "patch_scores", "scores.parquet")
    losses = read_parts(stage, "patches.models", "patch_models", "loss.csv")
    if len(patchers):
        yield partial(draw_lengths, patchers, lengths, read_sources(stage), folder / "lengths")
    if len(scores):
        yield partial(draw_training, main_losses(losses, scores), folder / "training")
        points = {x: ablation_points(scores, x) for x in _ABLATIONS}
        yield from (partial(draw_ablation, rows, x, folder / x) for x, rows in points.items() if len(rows))


def main_losses(losses: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """The curves of the main comparison, with the whole budget."""
    return losses.filter(~pl.col("small")).join(
        main_rows(scores).select("name", "variant").unique(), on=["name", "variant"], how="semi"
    )


def largest_tokenizers(lengths: pl.DataFrame) -> pl.DataFrame:
    """The rows of the tokenizer with the most tokens of every `key`; the first of equal ones."""
    sizes = lengths.filter(longest=0).group_by("key", "tokenizer", maintain_order=True).agg(pl.col("tokens").sum())
    largest = sizes.sort("tokens", descending=True, maintain_order=True).unique("key", keep="first")
    return lengths.join(largest, on=["key", "tokenizer"], how="semi")


def _rows(
    names: list[str], columns: int, height: float, labels: list[str], **shared: Any
) -> tuple[Figure, dict[str, list[Axes]]]:
    """A figure with a row of panels for each name. labels: of the horizontal axes."""
    size = ({2: 9.4, 3: 10.8}[columns], 0.7 + height * len(names))
    figure, found = grid(len(names), columns, size, **shared)
    for axes, text in zip(found[-1], labels, strict=True):
        axes.set_xlabel(text)
    for row, name in zip(found, names, strict=True):
        row[0].set_title(name, loc="left")
    return figure, dict(zip(names, found, strict=True))


def _unique(rows: pl.DataFrame, column: str) -> list[str]:
    return rows[column].unique(maintain_order=True).to_list()


def draw_tokens(lengths: pl.DataFrame, path: Path) -> None:
    """Figure 2: tokens of a vocabulary by length in bytes, and in symbols after the second BPE.

    lengths: columns tokenizer, longest (S; 0 for plain bytes), length, tokens; a row of panels for each tokenizer.
    """
    lengths = lengths.with_columns(share=100 * pl.col("tokens") / pl.col("tokens").sum().over("tokenizer", "longest"))
    figure, found = _rows(_unique(lengths, "tokenizer"), 2, 3.0, ["bytes", "symbols"])
    for tokenizer, (left, right) in found.items():
        of_one = lengths.filter(tokenizer=tokenizer)
        plain = of_one.filter(longest=0)
        left.bar(plain["length"], plain["share"], color=SECOND, width=0.8)
        largest = int(plain["length"].max())  # type: ignore[arg-type]
        left.set(xlim=(0, min(largest, _LAST_TOKEN) + 1), ylabel="tokens, %")
        left.set_title(f"{tokenizer}: {plain['tokens'].sum():,} tokens, the longest of {largest:,} bytes", loc="left")
        squeezed = of_one.filter(pl.col("longest") > 0).group_by("longest", maintain_order=True)
        for colour, ((longest,), points) in zip(_LONGEST_COLOURS, squeezed, strict=False):
            right.plot(points["length"], points["share"], "o-", color=colour, label=f"S = {longest}", markersize=4)
        right.set_title("after the second BPE, with the marker")
        right.xaxis.set_major_locator(MaxNLocator(integer=True))
        for axes in (left, right):
            axes.set_ylim(bottom=0)
    save(figure, path, legend=5)


def draw_lengths(patchers: pl.DataFrame, lengths: pl.DataFrame, sources: Mapping[str, str | None], path: Path) -> None:
    """Figure 3: mean bytes of a patch beside the paper's, and how they are distributed; a row for each corpus.

    patchers: columns corpus, patcher, kind, tokenizer, bytes_per_patch. lengths: corpus, patcher, longest, unit,
    length, patches. sources: corpus -> its entry in the catalogue.
    """
    paper, means = published(sources), patchers.unique(["corpus", "patcher"], keep="first", maintain_order=True)
    height = 0.9 + 0.24 * int(means.group_by("corpus").len()["len"].max())  # type: ignore[arg-type]
    figure, found = _rows(_unique(patchers, "corpus"), 2, height, ["bytes a patch", "bytes"])
    for corpus, (left, right) in found.items():
        of_corpus = means.filter(corpus=corpus)
        places = np.arange(len(of_corpus))
        colours = [_line(name).colour for name in of_corpus["patcher"]]
        left.barh(places, of_corpus["bytes_per_patch"], color=colours, height=0.7)
        printed = (printed_length(paper, one) for one in of_corpus.iter_slices(1))
        known = [(length, place) for place, length in zip(places, printed, strict=True) if length is not None]
        if known:
            left.plot(*zip(*known, strict=True), "D", color="white", markeredgecolor=INK, label="paper, other text")
        left.set_yticks(places, of_corpus["patcher"].to_list(), fontsize=9)
        left.invert_yaxis()
        for (patcher,), of_one in lengths.filter(corpus=corpus, unit="bytes").group_by("patcher", maintain_order=True):
            if patcher not in _VARIANTS and str(patcher).partition("-")[0] in _VARIANTS:
                continue  # Another size or rule of a family: a bar is enough.
            first = of_one.filter(longest=of_one["longest"][0]).sort("length")
            share = 100 * first["patches"].cum_sum() / first["patches"].sum()
            line = _line(str(patcher))
            right.plot(first["length"], share, line.style, color=line.colour, marker=".", label=str(patcher))
        right.set(xlim=(0, _LAST_PATCH), ylim=(0, 101), ylabel="patches of at most so many bytes, %")
        right.grid()
    save(figure, path, legend=5)


def draw_training(losses: pl.DataFrame, path: Path) -> None:
    """Figure 4: held-out bits per byte over training steps and over training FLOPs; a row of panels for each name.

    losses: columns name, variant, seed, step, flops, held_out; of the main comparison. Lines are means over seeds,
    bands reach from the lowest to the highest seed.
    """
    value = pl.col("held_out")
    figure, found = _rows(_unique(losses, "name"), 2, 3.4, ["step", "training TFLOPs"], sharey="row")
    for name, row in found.items():
        of_name = losses.filter(name=name)
        for (variant,), curves in of_name.group_by("variant", maintain_order=True):
            means = [pl.col("flops").mean() / 1e12, value.mean(), value.min().alias("low"), value.max().alias("high")]
            points = curves.group_by("step", maintain_order=True).agg(means)
            line, spread = _line(str(variant)), (points["low"], points["high"])
            for axes, column in zip(row, ("step", "flops"), strict=True):
                style = {"color": line.colour, "label": variant_name(str(variant))}
                curve(axes, points[column], points["held_out"], line.style, spread=spread, **style)
        last = of_name.filter(pl.col("step") == pl.col("step").max().over("variant"))["held_out"]
        lowest, highest = float(last.min()), float(last.max())  # type: ignore[arg-type]
        # The first steps fall from eight bits; what is compared lies far below.
        row[0].set_ylim(lowest - 0.1 * (highest - lowest) - 0.02, highest + 0.8 * (highest - lowest) + 0.2)
        row[0].set_ylabel("held-out bits per byte")
        row[0].xaxis.set_major_formatter(THOUSANDS)
        for axes in row:
            axes.set_xlim(left=0)
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=axes is row[0]))
            axes.grid()
    save(figure, path, legend=5)


def draw_ablation(points: pl.DataFrame, x: str, path: Path) -> None:
    """Figures 5 to 7: nats per token or patch, bits per byte and FLOPs against the size of the vocabulary, or against
    S; a row for each name.

    points: scores of `evaluate_patch_lm`, with the ablation `x`.
    """
    rows, (x_label, *labels) = per_byte(points), _ABLATIONS[x]
    figure, found = _rows(_unique(rows, "name"), 3, 2.9, [x_label] * 3)
    for name, (nats, bits, costs) in found.items():
        for model, drawn in _MODELS_OF_BPE.items():
            points = rows.filter(name=name, model=model)
            for axes, column in ((nats, "nats_per_patch"), (bits, "bits_per_byte")):
                _points(axes, points, x, column, color=drawn.colour, label=drawn.label)
            for column, (line, _) in _COSTS.items():
                _points(costs, points, x, column, line, color=drawn.colour)
        costs.set_ylim(bottom=0)
        for axes, text in zip((nats, bits, costs), labels, strict=True):
            axes.set_ylabel(text)
            if x == "vocabulary":
                axes.set_xscale("log", base=2)
            axes.set_xticks(rows.filter(name=name)[x].unique().sort().to_list())
            axes.xaxis.set_major_formatter(THOUSANDS)
            axes.minorticks_off()
    styles: list[dict[str, Any]] = [{"linestyle": line, "label": text} for line, text in _COSTS.values()]
    lines = [Line2D([], [], color=GREY, **style) for style in styles]
    legend_above(figure, lines, columns=5)
    save(figure, path)


def _points(axes: Axes, rows: pl.DataFrame, x: str, y: str, line: str = "-", **style: Any) -> None:
    """A line through means over seeds, and a point for each seed; nothing without values."""
    known = rows.filter(pl.col(y).is_not_null())
    if known.is_empty():
        return
    means = known.group_by(x, maintain_order=True).agg(pl.col(y).mean()).sort(x)
    axes.plot(means[x], means[y], line, **style)
    if line == "-":
        axes.plot(known[x], known[y], "o", color=style["color"], markersize=4, alpha=0.7)


def _line(variant: str) -> Line:
    """How a variant or patcher is drawn; those of a family share the colour."""
    return _VARIANTS.get(variant) or _VARIANTS.get(variant.partition("-")[0], _OTHER)
