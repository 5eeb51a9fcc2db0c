"""The segmentation family: Table 1 of the entropy paper for each corpus, a short one with word F1 alone, exported
tokenizers, and texts that are segmented by statistics of the text itself; then figures 2 to 5 of the entropy paper, and
tuning curves.

Tables are made from the scores of `evaluate_segmentation` (one row for each training text `subset` or `full`, seed,
configuration and use of BPE `none`, `raw` or `pretokenized`), `export` and `own_text`.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from tasks.report.inputs import corpus_facts, pictures, read_table, tables_of, trained_models
from tasks.report.measures import SHARES, metric_columns
from tasks.report.plot import curve, grid, in_cells, legend_over, save, whole_numbers
from tasks.report.style import ACCENT, INK, OWN_METHODS, SECOND, SOFT, line_colours
from tasks.report.table import Column, Results, Table, read_paper, tabulate
from tasks.report.verdict import Ours, Spread
from tasks.runtime.stage import Stage, read_json
from tokenlab.metrics.registry import SEGMENTATION, Metric
from tokenlab.text.documents import join_words

_BASELINES = {"bpe": "BPE alone", "bpe-punctuation": "BPE, punctuation split off"}
_SUMMARISED = _BASELINES | {
    "literal-4": "PMI and branching entropy, λ = 4, reading `literal`",
    "self-4": "PMI and branching entropy, λ = 4, reading `self`",
    "gpt2": "predictive entropy, the paper's rule",
    "viterbi": "viterbi: scripts isolated",
    "variation": "variation: with variation of branching entropy",
    "words": "words: a bigram of words, started from variation",
}
"""Configurations of the short table, and how it calls them."""

_MEASURE = (
    "paper: word scores of BPE tokens (its Table 1), as ours under “BPE”; `literal` and `self` are two readings of its "
    "utility of a single character"
)

_OTHER_TEST = "SLM: as published, on the official PKU test, which is another text; not compared"
_RULES = {"none": "", "slm": "; digits, Latin letters and punctuation by the rules of SLM"}


_CONFIGURATION = Column("method", "configuration", lambda name: named(name, name))
_LAMBDA = Column("λ", "lambda", "{:g}")


def segmentation_results(stage: Stage) -> Results:
    """Read the results of a preset."""
    own_texts = [
        own_text_table(scores, corpus_facts(stage, scores["corpus"][0]))
        for scores in tables_of(stage, "segmentation.own_text", "own_text", "scores.parquet").values()
    ]
    models = trained_models(stage, "entropy.models", "segmentation", "entropy_models")
    corpora = [_corpus(stage, name) for name in stage.parameters("segmentation.corpora", dict[str, Any])]
    main = [*(table for corpus in corpora for table in corpus["tables"]), *own_texts]
    others = [corpus[name] for corpus in corpora for name in ("summary", "exported") if corpus[name]]
    return Results(main, others, {"corpora": corpora, "own_texts": own_texts, "models": models})


def _language_model(stage: Stage, corpus: str) -> list[str]:
    """A note: which language model the predictive entropy of a corpus is from, and which the paper's is."""
    scored = stage.parameters("entropy.scored", dict[str, Any]).get(corpus)
    if scored is None:
        return []
    name = Path(scored["model"]).name
    trained = stage.parameters("entropy.models", dict[str, Any]).get(name)
    if trained is None:
        ours = stage.parameters("entropy.public", dict[str, Any])[name]["name"]
    else:
        ours = "{layers} layers of width {width}, trained here from random weights".format(**trained["shape"])
    return [f"predictive entropy (gpt2): of a language model; the paper's has 24 layers of width 1,024, ours: {ours}"]


def _corpus(stage: Stage, name: str) -> dict[str, Any]:
    """The section of a segmented corpus."""
    facts = corpus_facts(stage, name)
    beside_paper = facts | {"notes": [*facts["notes"], *_language_model(stage, name)]}
    scores, exported = (read_table(stage.reports(of, name, "scores.parquet")) for of in ("segmentation", "export"))
    tuned = read_json(stage.reports("tuning", name, "tuned.json"))
    return {
        "facts": facts,
        "tables": segmentation_tables(scores, beside_paper),
        "summary": summary_table(scores, beside_paper),
        "metrics": segmentation_metrics(scores, name, SEGMENTATION),
        "exported": export_table(exported, read_json(stage.reports("export", name, "left_out.json")), facts),
        "tuning": _tuning_table(read_table(stage.reports("tuning", name, "lambda.csv")), tuned),
        "pictures": pictures(stage.reports("figures", "segmentation", name)),
    }


