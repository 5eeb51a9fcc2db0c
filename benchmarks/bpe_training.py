"""Training BPE on raw Chinese and on Chinese cut into words, by Hugging Face `tokenizers`, and raw by `bpe_sweep`.

The peer's trainer keeps every distinct word as a list of symbols, and for every pair the words that have it. A word is
what its pre-tokenizer makes one: without any, a line; with `Whitespace`, a clause between two marks of punctuation; in
the cut text, a segment of `tokenlab segment` by the statistics of the first two million characters. All read the text
line by line from a file. The peer uses all cores, as it does unless it is told otherwise.

The texts are `once` and longer ones that `resampled` draws from `once` and `held_out`.
"""

from collections.abc import Callable, Iterator
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from benchmarks.measure import CORES, Bench, Facts, Limits, Measurement, Stopped, Task, agree, merge_facts
from benchmarks.resampled import resampled
from tokenlab.ngrams.counting import ngram_statistics
from tokenlab.segment.by_statistics import Segmenter
from tokenlab.text.code_points import code_points
from tokenlab.tokenizers.merges import bpe_sweep

TITLE = "Training BPE on raw and on cut Chinese"
TEXTS = ("once", "held_out")
_SIZES = {False: (2_000_000, 20_000_000, 200_000_000), True: (5_000, 20_000)}  # characters of the drawn texts
_VOCABULARY = {False: 30_000, True: 2_000}
_MINUTES = 3
_COUNTED = 2_000_000
_SAMPLE = 20  # lines
_PRE_TOKENIZERS: dict[str, Callable[[], Any] | None] = {
    "line": None,
    "Whitespace": pre_tokenizers.Whitespace,
    "cut": pre_tokenizers.WhitespaceSplit,
}

Lines = Callable[[], Iterator[str]]
"""Begins to read a text."""


class Row(NamedTuple):
    """One training, and the cut before it."""

    way: str
    training: Measurement | Stopped
    cutting: Measurement | None = None


def table(bench: Bench) -> list[str]:
    vocabulary = str(_VOCABULARY[bench.quick])
    limits = Limits.of_this_machine(60.0 * _MINUTES)
    lines = [
        f"{int(vocabulary):,} entries; tokenizers {version('tokenizers')} on all cores, tokenlab on one; every row "
        f"measured once and stopped after {_MINUTES} minutes or at {limits.memory / 1e9:.0f} GB, what the machine had "
        "free.",
        "",
        "| text | characters | words are | cutting, s | training, s | together, s | CPU, s | peak memory, MB |",
        "| --- | --: | --- | --: | --: | --: | --: | --: |",
    ]
    for name, path in _texts(bench):
        measured = _rows(bench, path, vocabulary, limits)
        characters = next(row.cutting.facts["characters"] for row in measured if row.cutting)
        lines += [f"| {name} | {characters:,} | {_cells(row)} |" for row in measured]
        Path(f"{path}.cut").unlink()
    return lines


def _texts(bench: Bench) -> Iterator[tuple[str, str]]:
    """A text after the other, and its file."""
    yield "`once`", bench.text("once")
    for size in _SIZES[bench.quick]:
        path = str(bench.folder / "drawn.txt")
        bench.measure("bpe_training:draw", bench.text("once"), bench.text("held_out"), path, str(size), runs=1)
        yield "drawn", path


def _rows(bench: Bench, path: str, vocabulary: str, limits: Limits) -> list[Row]:
    def train(text: str, words: str) -> Measurement | Stopped:
        return bench.measure_within(limits, "bpe_training:train", text, words, vocabulary, threads=CORES)

    cutting = bench.measure("bpe_training:cut", path, f"{path}.cut", runs=1)
    rows = [
        Row("lines", train(path, "line")),
        Row("clauses (`Whitespace`)", train(path, "Whitespace")),
        Row("segments", train(f"{path}.cut", "cut"), cutting),
        Row("lines, `bpe_sweep`", bench.measure_within(limits, "bpe_training:sweep", path, vocabulary)),
    ]
    agree(*(row.training for row in (rows[0], rows[-1]) if isinstance(row.training, Measurement)))
    return rows


