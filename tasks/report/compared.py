"""Ways of cutting on equal terms: the tables of `evaluate_compared`, the answer for each corpus, and Pareto fronts.

Bits per byte at equal operations and at equal bytes, units of the test text, and robustness. The verdict is that of
`tokenlab.comparison.verdict`, by intervals made for many methods at once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullLocator

from tasks.compared.parameters import Methods, Tokens
from tasks.report.inputs import corpus_facts, notes_of, read_parts
from tasks.report.plot import grid, save
from tasks.report.style import ACCENT, GREEN, GREY, INK, PURPLE, SECOND
from tasks.report.summary import Finding
from tasks.report.table import Caveat, Column, Results, Table, names_above, shown, tabulate
from tasks.report.verdict import few_runs
from tasks.runtime.stage import Stage, read_json

_VERDICT = (
    "verdict: worse where the distance from the best (behind) exceeds its interval, over seeds and the draw of test "
    "documents; in 98 of 100 such comparisons the true best is not worse; one seed gives no verdict"
)
_CURVE = (
    "a quarter, half, all: after these parts of the training, whose learning rate falls over all of it, on the "
    "beginning of the test text"
)
_EXACT = (
    "exact: that texts begin with certain {texts} bytes, over all encodings that the tokenizer makes, by the model of "
    "the first seed; gap: bits per byte that their one encoding takes more, which may end inside a word"
)
_NGRAMS = "N-grams{of} are better than every way of cutting: the budget is small."
_OF_ALL, _OF_AS_MUCH = " of all the training text", ", even of as much text as the best model reads,"
_BEHIND = (
    "{name}: worse than {order}-grams of bytes counted on {size:.3g} MB of training text ({bits:.3f} bits per byte of "
    "test text): {worse}"
)
_NGRAM_TEXTS: dict[str, Literal["first", "last"]] = {"as much text as the models read": "first", "all text": "last"}
_COSTS = "Mops/byte: operations of a forward pass, what reading or generating a byte costs"
_UNITS = (
    "tokens, or patches where there are some; fertility: units a word; errors: passages that are not decoded to "
    "themselves; F1: of boundaries"
)
_PERTURBED = (
    "by models of the first seed, on some of the test text; bits of the perturbed text over the bytes of the text as "
    "it was; what changes no text is left out"
)


_KINDS = {"tokens": INK, "code": ACCENT, "patches": SECOND, "chunks": PURPLE, "bytes": GREEN}
"""Kind of a method -> colour."""
_LABEL = 0.2
"""Inches of a name's line."""
_AXES = {"flops_per_byte": "million operations of a forward pass, per byte", "parameters": "million weights"}


def compared_results(stage: Stage) -> Results:
    """Read the results of a preset; results.txt has the tables of equal operations, and the answers."""
    scores = read_parts(stage, "compared.corpora", "compared", "scores.parquet")
    ngrams = read_parts(stage, "compared.corpora", "compared", "ngrams.parquet")
    robustness = read_parts(stage, "compared.corpora", "compared", "robustness.parquet")
    if scores.is_empty():
        return Results([], [], {"corpora": {}, "answers": [], "findings": []})
    corpora, rows, all_behind = {}, [], list[str]()
    methods = stage.parameters("compared.methods", Methods)
    for (key,), of_corpus in scores.group_by("name", maintain_order=True):
        name = str(key)
        notes = notes_of([corpus_facts(stage, of_corpus["corpus"][0])])
        found = read_json(stage.reports("compared", name, "answers.json"))
        at_equal_flops = pl.col("bits_per_byte").filter(pl.col("budget") == "flops").mean().over("method")
        ordered = of_corpus.sort(at_equal_flops, maintain_order=True)
        of_flops, of_ngrams = ordered.filter(budget="flops"), ngrams.filter(name=name)
        behind, beaten = _behind_ngrams(of_flops, of_ngrams), _beaten(of_flops, of_ngrams)
        all_behind += behind
        of_flops_alone = [Caveat(f"{name}: {sentence}") for sentence in beaten] or behind
        corpora[name] = [
            _flops_table(name, of_flops, of_ngrams, found["flops"], [*notes, *of_flops_alone]),
            *_bytes_tables(name, ordered.filter(budget="bytes"), of_ngrams, found.get("bytes"), notes),
            _units_table(name, of_flops, notes),
            *_robustness_tables(name, robustness.filter(name=name), notes, behind),
        ]
        rows.append([name, *_answer(methods, of_flops, found["flops"], beaten)])
    header = ["corpus", "use", "command", "bits/byte ↓", "why"]
    answers = [Table("compared-answers", "How should this text be cut?", header, rows, [], "use")]
    if len(rows) > 1:
        notes = notes_of(corpus_facts(stage, corpus) for corpus in scores["corpus"].unique(maintain_order=True))
        answers.append(_corpora_table(scores.filter(budget="flops"), ngrams, [*notes, *all_behind]))
    findings = [Finding(f"compared-{row[0]}", f"{row[0]}: {row[-1]}") for row in rows]
    page = {"corpora": corpora, "answers": answers, "findings": findings}
    others = [table for tables in corpora.values() for table in tables[1:]]
    return Results([*(tables[0] for tables in corpora.values()), *answers], others, page)


