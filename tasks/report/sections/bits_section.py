"""The results of the bits family for the page: tables, pictures, and facts about the translation models."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tasks.report.inputs import read_lengths, read_parts
from tasks.report.tables.bits_tables import (
    choices_table,
    comparison_table,
    corpus_table,
    dead_table,
    entropy_table,
    front_tables,
    savings_table,
    tokenizers_table,
)
from tasks.report.tables.table import Table
from tasks.report.tables.translation_tables import error_table, translation_examples, translation_table
from tasks.runtime.stage import Stage, read_json


class BitsResults(NamedTuple):
    """What the page shows; everything may be empty."""

    lengths: list[Table]
    """of all corpora: savings, real tokenizers, entropy, codes without merges"""
    splits: list[Table]
    """of the search for better ones"""
    corpora: list[Table]
    """of each corpus: every length, and the front of the search"""
    translation: list[Table]
    examples: list[Table]
    pictures: dict[str, Path]
    """name -> path: `savings`, `search`, `translation`, `loss`, those that are there"""

    @property
    def main(self) -> list[Table]:
        """The tables of results.txt."""
        return [*self.lengths[:1], *self.translation[:1]]

    @property
    def all(self) -> list[Table]:
        """The tables that are written as files. Examples are on the page alone: they quote corpora, which may not be
        passed on."""
        return [*self.lengths, *self.splits, *self.corpora, *self.translation]


def bits_results(stage: Stage) -> BitsResults:
    """Read the results of a preset."""
    folder = stage.reports("figures", "bits")
    pictures = {path.stem: path for path in sorted(folder.glob("*.svg"))}
    lengths, splits, corpora = _lengths(stage)
    translation, examples = _translation(stage)
    return BitsResults(lengths, splits, corpora, translation, examples, pictures)


def _lengths(stage: Stage) -> tuple[list[Table], list[Table], list[Table]]:
    """The tables of all lengths, of the search, and of each corpus."""
    lengths, search = read_lengths(stage), read_parts(stage, "bits.corpora", "bits", "search.parquet")
    if lengths is None or search is None:
        return [], [], []
    names = lengths["corpus"].unique(maintain_order=True).to_list()
    notes = {name: _facts(stage, name)["notes"] for name in names}
    of_all = _together(notes.values())
    tables = [make(lengths, of_all) for make in (savings_table, tokenizers_table, entropy_table, comparison_table)]
    of_corpora = [corpus_table(lengths, name, notes[name]) for name in names]
    return (
        [*(table for table in tables if table), dead_table(lengths)],
        [choices_table(search, of_all)],
        of_corpora + front_tables(search, of_all),
    )


def _translation(stage: Stage) -> tuple[list[Table], list[Table]]:
    """The tables of all pairs, and translated sentences."""
    scores = read_parts(stage, "bits.translation", "translation", "scores.parquet")
    if scores is None:
        return [], []
    pairs = stage.parameters("bits.translation", dict[str, Any])
    facts = {name: [_facts(stage, pair[side]) for side in ("source", "target")] for name, pair in pairs.items()}
    generated = {name for name, both in facts.items() if any(corpus["origin"] == "generated" for corpus in both)}
    notes = _together(corpus["notes"] for both in facts.values() for corpus in both)
    found = {name: read_json(stage.reports("translation", name, "examples.json"))["examples"] for name in pairs}
    examples = [translation_examples(name, of_pair) for name, of_pair in found.items() if of_pair]
    return [translation_table(scores, generated, notes), error_table(scores, notes)], examples


def _facts(stage: Stage, corpus: str) -> dict[str, Any]:
    return read_json(stage.reports("corpora", f"{corpus}.json"))


def _together(notes: Iterable[list[str]]) -> list[str]:
    """Every note once."""
    return list(dict.fromkeys(note for of_corpus in notes for note in of_corpus))
