"""`tokenlab entropy`: the entropy of a language model's prediction at every character of a text."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from tokenlab.cli.corpus import Corpus, add_corpus, add_json, open_corpus
from tokenlab.cli.options import (
    Commands,
    add_cluster,
    add_command,
    add_model_name,
    add_options,
    named_as_flags,
    options_from,
)
from tokenlab.cli.output import check_output, named_errors, tabbed, with_progress, write, written
from tokenlab.core.batches import in_batches
from tokenlab.core.files import atomic_file
from tokenlab.core.shards import ClusterOptions, map_shards, open_cluster
from tokenlab.entropy.options import DeviceOptions, ScoringOptions

if TYPE_CHECKING:
    from tokenlab.entropy.scored_lines import Line
    from tokenlab.entropy.scorer import Scorer

_ENDINGS = (".parquet", ".jsonl")


def add_parser(commands: Commands) -> None:
    parser = add_command(commands, _entropy, "how unsure a language model is at every character")
    add_corpus(parser, "sentence")
    add_model_name(parser)
    output = "write the values to this .parquet or .jsonl, and print nothing; `tokenlab segment --entropies` reads both"
    parser.add_argument("-o", "--output", metavar="FILE", help=output)
    add_json(
        parser,
        "print a line with `text` and `entropy`, a list with a value or null for each character; without, a line for "
        "each character, its value after a tab, and an empty line after each sentence",
    )
    add_scoring_options(parser)
    add_cluster(parser)


def add_scoring_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of scoring with a model."""
    group = parser.add_argument_group("language model")
    add_options(group, DeviceOptions)
    add_options(group, ScoringOptions, without=["unit"])  # The values are always one per character.


class Scoring(NamedTuple):
    """The scoring of blocks of lines, as it is sent to the processes that share it. Each loads the model once."""

    model: str
    place: DeviceOptions
    chosen: ScoringOptions
    text: str
    """The name of the text, for errors."""

    def score(self, lines: Sequence[str]) -> "list[Line]":
        """The lines with their entropies."""
        scorer = _scorer(self.model, self.place)
        with named_errors(self.text):
            return list(zip(lines, scorer.score(lines, self.chosen), strict=True))


@cache
def _scorer(model: str, place: DeviceOptions) -> "Scorer":
    import torch

    from tokenlab.entropy.scorer import load_scorer

    if place.threads is not None:
        torch.set_num_threads(place.threads)
    return load_scorer(model, place.device, place.dtype)


def scoring_of(
    text: Corpus, options: argparse.Namespace, cluster: ClusterOptions
) -> tuple[Scoring, Iterator[Sequence[str]]]:
    """The scoring of a text by the model and the options of the command line, and the blocks of its lines.

    The model is loaded, and its errors are raised, before the first line is read.
    """
    place, chosen = options_from(options, DeviceOptions), options_from(options, ScoringOptions)
    if cluster.shared and place.threads is None:
        place = replace(place, threads=1)
    with named_as_flags(DeviceOptions, ScoringOptions, model="--model"):
        scorer = _scorer(options.model, place)
        scorer.window(chosen)
    blocks = in_batches(
        with_progress(text.lines(), "scoring"), scorer.block_characters(chosen), size=lambda line: len(line) + 1
    )
    if cluster.shared:
        _scorer.cache_clear()  # It is loaded where it is needed.
    return Scoring(options.model, place, chosen, text.name), blocks


def _entropy(options: argparse.Namespace) -> None:
    """The entropy, in nats, of a causal language model's prediction at each character of a text, one sentence per line.
    Characters inside a token of the model have no value.
    """
    from tokenlab.entropy.scored_lines import json_line

    check_output("--output", options.output, [options.input], _ENDINGS)
    shared = options_from(options, ClusterOptions)

    def write_all(blocks: "Iterator[list[Line]]") -> None:
        lines = chain.from_iterable(blocks)
        if options.output is not None:
            with written(options.output):
                _write(lines, options.output)
            return
        for sentence, values in lines:
            if options.json:
                write(json_line(sentence, values))
            else:
                shown = ("" if value != value else f"{value:.6f}" for value in values.tolist())
                write(tabbed(zip(sentence, shown, strict=True)) + "\n")

    with open_corpus(options, checked=True) as text:
        scoring, blocks = scoring_of(text, options, shared)
        with open_cluster(shared) as cluster:
            map_shards(scoring.score, blocks, write_all, cluster)


def _write(lines: Iterator["Line"], name: str) -> None:
    from tokenlab.entropy.scored_lines import json_line, write_parquet

    if name.lower().endswith(".parquet"):
        write_parquet(lines, name)
        return
    with atomic_file(name) as temporary, temporary.open("wb") as file:
        for sentence, values in lines:
            file.write(json_line(sentence, values).encode())
