"""The downstream family: weighted F1 of classifiers in every cut of a corpus, and its difference to characters, bytes.

They are made from the tables of `classify`: of scores, one row for each cut, model and seed, and of comparisons, one
for each cut, model and rival over the same test texts and seeds.
"""

from functools import partial
from typing import Any, NamedTuple

import polars as pl

from tasks.report.codes import size_text
from tasks.report.generation import OF_CODE, beside_paper, generation_tables
from tasks.report.inputs import all_generated, corpus_facts, notes_of, read_parts
from tasks.report.latom_claims import claims_tables
from tasks.report.table import Column, Table, of_seeds, read_paper, tabulate
from tasks.report.verdict import against
from tasks.runtime.stage import Stage, read_json

RIVALS = {"character": "characters", "byte": "bytes"}

_OTHER_CORPUS = "paper: five classes of stars of Amazon reviews, not these texts; means of five seeds"
_PAIRED = (
    "higher, lower: the difference exceeds its deviation, by the seeds and by the draw of the test texts together; "
    "otherwise not separable"
)
_CUT = ["size", "tokenizer", "code", "N"]


class DownstreamResults(NamedTuple):
    """What the page shows; everything may be empty."""

    classification: list[Table]
    generation: list[Table]
    claims: list[Table]

    @property
    def main(self) -> list[Table]:
        """The tables of results.txt."""
        shown = ("classification-f1-", "generation-errors", "latom-claims")
        return [table for table in self.all if table.name.startswith(shown)]

    @property
    def all(self) -> list[Table]:
        """The tables that are written as files."""
        return [*self.classification, *self.generation, *self.claims]


def downstream_results(stage: Stage) -> DownstreamResults:
    """Read the results of a preset."""
    return DownstreamResults(classification_tables(stage), generation_tables(stage), claims_tables(stage))


def classification_tables(stage: Stage) -> list[Table]:
    """The tables of a preset; empty where nothing is classified."""
    scores = read_parts(stage, "downstream.classified", "classify", "scores.parquet")
    pairs = read_parts(stage, "downstream.classified", "classify", "compared.parquet")
    if scores is None or pairs is None:
        return []
    names = scores["name"].unique(maintain_order=True)
    facts = [corpus_facts(stage, name) for name in names]
    metrics = {name: read_json(stage.reports("classify", name, "metrics.json")) for name in names}
    notes, generated = notes_of(facts), all_generated(facts)
    guesses = ", ".join(f"{100 * metrics[name]['most_frequent_f1']:.2f} ({name})" for name in names)
    guessing = f"always the most frequent class: {guesses}"
    tables = []
    for (model,), of_model in scores.group_by("model", maintain_order=True):
        tables.append(f1_table(of_model, str(model), [*notes, guessing], generated))
        if len(of_pairs := pairs.filter(model=model)):
            tables.append(verdict_table(of_pairs, str(model), notes))
    return [*tables, texts_table(scores, metrics, notes, generated), training_table(scores, notes)]


_OF_CUT = [
    Column("|V|", lambda rows: size_text(label) if (label := rows["size"][0]) else ""),
    Column("tokenizer", "tokenizer"),
    *OF_CODE,
]


def f1_table(scores: pl.DataFrame, model: str, notes: list[str], generated: bool) -> Table:
    """Tables 5, 11 and 14: a row for each cut, a column for each language, with the paper's beside it.

    generated: built-in text, beside which the paper's numbers mean nothing.
    """
    paper = {} if generated else read_paper("latom")["classification"].get(model, {})

    def printed(rows: pl.DataFrame, language: str) -> float | None:
        code, N, tokenizer, size = rows.select("code", "N", "tokenizer", "size").row(0)
        of_size = paper.get(size, {}) if tokenizer == "bpe" else {}
        return of_size.get(code if N is None else f"{code}-{N}", {}).get(language)

    columns = [*_OF_CUT, *beside_paper(scores, "f1", printed, _OTHER_CORPUS)]
    title = f"Classification, {model}: weighted F1 in per cent{of_seeds(scores)}"
    return tabulate(f"classification-f1-{model}", title, _by_size(scores), columns, key=_CUT, notes=notes)


def _by_size(scores: pl.DataFrame) -> pl.DataFrame:
    """The scores with all codes of a size together, in the order of the sizes."""
    sizes = {size: number for number, size in enumerate(scores["size"].unique(maintain_order=True))}
    return scores.sort(pl.col("size").replace_strict(sizes), maintain_order=True)


def verdict_table(pairs: pl.DataFrame, model: str, notes: list[str]) -> Table:
    """Each code against characters and bytes at the same |V|, for each language."""

    def cell(rows: pl.DataFrame) -> str:
        if not len(rows):
            return ""
        row = rows.row(0, named=True)
        word = against(row["difference"], row["separable"], row["runs"])
        return f"{word}: {100 * row['difference']:+.2f} ± {100 * row['deviation']:.2f}"

    columns = [*_OF_CUT]
    for language in pairs["language"].unique(maintain_order=True):
        columns += [
            Column(
                f"{language}, against {name}",
                cell,
                where={"language": language, "rival": rival},
                optional=True,
                result=True,
            )
            for rival, name in RIVALS.items()
        ]
    title = f"Classification, {model}: difference of weighted F1 to characters and to bytes, in points"
    return tabulate(
        f"classification-verdicts-{model}", title, _by_size(pairs), columns, key=_CUT, notes=[*notes, _PAIRED]
    )


def texts_table(scores: pl.DataFrame, metrics: dict[str, Any], notes: list[str], generated: bool) -> Table:
    """Table 10: |C| of the text that codes were learned from, and K; with the numbers of labelled texts."""
    paper = {} if generated else read_paper("latom")["reviews"]

    def ours(rows: pl.DataFrame, name: str) -> int:
        found = metrics[rows["name"][0]]
        return found["texts"][name] if name in found["texts"] else found[name]

    def printed(rows: pl.DataFrame, N: int | None = None) -> int | None:
        found = paper.get(rows["language"][0], {})
        return found.get("characters") if N is None else found.get("K", {}).get(N)

    numbers = {"train": "train", "validation": "validation", "test": "test", "classes": "classes", "|C|": "characters"}
    columns = [
        Column("language", "language"),
        *(Column(heading, partial(ours, name=name), "{:,}") for heading, name in numbers.items()),
        Column("paper |C|", printed, "{:,}", optional=True, note=_OTHER_CORPUS),
    ]
    for N in sorted(scores["N"].drop_nulls().unique()):
        columns += [
            Column(f"K, N = {N}", lambda rows: rows["K"].min(), where={"N": N}, result=True),
            Column(f"paper K, N = {N}", partial(printed, N=N), optional=True),
        ]
    title = "Labelled texts, and the smallest K with K^N of at least |C|"
    return tabulate("classification-texts", title, scores, columns, key=["name"], notes=notes)


def training_table(scores: pl.DataFrame, notes: list[str]) -> Table:
    """Lengths, padding and text seen by each model; the linear control has lengths alone."""
    columns = [
        Column("language", "language"),
        Column("model", "model"),
        *_OF_CUT,
        Column("entries", "vocabulary", "{:,.0f}"),
        Column("tokens/text", "tokens_per_text", "{:.1f}", result=True),
        Column("padding %", "padding", "{:.1f}", 100),
        Column("epochs", "epochs", "{:.2f}"),
        Column("weights", "parameters", "{:,.0f}"),
    ]
    title = "Classification: what the models read"
    return tabulate("classification-training", title, scores, columns, key=["language", "model", *_CUT], notes=notes)
