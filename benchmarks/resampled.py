"""Text of any length that is like a given one: a Markov chain over its characters.

The next character is drawn from those that follow the same characters, CONTEXT of them or fewer after the beginning of
a line, in the source. So hardly any line is in the source, and new words keep appearing as in real text. Two characters
of context suit Chinese: of 4.2 million characters of news, Bible and web, cut by the statistics of the first 1.8
million, 56,700 segments were distinct, and 54,600 of as many drawn from them (with one character of context about
67,000, with three about 50,500). Five suit English: of 627,000 words of web pages 52,500 were distinct, and 59,200 of
as many drawn from other pages like them (with four 85,100, with six 50,100).

Repeating the source would flatter a trainer, which counts distinct words and keeps each of them once.

`python -m benchmarks.resampled FILE CHARACTERS CONTEXT` prints lines like those of a file: texts that no disk should
hold.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokenlab.text.code_points import code_points

_LINE_END = ord("\n")
_STEPS = 10_000  # characters of one chain
_CHAINS = 2_000


def resampled(lines: Sequence[str], characters: int, seed: int, context: int = 2) -> Iterator[str]:
    """New lines of together at least so many characters, whitespace not counted, drawn from those of `lines`.

    At most one line in 10,000 characters has no proper end.
    """
    random = np.random.default_rng(seed)
    points = code_points("\n" + "\n".join(lines) + "\n").astype(np.int64)
    contexts = _contexts(points, context)
    order, sizes = np.argsort(contexts, kind="stable"), np.bincount(contexts)
    starts = np.cumsum(sizes) - sizes
    while characters > 0:
        chains = min(_CHAINS, characters // _STEPS + 1)
        drawn, places = np.empty((chains, _STEPS), np.uint32), np.zeros(chains, np.int64)
        for step in range(_STEPS):
            here = contexts[places]
            places = order[starts[here] + (random.random(chains) * sizes[here]).astype(np.int64)] + 1
            places[places == len(points)] = 1  # after the last line comes the first
            drawn[:, step] = points[places]
        drawn[:, -1] = _LINE_END
        for line in drawn.tobytes().decode("utf-32-le").split("\n"):
            if line and characters > 0:
                yield line
                characters -= len(line) - line.count(" ")


def _contexts(points: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """A number for each place: of its character and those before it in its line, `length` in all."""
    inside, contexts = np.ones(len(points), bool), np.unique(points, return_inverse=True)[1]
    for distance in range(1, length):
        inside &= np.roll(points, distance - 1) != _LINE_END
        before = np.where(inside, np.roll(points, distance), _LINE_END)
        contexts = np.unique(contexts << 21 | before, return_inverse=True)[1]
    return contexts


def drawn(path: str, characters: int, context: int = 2) -> list[str]:
    """The command that prints `resampled` of the lines of a file."""
    return [sys.executable, "-m", "benchmarks.resampled", path, str(characters), str(context)]


if __name__ == "__main__":
    source, characters, context = sys.argv[1:]
    lines = Path(source).read_text(encoding="utf-8").splitlines()
    for line in resampled(lines, int(characters), seed=1, context=int(context)):
        sys.stdout.write(line + "\n")