def _tuning_table(curves: pl.DataFrame, tuned: dict[str, dict[str, float]]) -> Table:
    """Word F1 of each lambda, the mean of the seeds; the tuned one is marked."""

    def mark(rows: pl.DataFrame) -> str:
        row = rows.row(0, named=True)
        return "tuned" if tuned[row["training"]][row["method"]] == row["lambda"] else ""

    columns = [
        Column("training", "training"),
        Column("method", "method"),
        _LAMBDA,
        Column("word F1", "f1", "{:.2f}", 100),
        Column("", mark),
    ]
    return tabulate("lambda", "Values", curves, columns, key=["training", "method", "lambda"])


def segmentation_tables(scores: pl.DataFrame, facts: dict[str, Any]) -> list[Table]:
    """Table 1 of the entropy paper for one corpus, and the same with statistics from its full text.

    facts: of the corpus, as `prepare` writes them.
    """
    tables = []
    for training, what in (("subset", "drawn sentences"), ("full", "sentences, all but those held out")):
        # The paper has no second table: its baseline was trained on the drawn sentences, too.
        suffix, paper = ("", _paper_rows(facts)) if training == "subset" else ("-full", {})
        rows = scores.filter(training=training).sort(pl.col("method").is_not_null(), maintain_order=True)
        first = scores.filter(training=training).row(0, named=True)
        title = (
            f"{first['corpus']}: statistics and BPE from {first['training_sentences']:,} {what} "
            f"({first['training_characters']:,} characters in the first draw); "
            f"mean ± sd of {rows['seed'].n_unique()} draws"
        )
        columns, notes = [Column("method", _label), _LAMBDA], [*facts["notes"], *_one_model(rows)]
        if facts["gold_words"] is None:
            notes = [*notes, "no gold words are marked in this corpus: precision, recall and F1 are left out"]
            columns += [
                Column("characters per segment", "characters_per_segment", "{:,.3f}", where={"bpe": "none"}),
                Column("characters per BPE token", "characters_per_segment", "{:,.3f}", where={"bpe": "raw"}),
            ]
        else:
            columns += [
                *_prf("", "none"),
                Column("paper BPE P / R / F1", partial(_printed, paper=paper), optional=True, note=_MEASURE),
                *_prf("BPE ", "raw"),
                _f1("BPE F1, pre-cut", "pretokenized"),
            ]
        columns.append(Column("|V|", "vocabulary", "{:,.0f}", where={"bpe": "raw"}))
        name = f"segmentation-{facts['corpus']}{suffix}"
        tables.append(tabulate(name, title, rows, columns, key=["configuration"], notes=notes))
    return tables


def _one_model(scores: pl.DataFrame) -> list[str]:
    """What limits the rows by predictive entropy, where there are some."""
    rows = scores.filter(pl.col("signal").is_in(["entropy", "both"]))
    methods = ", ".join(rows["method"].unique(maintain_order=True))
    return [f"{methods}: by one language model; the draws are of sentences alone"] if methods else []


def _prf(prefix: str, bpe: str) -> list[Column]:
    precision, recall = (Column(f"{prefix}{name[0].upper()}", name, "{:.1f}", 100, where={"bpe": bpe}) for name in _PR)
    return [precision, recall, _f1(f"{prefix}F1", bpe)]


_PR = ("precision", "recall")


def _f1(heading: str, bpe: str, **where: str) -> Column:
    return Column(heading, "f1", "{:.1f}", 100, spread=True, best="largest", where={"bpe": bpe, **where})


def _printed(rows: pl.DataFrame, paper: Mapping[str, Mapping[str, float]]) -> str:
    found = paper.get(_paper_row(rows))
    return " / ".join(f"{found[name]:.2f}" for name in (*_PR, "f1")) if found else ""


