"""Segmentation with statistics at hand: `Segmenter.segment` and `Segmentation.text`, and the command as a process.

The peer is the same decoder in plain Python over a dictionary of utilities, which must give the same text.
"""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import regex

from benchmarks.measure import Bench, Facts, Task, agree, digest, lines_of, on_lines
from benchmarks.ngram_statistics import tokenlab_ngrams
from tokenlab.ngrams.counting import ngram_statistics
from tokenlab.segment.by_statistics import Segmenter, utilities
from tokenlab.segment.options import SegmentOptions

TITLE = "segmentation"
TEXTS = ("once", "part", "held_out")
# The rule of isolation for text without marks: letters and digits of scripts with spaces whole; Han and kana free.
_CJK = r"\p{Script=Han}○\p{Script=Hiragana}\p{Script=Katakana}ーｰ"
_WORD = rf"[\p{{L}}\p{{Nd}}--[{_CJK}]]+"
_SIGN = r"(?:[.．%％@·'’]|(?<=\p{Nd}),(?=\p{Nd}))"
_PIECES = regex.compile(rf"(?V1)(?P<whole>{_WORD}(?:{_SIGN}{_WORD})*)|(?P<free>[{_CJK}]+)|.")
_TOLERANCE = 1e-9


def table(bench: Bench) -> list[str]:
    lines = ["| decoder | isolate | text | characters | million characters/s | plain Python | tokenlab is faster |"]
    lines.append("| --- | --- | --- | --: | --: | --: | --: |")
    once, part = bench.text("once"), bench.text("part")
    for decoder in ("viterbi", "greedy"):
        for isolate in ("script", "none"):
            arguments = (decoder, isolate)
            ours, plain = (
                bench.measure(f"segmentation:{who}", part, part, *arguments) for who in ("tokenlab", "plain")
            )
            agree(ours, plain)
            rate, slow = ours.rate(bench.millions("part")), plain.rate(bench.millions("part"))
            faster = f"{plain.median / ours.median:.0f} times"
            lines.append(_row(bench, decoder, isolate, "part", rate, slow, faster))
            for text in ("once", "held_out"):
                found = bench.measure("segmentation:tokenlab", once, bench.text(text), *arguments)
                lines.append(_row(bench, decoder, isolate, text, found.rate(bench.millions(text)), "", ""))
                set_up = found.facts["set_up_seconds"]
    whole = bench.measure_command(["segment", once])
    lines += [
        "",
        f"Before that, `Segmenter(statistics)` takes {set_up:.2f} s for the statistics of `once`.",
        "",
        f"The command `tokenlab segment FILE` on {bench.millions('once') * 1e6:,.0f} characters, start, statistics and "
        f"output included: {whole.rate(bench.millions('once'))} million characters/s, {whole.median:.1f} s, "
        f"{whole.peak / 1e6:,.0f} MB at its peak.",
    ]
    return lines


def _row(bench: Bench, decoder: str, isolate: str, text: str, rate: str, plain: str, faster: str) -> str:
    return f"| {decoder} | {isolate} | {text} | {bench.millions(text) * 1e6:,.0f} | {rate} | {plain} | {faster} |"


def _tokenlab(counted: str, text: str, decoder: Any, isolate: Any) -> Task:
    options = SegmentOptions(decoder=decoder, isolate=isolate)
    statistics = ngram_statistics(lines_of(counted))
    start = time.perf_counter()
    segmenter = Segmenter(statistics, options)
    set_up = time.perf_counter() - start

    def segment(sentences: list[str]) -> list[str]:
        return [batch.text() for batch in segmenter.segment(sentences)]

    return on_lines(segment, text, lambda parts: {**_digest(parts), "set_up_seconds": set_up})


def _plain(counted: str, text: str, decoder: Any, isolate: Any) -> Task:
    options = SegmentOptions(decoder=decoder, isolate=isolate)
    statistics = ngram_statistics(lines_of(counted))
    table = dict(zip(tokenlab_ngrams(statistics), utilities(statistics, options).tolist(), strict=True))
    segment = partial(plain_text, table=table, n_max=statistics.options.n_max, decoder=decoder, isolate=isolate)
    return on_lines(lambda sentences: [segment(sentences)], text, _digest)


TASKS = {"tokenlab": _tokenlab, "plain": _plain}


def _digest(parts: list[str]) -> Facts:
    return {"text": digest("".join(parts))}


def plain_text(sentences: list[str], table: dict[str, float], n_max: int, decoder: str, isolate: str) -> str:
    """The segmented lines, by dictionary look-ups; every character must be in `table`, and of ties the short wins."""
    decode = _viterbi if decoder == "viterbi" else _greedy
    lines = []
    for sentence in sentences:
        segments: list[str] = []
        for piece, free in _pieces(sentence, isolate):
            segments.extend(decode(piece, table, n_max) if free else [piece])
        lines.append(" ".join(segments) + "\n")
    return "".join(lines)


def _pieces(sentence: str, isolate: str) -> Iterator[tuple[str, bool]]:
    for run in sentence.split():
        if isolate == "none":
            yield run, True
        else:
            for match in _PIECES.finditer(run):
                yield match.group(), match["free"] is not None


def _greedy(text: str, table: dict[str, float], n_max: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        highest, length = table[text[start]], 1
        for n in range(2, min(n_max, len(text) - start) + 1):
            value = table.get(text[start : start + n])
            if value is None:
                break
            if value > highest + _TOLERANCE:
                highest, length = value, n
        yield text[start : start + length]
        start += length


def _viterbi(text: str, table: dict[str, float], n_max: int) -> list[str]:
    best, back = [0.0], [0]
    for stop in range(1, len(text) + 1):
        highest, length = best[stop - 1] + table[text[stop - 1]], 1
        for n in range(2, min(n_max, stop) + 1):
            value = table.get(text[stop - n : stop])
            if value is None:
                break
            if best[stop - n] + n * value > highest + _TOLERANCE:
                highest, length = best[stop - n] + n * value, n
        best.append(highest)
        back.append(length)
    segments, stop = [], len(text)
    while stop:
        segments.append(text[stop - back[stop] : stop])
        stop -= back[stop]
    return segments[::-1]
