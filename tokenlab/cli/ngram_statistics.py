"""`tokenlab statistics`: counts, PMI and branching entropies of all n-grams of a text."""

import argparse
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenlab.cli.corpus import Corpus, add_corpus, add_json, open_corpus, open_source
from tokenlab.cli.options import Commands, add_command, add_options, add_shards, options_from, shards_from
from tokenlab.cli.output import check_output, json_line, named_errors, tabbed, with_progress, write, written
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import atomic_file
from tokenlab.core.options import MemoryOptions, check_least
from tokenlab.core.shards import ClusterOptions, open_cluster
from tokenlab.ngrams.options import StatisticsOptions

if TYPE_CHECKING:
    from tokenlab.ngrams.counting import NgramStatistics

_TOP = 20
_ALL = MemoryOptions()
_HERE = ClusterOptions()
_OTHER_TABLES = (".csv", ".tsv", ".jsonl")
_ENDINGS = (".parquet", *_OTHER_TABLES)
_COLUMN = '"min_pmi"'
"""Stands in the first line of these tables, and hardly in that of a text."""


def add_parser(commands: Commands) -> None:
    parser = add_command(commands, _statistics, "count n-grams; their PMI and branching entropies")
    add_corpus(parser, "sentence")
    every = "write all n-grams to this .csv, .tsv, .jsonl or .parquet; `segment --statistics-from` reads .parquet"
    parser.add_argument("-o", "--output", metavar="FILE", help=every)
    top = f"print the N most frequent n-grams (default {_TOP}; none with -o)"
    parser.add_argument("--top", type=int, metavar="N", help=top)
    add_json(parser, "print the rows as JSON, an object a line")
    add_options(parser.add_argument_group("statistics"), StatisticsOptions)
    add_shards(parser)


def add_statistics_from(target: argparse._ActionsContainer, **settings: Any) -> None:
    """Add `--statistics-from`, which `statistics_of` reads."""
    source = "count in this text instead of INPUT, or use the Parquet of `tokenlab statistics` with the same options"
    target.add_argument("--statistics-from", metavar="FILE", help=source, **settings)


def _statistics(options: argparse.Namespace) -> None:
    """Count all n-grams of a text, one sentence per line, and compute their smallest adjacent PMI and their left and
    right branching entropy.
    """
    top = options.top if options.top is not None else (_TOP if options.output is None else 0)
    check_least("--top", top, 0)
    check_output("--output", options.output, [options.input], _ENDINGS)
    if options.json and not top:
        raise ParameterError("--json has no meaning where no rows are printed; leave it out, or name --top")
    counted, (memory, place) = options_from(options, StatisticsOptions), shards_from(options)
    with open_corpus(options) as text:
        statistics = count_text(text, counted, memory, place, options.output)
    if options.output is not None:
        with written(options.output):
            _write(statistics, options.output)
    if top:
        write(_most_frequent(statistics, top, options.json))


def count_text(
    text: Corpus,
    options: StatisticsOptions,
    memory: MemoryOptions,
    place: ClusterOptions = _HERE,
    output: str | None = None,
) -> "NgramStatistics":
    """The statistics of a text. output: where they will be written, so that there is room for temporary files, too."""
    from tokenlab.ngrams.counting import ngram_statistics
    from tokenlab.ngrams.sharded import in_shards, sharded_statistics

    with named_errors(text.name):
        lines = with_progress(text.lines(), "counting")
        if memory.memory is None:
            return ngram_statistics(lines, options)
        folder = None if output is None else Path(output).resolve().parent
        with open_cluster(place) as cluster:
            return sharded_statistics(in_shards(lines, memory.bytes), options, memory.bytes, folder, cluster)


def statistics_of(
    text: Corpus, source: str | None, options: StatisticsOptions, memory: MemoryOptions = _ALL
) -> "NgramStatistics":
    """The statistics of another text, or those in a Parquet file, where `source` names one; else of this text."""
    from tokenlab.ngrams.table import is_parquet, read_statistics
    from tokenlab.text.lines import read_lines

    if source is None:
        return count_text(text, options, memory)
    if not is_parquet(source):
        if (
            source.lower().endswith(_OTHER_TABLES)
            and Path(source).is_file()
            and _COLUMN in next(read_lines(source, longest_line=text.longest_line), "")
        ):
            raise InputError(f"{source}: a table of n-grams, which is read in Parquet alone; write it as .parquet")
        with open_source(source, longest_line=text.longest_line) as counted:
            return count_text(replace(counted, text_key=text.text_key), options, memory)
    if memory.memory is not None:
        raise ParameterError(f"--memory bounds counting, and {source} holds counts; leave it out")
    statistics = read_statistics(source)
    if statistics.options != options:
        theirs, ours = vars(statistics.options), vars(options)
        differences = [f"{name} {theirs[name]} there, {ours[name]} here" for name in ours if theirs[name] != ours[name]]
        raise InputError(f"{source}: made with other options ({', '.join(differences)}); give equal ones")
    return statistics


def _write(statistics: "NgramStatistics", name: str) -> None:
    """Write every n-gram, atomically, in the format of the name's ending."""
    import pyarrow as pa
    import pyarrow.csv as pc

    from tokenlab.ngrams.table import statistics_batches, write_statistics

    ending = name.lower().rpartition(".")[2]
    if ending == "parquet":
        write_statistics(statistics, name)
        return
    with atomic_file(name) as temporary, pa.OSFile(str(temporary), "wb") as file:
        if ending == "jsonl":
            for batch in statistics_batches(statistics):
                file.write("".join(map(json_line, batch.to_pylist())).encode())
            return
        layout = pc.WriteOptions(delimiter="," if ending == "csv" else "\t")
        batches = statistics_batches(statistics)
        first = next(batches)
        with pc.CSVWriter(file, first.schema, write_options=layout) as writer:
            for batch in chain([first], batches):
                writer.write_batch(batch)


def _most_frequent(statistics: "NgramStatistics", top: int, as_json: bool) -> str:
    import numpy as np
    import pyarrow as pa

    from tokenlab.ngrams.table import statistics_batches

    rows = np.argsort(-statistics.count, kind="stable")[:top]
    ascending, begin, parts = np.sort(rows), 0, []
    for batch in statistics_batches(statistics):
        first, end = np.searchsorted(ascending, [begin, begin + len(batch)])
        parts.append(batch.take(pa.array(ascending[first:end] - begin)))
        begin += len(batch)
    table = pa.Table.from_batches(parts).take(pa.array(np.searchsorted(ascending, rows)))
    if as_json:
        return "".join(map(json_line, table.to_pylist()))
    return tabbed([table.column_names, *(row.values() for row in table.to_pylist())], places=6)