def summary_table(scores: pl.DataFrame, facts: dict[str, Any]) -> Table | None:
    """Word F1 of at most seven configurations, beside the paper's; None where the corpus has no gold words."""
    if facts["gold_words"] is None:
        return None
    paper = _paper_rows(facts)
    sizes = {name: scores.filter(training=name)["training_sentences"][0] for name in ("subset", "full")}
    columns = [
        Column("method", "configuration", lambda name: named(_SUMMARISED[name], name)),
        Column("paper BPE", lambda rows: paper.get(_paper_row(rows), {}).get("f1"), "{:.2f}", note=_MEASURE),
    ]
    for training, size in sizes.items():
        for what, bpe in (("BPE", "raw"), ("segments", "none")):
            columns.append(_f1(f"{what}, {size:,}", bpe, training=training))
    known = pl.concat(scores.filter(configuration=configuration) for configuration in _SUMMARISED)
    title = (
        f"{facts['corpus']}: word F1 of the segments and of BPE tokens, trained on {sizes['subset']:,} sentences and "
        f"on {sizes['full']:,}; mean ± sd of {scores['seed'].n_unique()} draws"
    )
    name, key = f"segmentation-{facts['corpus']}-summary", ["configuration"]
    return tabulate(name, title, known, columns, key=key, notes=[*facts["notes"], *_one_model(known)])