_METHOD = Column("method", "method")
_BITS = Column("bits/byte ↓", "bits_per_byte", "{:.3f}", spread=True, result=True)
_READING = Column("Mops/byte", "flops_per_byte", "{:.3f}", 1e-6, note=_COSTS)
_WEIGHTS = Column("weights", "parameters", "{:,}")
_READ = Column("MB read", "training_bytes", "{:.3g}", 1e-6)


def _behind(rows: pl.DataFrame) -> str:
    behind, interval = rows.select("behind", "interval").row(0)
    return f"{behind:.3f} ± {interval:.3f}" if behind else ""


def _verdicts(scores: pl.DataFrame) -> list[Column]:
    """How far a method is behind the best, and what follows; it says so where one of both has fewer than three runs."""
    of_best = scores.filter(behind=0)["seed"].n_unique()

    def standing(rows: pl.DataFrame) -> str:
        behind, interval = rows.select("behind", "interval").row(0)
        if behind is None:
            return ""
        word = "best" if behind == 0 else "worse" if behind > interval else "not separable"
        return word + few_runs(min(of_best, rows["seed"].n_unique()))

    return [Column("behind", _behind, optional=True), Column("verdict", standing, optional=True, note=_VERDICT)]


def _flops_table(
    name: str, scores: pl.DataFrame, ngrams: pl.DataFrame, answer: Mapping[str, Any] | None, notes: list[str]
) -> Table:
    """A row for each method at equal operations, and n-gram models of all the training text, and of as much as the best
    method reads."""
    exact = f"{max(scores['exact_bytes'].drop_nulls().to_list(), default=0):,}"
    columns = [
        _METHOD,
        _BITS,
        *_verdicts(scores),
        Column("a quarter", "quarter", "{:.3f}", spread=True, note=_CURVE),
        Column("half", "half", "{:.3f}", spread=True),
        Column("all", "whole", "{:.3f}", spread=True),
        _READING,
        _WEIGHTS,
        _READ,
        Column("epochs", "epochs", "{:.2f}"),
        Column("exact", "exact_bits_per_byte", "{:.3f}", optional=True, note=_EXACT.format(texts=exact)),
        Column("gap", lambda rows: rows["naive_bits_per_byte"] - rows["exact_bits_per_byte"], "{:.4f}", optional=True),
    ]

    below = [
        {_METHOD.heading: f"{rows['order'][0]}-grams of bytes"} | {c.heading: c.cell(rows) for c in (_BITS, _READ)}
        for rows in ngrams.iter_slices(1)
    ]
    title = f"{name}: ways of cutting at {_largest(scores, 'training_flops'):.2g} training operations{_seeds(scores)}"
    notes = [*notes, *_found(scores, answer)]
    return tabulate(f"compared-{name}", title, scores, columns, key=["method"], notes=notes, after=lambda part: below)


def _corpora_table(scores: pl.DataFrame, ngrams: pl.DataFrame, notes: list[str]) -> Table:
    """A row for each method and a column for each corpus: bits per byte at equal operations. The first row is the
    method that is the least behind the best, in the mean over its corpora."""
    corpora = scores["name"].unique(maintain_order=True)
    columns = [
        _METHOD,
        *(Column(name, "bits_per_byte", "{:.3f}", where={"name": name}, spread=True, result=True) for name in corpora),
    ]
    mean = pl.col("bits_per_byte").mean().over("name", "method")
    behind = pl.col("mean") - pl.col("mean").min().over("name")
    with_distances = scores.with_columns(mean=mean).with_columns(behind_best=behind)
    ordered = with_distances.sort(pl.col("behind_best").mean().over("method"), maintain_order=True)
    below: list[dict[str, str]] = []
    for text, keep in _NGRAM_TEXTS.items():
        of_text = ngrams.sort("training_bytes").unique("name", keep=keep, maintain_order=True)
        bits = {name: shown(value, "{:.3f}") for name, value in of_text.select("name", "bits_per_byte").iter_rows()}
        below.append({_METHOD.heading: f"n-grams of bytes, {text}", **bits})
    title = f"Bits per byte ↓ of language models trained with equal operations, by way of cutting{_seeds(scores)}"
    return tabulate("compared-corpora", title, ordered, columns, key=["method"], notes=notes, after=lambda part: below)


