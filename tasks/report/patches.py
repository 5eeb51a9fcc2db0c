"""The patches family: bits per byte of all patchers beside the paper's, costs, vocabularies, S, boundaries and tasks.

Tables of models are made from the scores of `evaluate_patch_lm`: one row for each name (a corpus, and a size of models
where there are several), variant and seed. Rows without `ablation` are the main comparison, at equal training FLOPs;
others have another vocabulary of the tokenizer, or another S. All are compared with n-gram models of the same text, and
a row with more bits a byte than the best of these says so. Tables of patchers are made from those of `patches`,
`patch_tokenizer` and `zero_shot`.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from tasks.report.inputs import corpus_facts, examples, notes_of, pictures, read_parts
from tasks.report.table import Caveat, Column, Results, Table, of_seeds, read_paper, shown, tabulate, there, together
from tasks.report.verdict import ONE_RUN, Spread, verdict
from tasks.runtime.stage import Stage

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

MODELS_OF_BPE = {"tokens": VARIANTS["bpe-tokens"], "patches": VARIANTS["bpe"]}
"""Kind of model of the ablation of the vocabulary -> its name."""

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

_PAPER_MERGES = {("gpt2", 10): 497}
"""Tokenizer and S -> V' in the paper (section 3.2)."""

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
        models = there([models_table(scores, ngrams, sources, notes), costs, rates_table(losses, notes)])
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
    return VARIANTS.get(variant, variant)


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
_MODEL = Column("model", lambda rows: variant_name(rows["variant"][0]))
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
    title = f"Patch models {equal(scores)}: bits per byte of held-out text"
    title += f"; mean ± sd of {max(seeds)} seeds" if max(seeds) > 1 else ""
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

    def distance(rows: pl.DataFrame) -> Any:
        lowest, found = best.get(rows["name"][0]), Spread.of(rows["bits_per_byte"])
        return None if lowest is None or found is None else found.mean - lowest

    note = "against n-grams: difference to the best n-gram model of the same training text"
    return Column("against n-grams", distance, _worse, optional=True, note=note)


def _worse(distance: float) -> str:
    return f"{distance:+.3f}" + ", worse" * (distance > 0)


def _beside_ngrams(main: pl.DataFrame, ngrams: pl.DataFrame) -> list[str]:
    """Which models of the main comparison are worse than n-grams, and what each kind has read."""
    best = _best_ngrams(ngrams)
    texts = []
    for (name,), rows in main.filter(pl.col("name").is_in([*best])).group_by("name", maintain_order=True):
        means = rows.group_by("variant", maintain_order=True).agg(pl.col("bits_per_byte").mean())
        worse = means.filter(pl.col("bits_per_byte") > best[str(name)])["variant"]
        behind = "all models" if len(worse) == len(means) else ", ".join(map(variant_name, worse)) or "no model"
        read, counted = (table["training_bytes"].to_numpy() / 1e6 for table in (rows, ngrams.filter(name=name)))
        sizes = f"n-grams count {max(counted):.3g} MB, models read {min(read):.3g} to {max(read):.3g} MB"
        kind = Caveat if len(worse) else str
        texts.append(kind(f"{name}: worse than the best n-gram model: {behind}; {sizes}"))
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


def rates_table(losses: pl.DataFrame, notes: Sequence[str]) -> Table | None:
    """The search for learning rates: bits per byte of validation text with each; None without a search."""
    key = ["name", "variant"]
    last = losses.filter("small").group_by(*key, "seed", "learning_rate", maintain_order=True).last()
    if last.is_empty():
        return None
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
    return tabulate("patch-learning-rates", title, rows, columns, key=key, notes=notes)


def _results(ngrams: pl.DataFrame) -> list[Column]:
    """Bits per byte of a model of an ablation, and what it costs."""
    return [_BPB, _against_ngrams(ngrams), _WEIGHTS, *_costs()]


def vocabulary_table(scores: pl.DataFrame, ngrams: pl.DataFrame, notes: Sequence[str]) -> Table | None:
    """Plain BPE and BPE-Patch at growing vocabularies; None where one size was trained."""
    rows = per_byte(ablation_points(scores, "vocabulary"))
    if rows.is_empty():
        return None
    columns = [
        _NAME,
        Column("|V|", "vocabulary", "{:,}"),
        Column("model", lambda rows: MODELS_OF_BPE[rows["model"][0]]),
        Column("symbols", "symbols", "{:,.0f}"),
        Column("bytes/token", "bytes_per_patch", "{:.2f}"),
        Column("nats/token", "nats_per_patch", "{:,.3f}", spread=True),
        *_results(ngrams),
    ]
    title = f"Vocabulary of the tokenizer: plain BPE and BPE-Patch {equal(scores)}"
    key = ["name", "vocabulary", "model"]
    return tabulate("patch-vocabulary", title, rows, columns, key=key, within=1, notes=notes)


def longest_table(scores: pl.DataFrame, ngrams: pl.DataFrame, notes: Sequence[str]) -> Table | None:
    """BPE-Patch at several S; None where one was trained."""
    rows = per_byte(ablation_points(scores, "longest"))
    if rows.is_empty():
        return None
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
            lambda rows: printed_length(paper, rows.row(0, named=True)),
            "{:.2f}",
            optional=True,
            note=_OTHER_TEXT,
        ),
        Column("symbols/patch", "symbols_per_patch", "{:.2f}"),
        Column("longest", "largest_patch", "{:,}"),
        Column("fertility", "fertility", "{:.2f}"),
    ]
    return tabulate("patchers", "Patches of the test texts", patchers, columns, notes=notes)


def printed_length(paper: Mapping[str, Mapping[str, Mapping[str, Any]]], row: Mapping[str, Any]) -> float | None:
    """The paper's bytes per patch: of real tokenizers on its own rows, of other patchers by their name."""
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
        Column(
            "paper V'",
            lambda rows: _PAPER_MERGES.get((rows["tokenizer"][0], rows["longest"][0])),
            "{:,}",
            optional=True,
        ),
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