def _paper_rows(facts: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Table 1 of the paper, row -> numbers; empty where the corpus is another text."""
    paper = read_paper("entropy_pretokenization")
    return paper["rows"] if facts["source"] == paper["source"] else {}


def _paper_row(rows: pl.DataFrame) -> str:
    """The row of the paper's Table 1 that corresponds to a configuration; most methods have none."""
    configuration, method = rows["configuration"][0], rows["method"][0]
    return configuration if method is None else configuration.removeprefix(f"{method}-")


def named(label: str, method: str | None) -> str:
    """The label of a row, marked where the method is one of this project."""
    return Ours(label) if method in OWN_METHODS else label


def _label(rows: pl.DataFrame) -> str:
    row = rows.row(0, named=True)
    configuration, method = row["configuration"], row["method"]
    if method is None:
        return _BASELINES.get(configuration, configuration)
    tuned = {"θ": row["threshold"], "ν": row["nu"]}
    text = ", ".join([method, *(f"{name} = {value:g}" for name, value in tuned.items() if value is not None)])
    return named(f"{method}, entropy only" if configuration == f"{method}-entropy" else text, method)


def segmentation_metrics(scores: pl.DataFrame, corpus: str, metrics: Sequence[Metric]) -> Table | None:
    """A row for each training text, configuration and use of BPE, means over the seeds, a column for each registered
    metric; None where none has a value."""
    if not (of_metrics := metric_columns(scores, metrics)):
        return None
    columns = [Column("configuration", "configuration"), Column("training", "training"), Column("BPE", "bpe")]
    title = f"{corpus}: all metrics, means over the seeds"
    key = ["training", "configuration", "bpe"]
    return tabulate(f"metrics-{corpus}", title, scores, columns + of_metrics, key=key, notes=[SHARES])


def export_table(scores: pl.DataFrame, left_out: Mapping[str, str], facts: Mapping[str, Any]) -> Table | None:
    """Exported tokenizers: means over the seeds, a row for each method and tokenizer; None where there is none.

    Args:
        left_out: names of tokenizers that could not be made, and why.
        facts: of the corpus, as `prepare` writes them.
    """
    if scores.is_empty():
        return None
    columns = [
        _CONFIGURATION,
        Column("tokenizer", "export"),
        Column("|V|", "vocabulary", "{:,}"),
        Column("MB", "bytes", "{:.2f}", 1e-6),
        Column("round trip", "restored", "{:.2f}", 100),
        Column("equal segments", "segments_equal_to_a_word", "{:.2f}", 100, result=facts["gold_words"] is None),
        Column("equal tokens", "segments_equal_to_a_token", "{:.2f}", 100),
    ]
    if facts["gold_words"] is not None:
        columns += [
            Column("method F1", "f1_of_segments", "{:.2f}", 100),
            Column("word F1", "f1_of_words", "{:.2f}", 100, best="largest"),
            Column("token F1", "f1", "{:.2f}", 100, best="largest"),
        ]
    first = scores.row(0, named=True)
    title = (
        f"{first['corpus']}: methods as plain tokenizers, learned from {first['training_sentences']:,} sentences "
        f"({first['training_characters']:,} characters); per cent, means over the test sentences of "
        f"{scores['seed'].n_unique()} draws"
    )
    notes = [*facts["notes"], *_one_model(scores)]
    notes += [f"{name} is left out: {reason}" for name, reason in left_out.items()]
    key = ["configuration", "export", "vocabulary", "bytes"]
    return tabulate(f"export-{facts['corpus']}", title, scores, columns, key=key, notes=notes)


def own_text_table(scores: pl.DataFrame, facts: dict[str, Any]) -> Table:
    """Word scores of one text, and under SLM's rules the published F1 of systems that know the text alone.

    facts: of the corpus, as `prepare` writes them.
    """
    first = scores.row(0, named=True)
    parts, seeds = scores["part"].n_unique(), scores["seed"].n_unique() - bool(scores["seed"].null_count())
    paper = read_paper("slm")
    beside = paper["rows"] if first["rules"] == "slm" and facts["source"] == paper["source"] else {}

    def share(heading: str, column: str) -> Column:
        def judged(rows: pl.DataFrame) -> Spread | None:
            return Spread.of(rows[column], by_chance=parts > 1 or rows["seed"].null_count() == 0)

        return Column(heading, column, "{:.1f}", 100, spread=True, best="largest", judged=judged)

    columns = [
        _CONFIGURATION,
        _LAMBDA,
        Column("P", "precision", "{:.1f}", 100),
        Column("R", "recall", "{:.1f}", 100),
        share("F1", "f1"),
        share("F1, words of Han alone", "han_f1"),
        share("boundary F1", "boundary_f1"),
    ]
    size = f"{first['training_characters']:,} characters"
    text = f"{parts} slices of {size} or a little more, each by itself" if parts > 1 else f"{size}, by that text alone"
    repeated = [f"{number} {what}" for number, what in ((parts, "slices"), (seeds, "seeds")) if number > 1]
    spread = f"; mean ± sd of {' and '.join(repeated)}" if repeated else ""
    title = f"{first['text']}: {first['corpus']}, {text}{_RULES[first['rules']]}{spread}"
    printed = [{"method": name, "F1": f"{row['f1']:.1f}"} for name, row in beside.items()]
    name = f"own-text-{first['text']}"
    notes = [*facts["notes"], _OTHER_TEST] if printed else facts["notes"]
    return tabulate(name, title, scores, columns, key=["configuration"], notes=notes, after=lambda part: printed)


_TUNED = {"threshold": "threshold (nats)", "nu": "ν, weight of predictive entropy at boundaries"}
_CUT = {
    "bpe": "BPE",
    "bpe-punctuation": "BPE, punctuation split off",
    "literal-4": "PMI + entropy, the paper read literally",
    "self-4": "PMI + entropy, the other reading",
    "gpt2-rise": "rise of a small GPT-2's entropy",
    "combined": "both, by Viterbi",
    "words": "word model",
}
"""Configurations of the picture on top of README.md and of the page, and their labels."""
_F1 = "word F1 on validation sentences, %"


def segmentation_figures(stage: Stage, folder: Path) -> Iterator[Callable[[], None]]:
    """Drawings of every segmented corpus, and of the loss of every language model that was trained."""
    for name in stage.parameters("segmentation.corpora", dict[str, Any]):
        yield from _of_corpus(stage, name, folder / name)
    for name, loss in tables_of(stage, "entropy.models", "entropy_models", "loss.csv").items():
        yield partial(draw_loss, loss, folder / "entropy_models" / name)


def _of_corpus(stage: Stage, name: str, folder: Path) -> Iterator[Callable[[], None]]:
    """The pictures for which a corpus has data; nothing was tuned where a table has no rows."""
    statistics, tuning = stage.reports("ngram_statistics", name), stage.reports("tuning", name)
    unit = read_json(statistics / "unit.json")["unit"]
    pmi, entropy = read_table(statistics / "pmi.csv"), read_table(statistics / "entropy.csv")
    yield partial(draw_distributions, pmi, entropy, unit, folder / "distributions")
    if len(curves := read_table(tuning / "lambda.csv")):
        yield partial(draw_lambda, curves, folder / "lambda")
    if len(curves := read_table(tuning / "entropy.csv")):
        yield partial(draw_thresholds, curves, folder / "thresholds")
    scores = pl.read_parquet(stage.reports("segmentation", name, "scores.parquet"), columns=["configuration"])
    found = read_json(stage.reports("segmentation", name, "sentences.json"))
    names = ("gold", *scores["configuration"].unique(maintain_order=True))
    rows = {row: words for row in names if (words := found["example"].get(row))}
    yield partial(draw_boundaries, rows, folder / "sentence")
    if "gold" in rows and rows.keys() & _CUT.keys():
        yield partial(draw_sentence, rows, folder / "cut")
    if found["entropies"]:
        yield partial(draw_entropies, found["entropies"], folder / "entropy")


def draw_distributions(pmi: pl.DataFrame, entropy: pl.DataFrame, unit: str, path: Path) -> None:
    """Figure 2 of the entropy paper: the distributions of PMI and of both branching entropies over distinct n-grams.

    Args:
        pmi, entropy: histograms with columns `from` and `to`, and a column of counts for each series.
        unit: nats or bits.
    """
    figure, ((top,), (bottom,)) = grid(2, 1, (7, 5.4))
    _histogram(top, pmi, "pmi", INK)
    top.set(xlabel=f"PMI of adjacent characters ({unit})", ylabel="distinct pairs")
    _histogram(bottom, entropy, "left", SECOND, "left entropy")
    _histogram(bottom, entropy, "right", ACCENT, "right entropy")
    bottom.set(xlabel=f"branching entropy ({unit})", ylabel="distinct n-grams, log scale", yscale="log")
    legend_over(bottom)
    save(figure, path)


def _histogram(axes: Axes, table: pl.DataFrame, column: str, colour: str, label: str | None = None) -> None:
    edges = [*table["from"], table["to"][-1]]
    axes.stairs(table[column].to_numpy(), edges, color=colour, label=label, fill=label is None, linewidth=1.4)


def draw_lambda(curves: pl.DataFrame, path: Path) -> None:
    """Word F1 on validation sentences against lambda: a line for each method and training text, the mean of the seeds,
    and a band of one standard deviation.

    Columns: training, method, lambda, f1 (0..1); one row for each seed.
    """
    figure, ((axes,),) = grid(1, 1, (7, 3.8))
    _f1_curves(axes, curves, "lambda", line_colours(curves["method"].unique(maintain_order=True)))
    axes.set(xlabel="λ", ylabel=_F1)
    save(figure, path, legend=4)


def draw_thresholds(curves: pl.DataFrame, path: Path) -> None:
    """Word F1 on validation sentences against the thresholds of predictive entropy, and against nu: a panel each.

    Columns: training, method, parameter (`threshold` or `nu`), value, f1 (0..1); one row for each seed. Bands are
    one standard deviation.
    """
    figure, (found,) = grid(1, 2, (10, 3.9))
    colours = line_colours(curves["method"].unique(maintain_order=True))
    # Thresholds do not depend on statistics: one curve for both training texts.
    curves = curves.filter((pl.col("parameter") == "nu") | (pl.col("training") == "subset"))
    for axes, (parameter, label) in zip(found, _TUNED.items(), strict=True):
        of_panel = curves.filter(parameter=parameter)
        _f1_curves(axes, of_panel, "value", colours, with_training=parameter == "nu")
        axes.set(xlabel=label, ylabel=_F1)
        if of_panel.is_empty():
            axes.text(0.5, 0.5, "nothing to tune", ha="center", va="center", transform=axes.transAxes)
    save(figure, path, legend=4)


def _f1_curves(
    axes: Axes, curves: pl.DataFrame, x: str, colours: Mapping[str, str], *, with_training: bool = True
) -> None:
    f1 = pl.col("f1") * 100
    means = curves.group_by("training", "method", x, maintain_order=True).agg(f1.mean(), spread=f1.std())
    for (training, method), line in means.group_by("training", "method", maintain_order=True):
        name = f"{method}, {training}" if with_training else str(method)
        style: dict[str, Any] = {"color": colours[str(method)], "label": name, "marker": "o"}
        spread = line["spread"].cast(pl.Float64).to_numpy()
        curve(axes, line[x], line["f1"], "-" if training == "subset" else "--", spread=spread, **style)


def draw_entropies(sentences: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Figures 3 and 5 of the entropy paper: predictive entropy along sentences, boundaries at its peaks, gold words.

    sentences: `text`, `entropy` of each character in nats, offsets of the `boundaries` found, and `gold` words or None.
    """
    figure, rows = grid(len(sentences), 1, (9.5, 0.6 + 2.1 * len(sentences)))
    for (axes,), sentence in zip(rows, sentences, strict=True):
        gold = join_words(sentence["gold"])[1] if sentence["gold"] is not None else None
        line = in_cells(sentence["text"])
        edges = np.array(line.positions)
        entropy = np.array(sentence["entropy"], np.float64)
        axes.plot((edges[:-1] + edges[1:]) / 2, entropy, color=INK, marker="o", markersize=3, linewidth=1.2)
        for x in sentence["boundaries"]:
            right = gold is None or x in gold
            axes.axvline(edges[x], color=SECOND if right else ACCENT, linestyle="--", linewidth=1.1)
        for x in gold or ():
            axes.plot([edges[x], edges[x]], [0, 0.07], color=INK, linewidth=2, transform=axes.get_xaxis_transform())
        axes.set_xticks(np.arange(len(line.cells)) + 0.5, line.cells, fontsize=10)
        axes.tick_params(axis="x", length=0)
        axes.set(xlim=line.limits, ylabel="H (nats)")
    note = "dashed: before this character the entropy peaks; blue: a gold boundary, red: none; ticks: gold boundaries"
    rows[-1][0].set_xlabel(note, fontsize=8)
    save(figure, path)


def draw_boundaries(rows: dict[str, list[str]], path: Path) -> None:
    """Figure 4 of the entropy paper: one sentence as each method segments it, a row for each.

    rows: name -> the words; `gold` are the gold words, where the corpus has them.
    """
    line = in_cells("".join(next(iter(rows.values()))))
    figure, ((axes,),) = grid(1, 1, (2.2 + 0.27 * len(line.cells), 0.5 + 0.3 * len(rows)))
    gold = join_words(rows["gold"])[1] if "gold" in rows else None
    marks: dict[str, list[tuple[float, float]]] = {SECOND: [], ACCENT: []}
    for y, pieces in enumerate(rows.values()):
        line.draw(axes, y, fontsize=10)
        for offset in join_words(pieces)[1]:
            right, x = gold is None or offset in gold, line.positions[offset]
            marks[SECOND if right else ACCENT] += [(x, y - 0.42), (x, y + 0.42), (math.nan, math.nan)]
    for colour, points in marks.items():  # One line with gaps is a small file.
        axes.plot(*zip(*points, strict=True) if points else ([], []), color=colour, linewidth=1.5)
    line.bare(axes, list(rows))
    if gold is not None:
        axes.set_xlabel("blue: a boundary of the gold words; red: none", fontsize=8)
    save(figure, path)


def draw_sentence(example: Mapping[str, list[str]], path: Path, formats: Sequence[str] = ("png", "svg")) -> None:
    """The picture of README.md: a row of boxes for each method, a box for each segment; gold words are filled.

    example: configuration -> the words of a sentence; `gold` are the gold words, in the first row.
    """
    gold, rows = example["gold"], {label: example[name] for name, label in _CUT.items() if name in example}
    line, count = in_cells("".join(gold)), len(rows) + 1
    figure, ((axes,),) = grid(1, 1, (3.1 + 0.31 * len(line.cells), 0.35 + 0.42 * count))
    figure.set_facecolor("white")
    gold_spans = set(line.spans(gold))
    for y, words in enumerate([gold, *rows.values()]):
        shades = [INK] * len(line.cells)
        for start, end in line.spans(words):
            right = (start, end) in gold_spans
            colour = INK if y == 0 else SECOND if right else ACCENT
            inside = {"facecolor": colour if right else "white", "edgecolor": colour, "alpha": 1.0 if right else 0.85}
            corner, rounded = (start + 0.13, y - 0.36), "round,pad=0,rounding_size=0.16"
            axes.add_patch(
                FancyBboxPatch(corner, end - start - 0.26, 0.72, boxstyle=rounded, linewidth=1.1, **inside)  # type: ignore[arg-type]
            )
            for place in range(math.ceil(start - 0.5), math.ceil(end - 0.5)):
                shades[place] = "white" if right else INK
        line.draw(axes, y + 0.02, shades, fontsize=11)
    line.bare(axes, ["gold words", *rows])
    axes.set_xlabel("filled: a gold word; outlined: another segment", color=SOFT)
    save(figure, path, formats=formats)


def draw_loss(losses: pl.DataFrame, path: Path, unit: str = "character") -> None:
    """Loss of a language model during training. Columns: step, training, held_out (nats per `unit`)."""
    figure, ((axes,),) = grid(1, 1, (7, 3.6))
    for column, colour, name in (("training", INK, "training"), ("held_out", ACCENT, "held out")):
        curve(axes, losses["step"], losses[column], color=colour, label=name)
    axes.set(xlabel="step", ylabel=f"loss (nats per {unit})")
    whole_numbers(axes)
    save(figure, path, legend=4)