def _largest(scores: pl.DataFrame, column: str) -> float:
    return float(scores[column].to_numpy().max())


def _seeds(scores: pl.DataFrame) -> str:
    seeds = scores.group_by("name", "method").len()["len"].unique().sort().to_list()
    return f"; mean ± sd of {' or '.join(map(str, seeds))} seeds" if seeds[-1] > 1 else ""


def _found(scores: pl.DataFrame, answer: Mapping[str, Any] | None) -> list[str]:
    size = f"{scores['test_bytes'][0]:,} bytes of test text"
    if answer is None:
        return [size]
    return [
        f"{size}; differences from {answer['detectable']:.3f} bits per byte on are found in about four of five cases"
    ]


def _bytes_tables(
    name: str, scores: pl.DataFrame, ngrams: pl.DataFrame, answer: Mapping[str, Any] | None, notes: list[str]
) -> Iterator[Table]:
    """A row for each method at equal bytes of training text, where there was such a training."""
    if len(scores):
        columns = [
            _METHOD,
            _BITS,
            *_verdicts(scores),
            Column("operations", "training_flops", "{:.2g}"),
            _READING,
            _WEIGHTS,
        ]
        size = f"{_largest(scores, 'training_bytes'):,.0f} bytes"
        title = f"{name}: ways of cutting after {size} of training{_seeds(scores)}"
        notes = [*notes, *_behind_ngrams(scores, ngrams), *_found(scores, answer)]
        yield tabulate(f"compared-bytes-{name}", title, scores, columns, key=["method"], notes=notes)


def _units_table(name: str, scores: pl.DataFrame, notes: list[str]) -> Table:
    """The units of each method on the test text."""
    columns = [
        _METHOD,
        Column("entries", "entries", "{:,}"),
        Column("bytes/unit", "bytes_per_token", "{:.2f}", note=_UNITS),
        Column("fertility ↓", "fertility", "{:.3f}", optional=True),
        Column("words kept whole ↑", "words_kept_whole", "{:.1f}", 100, optional=True),
        Column("F1, gold words ↑", "gold_f1", "{:.1f}", 100, optional=True),
        Column("F1, whitespace ↑", "whitespace_f1", "{:.1f}", 100, optional=True),
        Column("parts of characters", "byte_token_rate", "{:.1f}", 100, optional=True),
        Column("vocabulary used", "vocabulary_used", "{:.1f}", 100, optional=True),
        Column("Rényi efficiency", "renyi_efficiency", "{:.3f}", optional=True),
        Column("errors ↓", "decode_errors", "{:,}"),
    ]
    title = f"{name}: units of the test text"
    return tabulate(f"compared-units-{name}", title, scores, columns, key=["method"], notes=notes)


def _robustness_tables(name: str, robustness: pl.DataFrame, notes: list[str], of_bits: list[str]) -> Iterator[Table]:
    """What perturbations change: bits per byte, and boundaries. of_bits: further notes below the first."""
    kinds = robustness["perturbation"].unique(maintain_order=True).to_list()
    robustness = robustness.with_columns(more=pl.col("bits_per_byte") - pl.col("original"))
    bits = [Column(kind, "more", "{:+z.3f}", where={"perturbation": kind}) for kind in kinds]
    original = Column("as it was", "original", "{:.3f}", note=_PERTURBED)
    title = f"{name}: bits per byte more on perturbed text"
    columns, first = [_METHOD, original, *bits], [*notes, *of_bits]
    yield tabulate(f"robustness-{name}", title, robustness, columns, key=["method"], notes=first)
    kept = [Column(kind, "boundaries_f1", "{:.1f}", 100, where={"perturbation": kind}) for kind in kinds]
    title = f"{name}: F1 of boundaries in perturbed text, with those of the text as it was; per cent"
    yield tabulate(f"boundaries-{name}", title, robustness, [_METHOD, *kept], key=["method"], notes=notes)


def _beaten(scores: pl.DataFrame, ngrams: pl.DataFrame) -> list[str]:
    """A sentence where n-grams are better than the mean of every method."""
    means = scores.group_by("method").agg(pl.col("bits_per_byte").mean())["bits_per_byte"].to_numpy()
    beaten_by = [means.min() > bits for bits in ngrams["bits_per_byte"]]
    of = _OF_AS_MUCH if all(beaten_by) else _OF_ALL
    return [_NGRAMS.format(of=of)] if any(beaten_by) else []


