"""Decoding errors of texts that models over codes generate: Tables 6 and 13 of Latom, by kind, and constrained.

They are made from the table of `generate`: one row for each code, seed and way, free and constrained.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, get_args

import polars as pl

from tasks.report.inputs import all_generated, corpus_facts, notes_of, read_parts
from tasks.report.style import code_name
from tasks.report.table import Column, Table, of_seeds, read_paper, tabulate
from tasks.report.verdict import Spread, against, separable
from tasks.runtime.stage import Stage
from tokenlab.codes.interface import ViolationKind

RIVALS = {"byte": "bytes", "random": "random"}

_CODE = ["code", "N"]
OF_CODE = [Column("code", lambda rows: code_name(rows["code"][0])), Column("N", "N")]
"""The columns of a code."""

_OTHER_CORPUS = "paper: Amazon reviews and larger models, not these; mean ± sd of five seeds"
_WORDS = (
    "lower, higher: the means differ by more than the root of the sum of both squared deviations; random: of the same N"
)
_COST = (
    "constrained: probabilities of the tokens that the code allows, on the same validation texts, those without [UNK]; "
    "saved: bits per character that the free model spends on tokens that cannot be decoded"
)


def generation_tables(stage: Stage) -> list[Table]:
    """The tables of a preset; empty where it has no language models of codes."""
    scores = read_parts(stage, "downstream.language_models", "generate", "scores.parquet")
    if scores is None:
        return []
    facts = [corpus_facts(stage, name) for name in scores["name"].unique(maintain_order=True)]
    notes, generated = notes_of(facts), all_generated(facts)
    free = scores.filter(way="free")
    return [errors_table(free, notes, generated), verdicts_table(free, notes), kinds_table(free), costs_table(scores)]


def errors_table(free: pl.DataFrame, notes: Sequence[str], generated: bool) -> Table:
    """Tables 6 and 13: a row for each code, a column for each language, with the paper's beside it.

    generated: built-in text, beside which the paper's numbers mean nothing.
    """
    paper = {} if generated else read_paper("latom")["generation"]

    def printed(rows: pl.DataFrame, language: str) -> str | None:
        code, N = rows.select(_CODE).row(0)
        found = paper.get(code if N is None else f"{code}-{N}", {}).get(language)
        return None if found is None else "{:.2f} ± {:.2f}".format(*found)

    columns = [*OF_CODE, *beside_paper(free, "error_share", printed, _OTHER_CORPUS)]
    title = f"Generation: texts with a decoding error in per cent, {_drawn(free)}"
    return tabulate("generation-errors", title, free, columns, key=_CODE, notes=notes)


def beside_paper(scores: pl.DataFrame, share: str, printed: Callable[..., Any], note: str) -> Iterator[Column]:
    """For each language a column of this share in per cent, and of what the paper prints.

    printed: of the rows of a cell and a `language`.
    """
    for language in scores["language"].unique(maintain_order=True):
        yield Column(language, share, "{:.2f}", 100, where={"language": language}, spread=True, result=True)
        yield Column(f"paper {language}", partial(printed, language=language), optional=True, note=note)


def _drawn(scores: pl.DataFrame) -> str:
    return f"{scores['count'][0]:,} texts of each model{of_seeds(scores)}"


def verdicts_table(free: pl.DataFrame, notes: Sequence[str]) -> Table:
    """Each code against bytes and against random codes of the same N, for each language."""

    def cell(rows: pl.DataFrame, language: str, rival: str) -> str:
        code, N = rows.select(_CODE).row(0)
        of_language = free.filter(language=language)
        others = of_language.filter((pl.col("code") == rival) & pl.col("N").eq_missing(None if rival == "byte" else N))
        found = [Spread.of(some["error_share"]) for some in (rows.filter(language=language), others)]
        if code == rival or found[0] is None or found[1] is None:
            return ""
        return verdict_word(found[0], found[1])

    columns = [*OF_CODE]
    for language in free["language"].unique(maintain_order=True):
        columns += [
            Column(
                f"{language}, against {name}",
                partial(cell, language=language, rival=rival),
                optional=True,
                result=True,
            )
            for rival, name in RIVALS.items()
        ]
    title = "Generation: share of texts with a decoding error, against bytes and random codes"
    return tabulate("generation-verdicts", title, free, columns, key=_CODE, notes=[*notes, _WORDS])


def verdict_word(one: Spread, other: Spread) -> str:
    """Whether a mean is lower or higher than another, in a word; one run has no spread."""
    runs = min(spread.runs for spread in (one, other) if spread.runs is not None)
    return against(one.mean - other.mean, separable(one, other), runs)


def _share(rows: pl.DataFrame, kind: str) -> pl.Series:
    return rows[kind] / rows["count"]


def kinds_table(free: pl.DataFrame) -> Table:
    """The kind of the first error of a text."""
    columns = [
        Column("language", "language"),
        *OF_CODE,
        *(
            Column(kind, partial(_share, kind=kind), "{:.2f}", 100, spread=True, result=True)
            for kind in get_args(ViolationKind)
        ),
    ]
    title = f"Generation: texts in per cent by the kind of their first decoding error, {_drawn(free)}"
    return tabulate("generation-kinds", title, free, columns, key=["language", *_CODE])


def costs_table(scores: pl.DataFrame) -> Table:
    """Bits per character, and what the constraint takes of errors and bits."""
    free, bound = {"way": "free"}, {"way": "constrained"}

    def wrong(rows: pl.DataFrame) -> str:
        return f"{round((rows['error_share'] * rows['count']).sum()):,} of {rows['count'].sum():,}"

    def saved(rows: pl.DataFrame) -> pl.Series:
        by_seed = [rows.filter(**way).sort("seed")["bits_of_scored"] for way in (free, bound)]
        return by_seed[0] - by_seed[1]

    columns = [
        Column("language", "language"),
        *OF_CODE,
        Column("bits/character", "bits_per_character", "{:.3f}", where=free, spread=True),
        Column("free", "bits_of_scored", "{:.3f}", where=free, spread=True, note=_COST),
        Column("constrained", "bits_of_scored", "{:.3f}", where=bound, spread=True),
        Column("saved", saved, "{:.4f}", spread=True, result=True),
        Column("errors, free", wrong, where=free),
        Column("errors, constrained", wrong, where=bound),
    ]
    title = "Generation: bits per character of validation text, and the constraint"
    return tabulate("generation-costs", title, scores, columns, key=["language", *_CODE])
