"""The results of the patch models for the page: tables, pictures and samples."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tasks.report.inputs import read_parts
from tasks.report.tables.patch_tables import costs_table, longest_table, models_table, vocabulary_table
from tasks.report.tables.patcher_tables import (
    boundaries_table,
    examples_table,
    merges_table,
    patchers_table,
    zero_shot_table,
)
from tasks.report.tables.table import Table
from tasks.runtime.stage import Stage, read_json


class PatchResults(NamedTuple):
    """What the page shows; everything may be empty."""

    models: list[Table]
    """bits per byte of all patchers, and costs"""
    ablations: list[Table]
    """vocabularies, S"""
    patchers: list[Table]
    """lengths, boundaries, the second BPE"""
    zero_shot: list[Table]
    examples: list[Table]
    pictures: dict[str, Path]
    """name -> path: `tokens`, `lengths`, `training`, `vocabulary`, `longest`, those that are there"""

    @property
    def main(self) -> list[Table]:
        """The tables of results.txt."""
        return [*self.models[:1], *self.zero_shot]

    @property
    def all(self) -> list[Table]:
        """The tables that are written as files. Examples are on the page alone: they quote corpora, which may not be
        passed on."""
        return [*self.models, *self.ablations, *self.patchers, *self.zero_shot]


def patch_results(stage: Stage) -> PatchResults:
    """Read the results of a preset."""
    pictures = {path.stem: path for path in sorted(stage.reports("figures", "patches").glob("*.svg"))}
    merges = read_parts(stage, "patches.tokenizers", "patch_tokenizers", "merges.parquet")
    of_tokenizers = [] if merges is None else [merges_table(merges)]
    patchers = read_parts(stage, "patches.corpora", "patches", "patchers.parquet")
    scores = read_parts(stage, "patches.models", "patch_scores", "scores.parquet")
    zero_shot = _zero_shot(stage)
    if patchers is None or scores is None:
        return PatchResults([], [], of_tokenizers, zero_shot, [], pictures)
    facts = corpus_facts(stage)
    sources = {name: of_one["source"] for name, of_one in facts.items()}
    notes, gold = _together(of_one["notes"] for of_one in facts.values()), _gold_notes(stage)
    ablations = [table for table in (vocabulary_table(scores, notes), longest_table(scores, notes)) if table]
    models = stage.parameters("patches.models", dict[str, Any])
    found = {name: read_json(stage.reports("patch_scores", name, "examples.json"))["examples"] for name in models}
    return PatchResults(
        [models_table(scores, sources, notes), costs_table(scores, sources, notes)],
        ablations,
        [
            patchers_table(patchers, sources, notes),
            boundaries_table(patchers, scores, _together([notes, gold])),
            *of_tokenizers,
        ],
        zero_shot,
        [examples_table(name, examples) for name, examples in found.items() if examples],
        pictures,
    )


def corpus_facts(stage: Stage) -> dict[str, dict[str, Any]]:
    """Key of `patches.corpora` -> facts about its corpus, as `prepare` writes them."""
    parameters = stage.parameters("patches.corpora", dict[str, Any])
    return {key: read_json(stage.reports("corpora", f"{of_one['corpus']}.json")) for key, of_one in parameters.items()}


def _gold_notes(stage: Stage) -> list[str]:
    """Whose gold words boundaries are compared with, and the notes of these corpora."""
    parameters = stage.parameters("patches.corpora", dict[str, Any])
    names = {key: of_one["gold"] for key, of_one in parameters.items() if of_one.get("gold")}
    facts = [read_json(stage.reports("corpora", f"{name}.json")) for name in names.values()]
    texts = [f"{key}: words are the gold words of {name}" for key, name in names.items() if name != key]
    return [*_together(of_one["notes"] for of_one in facts), *texts]


def _zero_shot(stage: Stage) -> list[Table]:
    """The table of zero-shot tasks; none where no model was asked."""
    scores = read_parts(stage, "patches.zero_shot", "zero_shot", "zero_shot.parquet")
    if scores is None:
        return []
    facts = corpus_facts(stage)
    asked = {name: facts[name] for name in scores["corpus"].unique(maintain_order=True)}
    notes = _together(of_one["notes"] for of_one in asked.values())
    return [zero_shot_table(scores, {name: of_one["source"] for name, of_one in asked.items()}, notes)]


def _together(notes: Iterable[list[str]]) -> list[str]:
    """Every note once."""
    return list(dict.fromkeys(note for of_corpus in notes for note in of_corpus))