def _behind_ngrams(scores: pl.DataFrame, ngrams: pl.DataFrame) -> list[str]:
    """Which methods are worse than the best n-grams, in the mean of their runs."""
    best = ngrams.sort("bits_per_byte").row(0, named=True)
    worse = names_above(scores, "method", "bits_per_byte", best["bits_per_byte"], "methods")
    if not worse:
        return []
    of = {"name": best["name"], "order": best["order"], "size": best["training_bytes"] / 1e6}
    return [Caveat(_BEHIND.format(**of, bits=best["bits_per_byte"], worse=", ".join(worse)))]


def _answer(
    methods: Methods, scores: pl.DataFrame, answer: Mapping[str, Any] | None, beaten: Sequence[str]
) -> list[str]:
    """What to use; scores: at equal operations, the best method first. beaten: as `_beaten` says it."""
    use = scores["method"][0] if answer is None else answer["use"]
    bits, method = _BITS.cell(scores.filter(method=use)), methods[use]
    command = method.command if isinstance(method, Tokens) else None
    why = f"{use} comes first with {bits} bits per byte in one run, no verdict." if answer is None else answer["answer"]
    if answer is not None and answer["seeds"][0] < 3:
        some = "Some methods have" if answer["seeds"][1] > 2 else "Each method has"
        why += f" {some} two runs."
    return [use, command or "", bits, " ".join([why, *beaten])]


def compared_figures(stage: Stage, folder: Path) -> Iterator[Callable[[], None]]:
    """Drawings of every corpus."""
    scores = read_parts(stage, "compared.corpora", "compared", "scores.parquet")
    if len(scores):
        for (name,), rows in scores.filter(budget="flops").group_by("name", maintain_order=True):
            yield partial(draw_fronts, rows, folder / str(name))


def draw_fronts(scores: pl.DataFrame, path: Path) -> None:
    """A panel for each cost. scores: of one corpus at equal operations."""
    means = scores.group_by("method", "kind", maintain_order=True).agg(
        pl.col("bits_per_byte").mean(), pl.col(*_AXES).mean() / 1e6
    )
    means = means.sort("bits_per_byte", maintain_order=True)
    figure, (row,) = grid(1, 2, (10.8, 0.9 + _LABEL * max(16, len(means))), sharey=True)
    for axes, (cost, label) in zip(row, _AXES.items(), strict=True):
        axes.set(xscale="log", xlabel=label)
        axes.margins(x=0.12)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_locator(NullLocator())
        for (kind,), points in means.group_by("kind", maintain_order=True):
            axes.plot(
                points[cost], points["bits_per_byte"], "o", color=_KINDS[str(kind)], markersize=4, label=str(kind)
            )
        front = _front(means, cost)
        axes.step(*front.get_columns(), where="post", color=GREY, linewidth=0.8, label="Pareto front")
    for axes, cost in zip(row, _AXES, strict=True):
        _name(axes, means.select(cost, "bits_per_byte", "method", "kind").rows())
    row[0].set_ylabel("bits per byte of test text")
    save(figure, path, legend=6)


def _front(points: pl.DataFrame, cost: str) -> pl.DataFrame:
    """Cost and bits per byte of the points that no cheaper one is as good as, the cheapest first."""
    bits = pl.col("bits_per_byte")
    ascending = points.select(cost, bits).sort(cost, bits)
    return ascending.filter((bits < bits.cum_min().shift()).fill_null(True))


def _name(axes: Axes, points: Sequence[tuple[float, float, str, str]]) -> None:
    """Names on the right of a panel, each with a line to its point; points ascend, and no two names overlap."""
    low, high = axes.get_ylim()
    gap = 1 / max(16, len(points))
    heights = [(bits - low) / (high - low) for _, bits, _, _ in points]
    for place in range(1, len(heights)):
        heights[place] = max(heights[place], heights[place - 1] + gap)
    for place in reversed(range(len(heights))):
        heights[place] = min(heights[place], 1 - gap * (len(heights) - 1 - place))
    for (cost, bits, name, kind), height in zip(points, heights, strict=True):
        line = {"arrowstyle": "-", "color": _KINDS[kind], "linewidth": 0.3, "relpos": (0, 0.5), "shrinkA": 0}
        at: Any = {"textcoords": "axes fraction", "va": "center", "fontsize": 7, "arrowprops": line}
        axes.annotate(name, (cost, bits), (1.03, height), color=_KINDS[kind], **at)