def _cells(row: Row) -> str:
    training, cutting = row.training, row.cutting
    cut = f"{cutting.median:.1f}" if cutting else ""
    if isinstance(training, Stopped):
        return f"{row.way} | {cut} | {training.reason} | | | {training.peak / 1e6:,.0f} when stopped"
    parts = [part for part in (cutting, training) if part]
    wall, cpu = sum(part.median for part in parts), sum(part.cpu_seconds[0] for part in parts)
    peak = max(part.peak for part in parts) / 1e6
    return f"{row.way} | {cut} | {training.median:.1f} | {wall:.1f} | {cpu:.1f} | {peak:,.0f}"


def _lines(path: str, count: int | None = None) -> Iterator[str]:
    """The first `count` lines of a file, or all."""
    with Path(path).open(encoding="utf-8", newline="\n") as file:
        for line in islice(file, count):
            yield line.rstrip("\n")


def _on(run: Callable[[Lines], Any], path: str, facts: Callable[[Any], Facts]) -> Task:
    return Task(run, lambda: _lines(path, _SAMPLE), lambda: _lines(path), facts)


def _draw(once: str, held_out: str, path: str, characters: str) -> Task:
    def run(size: int) -> None:
        with Path(path).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(line + "\n" for line in resampled([*_lines(once), *_lines(held_out)], size, seed=1))

    return Task(run, 1, int(characters), lambda result: {})


def _cut(path: str, to: str) -> Task:
    def run(lines: Lines) -> int:
        segmenter, characters = Segmenter(ngram_statistics(_beginning(lines()))), 0
        with Path(to).open("w", encoding="utf-8", newline="\n") as file:
            for batch in segmenter.segment(lines()):
                text = batch.text()
                file.write(text)
                characters += len(text) - text.count(" ") - text.count("\n")
        return characters

    return _on(run, path, lambda characters: {"characters": characters})


def _beginning(lines: Iterator[str]) -> Iterator[str]:
    characters = 0
    for line in lines:
        yield line
        characters += len(line)
        if characters >= _COUNTED:
            break


def _train(path: str, words: str, vocabulary: str) -> Task:
    pre_tokenizer = _PRE_TOKENIZERS[words]

    def run(lines: Lines) -> Tokenizer:
        tokenizer = Tokenizer(models.BPE())
        if pre_tokenizer:
            tokenizer.pre_tokenizer = pre_tokenizer()
        trainer = trainers.BpeTrainer(vocab_size=int(vocabulary), show_progress=False)
        tokenizer.train_from_iterator(lines(), trainer)
        return tokenizer

    return _on(run, path, merge_facts)


def _sweep(path: str, vocabulary: str) -> Task:
    def run(lines: Lines) -> np.ndarray:
        symbols, offsets, alphabet = _numbered(lines())
        return bpe_sweep(symbols, offsets, alphabet, [max(alphabet, int(vocabulary))]).merges

    return _on(run, path, merge_facts)


def _numbered(lines: Iterator[str]) -> tuple[np.ndarray, np.ndarray, int]:
    """Symbols and offsets as `bpe_sweep` takes them, a sequence a line, and the number of distinct characters."""
    blocks, table, lengths = [], np.zeros(0x110000, np.int32), [0]
    while batch := list(islice(lines, 1 << 14)):
        blocks.append(code_points("".join(batch)).astype(np.int32))
        table[blocks[-1]] = 1
        lengths.extend(map(len, batch))
    alphabet = int(table.sum())
    np.cumsum(table, out=table)
    for number, block in enumerate(blocks):
        blocks[number] = table[block] - 1
    return np.concatenate(blocks), np.cumsum(lengths, dtype=np.int64), alphabet


TASKS = {"draw": _draw, "cut": _cut, "train": _train, "sweep": _sweep}
