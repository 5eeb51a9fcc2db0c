"""Ways of cutting on equal terms: the tables of `evaluate_compared`, and the answer for each corpus.

Bits per byte at equal operations and at equal bytes, units of the test text, and robustness. The verdict is that of
`tokenlab.comparison.verdict`, by intervals that hold for many methods at once.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import polars as pl

from tasks.report.inputs import corpus_facts, notes_of, read_parts
from tasks.report.summary import Finding
from tasks.report.table import Column, Table, shown, tabulate
from tasks.runtime.stage import Stage, read_json

_VERDICT = (
    "verdict: worse where the distance from the best (behind) exceeds its 95 % interval, over seeds and the draw of "
    "test documents; one seed gives no verdict"
)
_CURVE = (
    "at a quarter, at half: of the same training, whose learning rate falls over all of it, on the beginning of the "
    "test text"
)
_EXACT = (
    "exact: the sum over all encodings of {texts} bytes of test text, by the model of the first seed; gap: bits per "
    "byte that the tokenizer's own encoding takes more"
)
_NGRAMS = "every model is worse than the n-grams, which are of all the training text: the budget is small"
_COSTS = "Mops/byte: operations of a forward pass, what reading or generating a byte costs"
_UNITS = (
    "tokens, or patches where there are some; fertility: units a word; errors: passages that are not decoded to "
    "themselves; F1: of boundaries"
)
_PERTURBED = "bits of the perturbed text over the bytes of the text as it was; what changes no text is left out"


class ComparedResults(NamedTuple):
    """The tables of all corpora, and the answers."""

    corpora: dict[str, list[Table]]
    answers: list[Table]
    findings: list[Finding]

    @property
    def main(self) -> list[Table]:
        """The tables of results.txt: those of equal operations, and the answers."""
        return [*(tables[0] for tables in self.corpora.values()), *self.answers]

    @property
    def all(self) -> list[Table]:
        """The tables that are written as files."""
        return [*(table for tables in self.corpora.values() for table in tables), *self.answers]


def compared_results(stage: Stage) -> ComparedResults:
    """Read the results of a preset."""
    scores = read_parts(stage, "compared.corpora", "compared", "scores.parquet")
    ngrams = read_parts(stage, "compared.corpora", "compared", "ngrams.parquet")
    robustness = read_parts(stage, "compared.corpora", "compared", "robustness.parquet")
    if scores is None or ngrams is None or robustness is None:
        return ComparedResults({}, [], [])
    corpora, rows = {}, []
    for (key,), of_corpus in scores.group_by("name", maintain_order=True):
        name = str(key)
        notes = notes_of([corpus_facts(stage, of_corpus["corpus"][0])])
        answers = read_json(stage.reports("compared", name, "answers.json"))
        ordered = of_corpus.sort(_mean_of_flops(), maintain_order=True)
        corpora[name] = [
            _flops_table(name, ordered.filter(budget="flops"), ngrams.filter(name=name), answers["flops"], notes),
            *_bytes_tables(name, ordered.filter(budget="bytes"), answers, notes),
            _units_table(name, ordered.filter(budget="flops"), notes),
            *_robustness_tables(name, robustness.filter(name=name), notes),
        ]
        rows.append(_answer(name, ordered.filter(budget="flops"), answers["flops"]))
    answers = [Table("compared-answers", "How should this text be cut?", _ANSWER_COLUMNS, rows, [_VERDICT], "use")]
    if len(rows) > 1:
        notes = notes_of(corpus_facts(stage, corpus) for corpus in scores["corpus"].unique(maintain_order=True))
        answers.append(_corpora_table(scores.filter(budget="flops"), ngrams, notes))
    findings = [Finding(f"compared-{row[0]}", f"{row[0]}: {row[-1]}") for row in rows]
    return ComparedResults(corpora, answers, findings)


def _mean_of_flops() -> pl.Expr:
    """The mean bits per byte of a method at equal operations."""
    return pl.col("bits_per_byte").filter(pl.col("budget") == "flops").mean().over("method")


_METHOD = Column("method", "method")
_BITS = Column("bits/byte ↓", "bits_per_byte", "{:.3f}", spread=True, result=True)
_READING = Column("Mops/byte", "flops_per_byte", "{:.3f}", 1e-6, note=_COSTS)
_WEIGHTS = Column("weights", "parameters", "{:,}")


def _standing(rows: pl.DataFrame) -> str:
    behind, interval = rows.select("behind", "interval").row(0)
    return "" if behind is None else "best" if behind == 0 else "worse" if behind > interval else "not separable"


def _behind(rows: pl.DataFrame) -> str:
    behind, interval = rows.select("behind", "interval").row(0)
    return f"{behind:.3f} ± {interval:.3f}" if behind else ""


_VERDICTS = [Column("behind", _behind, optional=True), Column("verdict", _standing, optional=True, note=_VERDICT)]


def _flops_table(
    name: str, scores: pl.DataFrame, ngrams: pl.DataFrame, answer: Mapping[str, Any] | None, notes: list[str]
) -> Table:
    """A row for each method at equal operations, and the best n-gram model."""
    exact = f"{max(scores['exact_bytes'].drop_nulls().to_list(), default=0):,}"
    columns = [
        _METHOD,
        _BITS,
        *_VERDICTS,
        Column("at a quarter", "quarter", "{:.3f}", spread=True, note=_CURVE),
        Column("at half", "half", "{:.3f}", spread=True),
        _READING,
        _WEIGHTS,
        Column("MB read", "training_bytes", "{:.3g}", 1e-6),
        Column("epochs", "epochs", "{:.2f}"),
        Column("exact", "exact_bits_per_byte", "{:.3f}", optional=True, note=_EXACT.format(texts=exact)),
        Column("gap", _gap, "{:.4f}", optional=True),
    ]

    def below(_: pl.DataFrame) -> Iterator[list[str]]:
        for order, bits in ngrams.select("order", "bits_per_byte").iter_rows():
            yield [f"{order}-grams of bytes", shown(bits, "{:.3f}"), *[""] * (len(columns) - 2)]

    if scores["bits_per_byte"].to_numpy().min() > ngrams["bits_per_byte"].to_numpy().min():
        notes = [*notes, _NGRAMS]
    title = f"{name}: ways of cutting at {_largest(scores, 'training_flops'):.2g} training operations{_seeds(scores)}"
    return tabulate(
        f"compared-{name}", title, scores, columns, key=["method"], notes=[*notes, *_found(scores, answer)], after=below
    )


def _corpora_table(scores: pl.DataFrame, ngrams: pl.DataFrame, notes: list[str]) -> Table:
    """A row for each method and a column for each corpus: bits per byte at equal operations. The first row is the
    method that is the least behind the best, in the mean over its corpora."""
    corpora = scores["name"].unique(maintain_order=True)
    columns = [
        _METHOD,
        *(Column(name, "bits_per_byte", "{:.3f}", where={"name": name}, spread=True, result=True) for name in corpora),
    ]
    mean = pl.col("bits_per_byte").mean().over("name", "method")
    behind = (pl.col("mean") - pl.col("mean").min().over("name")).alias("behind_best")
    ordered = (
        scores.with_columns(mean=mean)
        .with_columns(behind)
        .sort(pl.col("behind_best").mean().over("method"), maintain_order=True)
    )

    def below(_: pl.DataFrame) -> Iterator[list[str]]:
        bits = dict(ngrams.select("name", "bits_per_byte").iter_rows())
        yield ["n-grams of bytes", *(shown(bits[name], "{:.3f}") for name in corpora)]

    title = f"Bits per byte ↓ of language models trained with equal operations, by way of cutting{_seeds(scores)}"
    return tabulate("compared-corpora", title, ordered, columns, key=["method"], notes=notes, after=below)


def _largest(scores: pl.DataFrame, column: str) -> float:
    return float(scores[column].to_numpy().max())


def _gap(rows: pl.DataFrame) -> float | None:
    exact, naive = (rows[column].drop_nulls() for column in ("exact_bits_per_byte", "naive_bits_per_byte"))
    return naive[0] - exact[0] if len(exact) else None


def _seeds(scores: pl.DataFrame) -> str:
    seeds = scores.group_by("name", "method").len()["len"].unique().sort().to_list()
    return f"; mean ± sd of {' or '.join(map(str, seeds))} seeds" if seeds[-1] > 1 else ""


def _found(scores: pl.DataFrame, answer: Mapping[str, Any] | None) -> list[str]:
    size = f"{scores['test_bytes'][0]:,} bytes of test text"
    if answer is None:
        return [size]
    return [f"{size}; differences from {answer['detectable']:.3f} bits per byte on are found in four of five cases"]


def _bytes_tables(name: str, scores: pl.DataFrame, answers: Mapping[str, Any], notes: list[str]) -> Iterator[Table]:
    """A row for each method at equal bytes of training text, where there was such a training."""
    if len(scores):
        columns = [_METHOD, _BITS, *_VERDICTS, Column("operations", "training_flops", "{:.2g}"), _READING, _WEIGHTS]
        title = (
            f"{name}: ways of cutting after {_largest(scores, 'training_bytes'):,.0f} bytes of training{_seeds(scores)}"
        )
        found = _found(scores, answers["bytes"])
        yield tabulate(f"compared-bytes-{name}", title, scores, columns, key=["method"], notes=[*notes, *found])


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
    return tabulate(
        f"compared-units-{name}", f"{name}: units of the test text", scores, columns, key=["method"], notes=notes
    )


def _robustness_tables(name: str, robustness: pl.DataFrame, notes: list[str]) -> Iterator[Table]:
    """What perturbations change: bits per byte, and boundaries."""
    kinds = robustness["perturbation"].unique(maintain_order=True).to_list()
    bits = [
        Column(kind, lambda rows: rows["bits_per_byte"] - rows["original"], "{:+.3f}", where={"perturbation": kind})
        for kind in kinds
    ]
    original = Column("as it was", lambda rows: rows["original"][0], "{:.3f}", note=_PERTURBED)
    title = f"{name}: bits per byte more on perturbed text"
    yield tabulate(f"robustness-{name}", title, robustness, [_METHOD, original, *bits], key=["method"], notes=notes)
    kept = [Column(kind, "boundaries_f1", "{:.1f}", 100, where={"perturbation": kind}) for kind in kinds]
    title = f"{name}: F1 of boundaries in perturbed text, with those of the text as it was; per cent"
    yield tabulate(f"boundaries-{name}", title, robustness, [_METHOD, *kept], key=["method"], notes=notes)


_ANSWER_COLUMNS = ["corpus", "use", "bits/byte ↓", "verdict", "why"]


def _answer(name: str, scores: pl.DataFrame, answer: Mapping[str, Any] | None) -> list[str]:
    """What to use; scores: at equal operations, the best method first."""
    use = scores["method"][0] if answer is None else answer["use"]
    bits = _BITS.cell(scores.filter(method=use))
    if answer is None:
        return [name, use, bits, "one run", f"{use} comes first with {bits} bits per byte in one run, no verdict."]
    return [name, use, bits, "best" if answer["separable"] else "not separable", answer["answer"]]
