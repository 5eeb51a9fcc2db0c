"""The segmentation family: Table 1 of the entropy paper for each corpus, a short one with word F1 alone, exported
tokenizers, and texts that are segmented by statistics of the text itself.

They are made from the scores of `evaluate_segmentation` (one row for each training text `subset` or `full`, seed,
configuration and use of BPE `none`, `raw` or `pretokenized`), `export` and `own_text`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from tasks.report.inputs import corpus_facts, pictures, read_table, trained_models
from tasks.report.measures import SHARES, metric_columns
from tasks.report.style import OWN_METHODS
from tasks.report.table import Column, Results, Table, read_paper, tabulate
from tasks.report.verdict import Ours, Spread
from tasks.runtime.stage import Stage, read_json
from tokenlab.metrics.registry import SEGMENTATION, Metric

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

_RULES = {"none": "", "slm": "; digits, Latin letters and punctuation by the rules of SLM"}


_CONFIGURATION = Column("method", lambda rows: named(rows["configuration"][0], rows["configuration"][0]))
_LAMBDA = Column("λ", "lambda", "{:g}")


def segmentation_results(stage: Stage) -> Results:
    """Read the results of a preset."""
    own_texts = []
    for name in stage.parameters("segmentation.own_text", dict[str, Any]):
        scores = pl.read_parquet(stage.reports("own_text", name, "scores.parquet"))
        own_texts.append(own_text_table(scores, corpus_facts(stage, scores["corpus"][0])))
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
    scores, exported = (
        pl.read_parquet(stage.reports(folder, name, "scores.parquet")) for folder in ("segmentation", "export")
    )
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
        columns, notes = [Column("method", _label), _LAMBDA], facts["notes"]
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

    def label(rows: pl.DataFrame) -> str:
        configuration = rows["configuration"][0]
        return named(_SUMMARISED[configuration], configuration)

    columns = [
        Column("method", label),
        Column("paper BPE", lambda rows: paper.get(_paper_row(rows), {}).get("f1"), "{:.2f}", note=_MEASURE),
    ]
    for training, size in sizes.items():
        for what, bpe in (("BPE", "raw"), ("segments", "none")):
            columns.append(_f1(f"{what}, {size:,}", bpe, training=training))
    known = [scores.filter(configuration=configuration) for configuration in _SUMMARISED]
    title = (
        f"{facts['corpus']}: word F1 of the segments and of BPE tokens, trained on {sizes['subset']:,} sentences and "
        f"on {sizes['full']:,}; mean ± sd of {scores['seed'].n_unique()} draws"
    )
    name, key = f"segmentation-{facts['corpus']}-summary", ["configuration"]
    return tabulate(name, title, pl.concat(known), columns, key=key, notes=facts["notes"])


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
    notes = [*facts["notes"], *(f"{name} is left out: {reason}" for name, reason in left_out.items())]
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

    def share(heading: str, column: str, rivals: Sequence[Spread] = ()) -> Column:
        def judged(rows: pl.DataFrame) -> Spread | None:
            return Spread.of(rows[column], by_chance=parts > 1 or rows["seed"].null_count() == 0)

        return Column(heading, column, "{:.1f}", 100, spread=True, best="largest", judged=judged, rivals=rivals)

    columns = [
        _CONFIGURATION,
        _LAMBDA,
        Column("P", "precision", "{:.1f}", 100),
        Column("R", "recall", "{:.1f}", 100),
        share("F1", "f1", [Spread(row["f1"] / 100, 0.0) for row in beside.values()]),
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
    return tabulate(
        name, title, scores, columns, key=["configuration"], notes=facts["notes"], after=lambda part: printed
    )
