"""`tokenlab entropy`: the entropy of a language model's prediction at every character of a text."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

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
from tokenlab.core.errors import ParameterError
from tokenlab.core.files import atomic_file
from tokenlab.core.shards import ClusterOptions, map_shards, open_cluster
from tokenlab.entropy.options import DeviceOptions, ScoringOptions

if TYPE_CHECKING:
    from tokenlab.entropy.scored_lines import Line
    from tokenlab.entropy.scorer import Scorer

_ENDINGS = (".parquet", ".jsonl")
ONE_THREAD = (
    "Each of several processes scores with one thread, unless --threads says otherwise; values agree up to rounding."
)


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
    add_cluster(parser, ONE_THREAD)


def add_scoring_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of scoring with a model."""
    group = parser.add_argument_group("language model")
    add_options(group, DeviceOptions)
    add_options(group, ScoringOptions, without=["unit"])  # The values are always one per character.


class Scoring(NamedTuple):
    """The scoring of blocks of lines, as it is sent to the processes that share it. Each loads the model once."""

    run: str
    """Tells runs apart: a worker of Dask outlives them, and the model in a folder may change."""
    model: str
    place: DeviceOptions
    chosen: ScoringOptions
    text: str
    """The name of the text, for errors."""

    def scorer(self) -> "Scorer":
        """Raises InputError and ParameterError as `load_scorer`."""
        with _LOADING, named_as_flags(DeviceOptions, model="--model"):  # Threads of a worker load one after the other.
            return _loaded(self.run, self.model, self.place)

    def score(self, lines: Sequence[str]) -> "list[Line]":
        """The lines with their entropies."""
        scorer = self.scorer()
        with named_errors(self.text):
            return list(scorer.score_stream(lines, self.chosen))


_LOADING = Lock()


@lru_cache(maxsize=1)
def _loaded(run: str, model: str, place: DeviceOptions) -> "Scorer":
    import torch

    from tokenlab.entropy.scorer import load_scorer

    if place.threads is not None:
        torch.set_num_threads(place.threads)
    return load_scorer(model, place.device, place.dtype)


def scoring_of(
    text: Corpus, options: argparse.Namespace, cluster: ClusterOptions
) -> tuple[Scoring, Iterator[Sequence[str]]]:
    """The scoring of a text by the model and the options of the command line, and the blocks of its lines.

    The model is loaded, and its errors are raised, before the first line is read; on the CPU where others score.
    """
    place, model = options_from(options, DeviceOptions), options.model
    if cluster.shared:
        place = place if place.threads is not None else replace(place, threads=1)
        model = str(Path(model).resolve()) if Path(model).is_dir() else model  # They may run in another folder.
    scoring = Scoring(uuid4().hex, model, place, options_from(options, ScoringOptions), text.name)
    loaded = scoring._replace(place=replace(place, device="cpu")) if cluster.shared else scoring
    scorer = loaded.scorer()
    with named_as_flags(ScoringOptions):
        scorer.window(scoring.chosen)
    size = scorer.block_characters(scoring.chosen)
    blocks = in_batches(with_progress(text.lines(), "scoring"), size, size=lambda line: len(line) + 1)
    if cluster.shared:
        _loaded.cache_clear()
    return scoring, blocks


def _entropy(options: argparse.Namespace) -> None:
    """The entropy, in nats, of a causal language model's prediction at each character of a text, one sentence per line.
    Characters inside a token of the model have no value.
    """
    from tokenlab.entropy.scored_lines import json_line

    check_output("--output", options.output, [options.input], _ENDINGS)
    if options.json and options.output is not None:
        raise ParameterError("--json has no meaning with --output, whose format goes by the name; leave it out")
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
