"""Text of any length that is like a given one: a Markov chain over its characters.

The next character is drawn from those that follow the same two characters (or the beginning of a line) in the source.
So every three adjacent characters of a line are in the source, but hardly any line is, and new segments keep appearing
as in real text: of 4.2 million characters of Chinese news, Bible and web, cut by the statistics of the first 1.8
million, 56,700 segments were distinct, and 54,600 of as many drawn from them (with one character of context about
67,000, with three about 50,500).

Repeating the source would flatter a trainer, which counts distinct words and keeps each of them once.

`python -m benchmarks.resampled FILE CHARACTERS` prints lines like those of a file, for texts that no disk should hold.
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


def resampled(lines: Sequence[str], characters: int, seed: int) -> Iterator[str]:
    """New lines of together at least so many characters, whitespace not counted, drawn from those of `lines`.

    At most one line in 10,000 characters has no proper end.
    """
    random = np.random.default_rng(seed)
    points = code_points("\n" + "\n".join(lines) + "\n").astype(np.int64)
    contexts = _contexts(points)
    order, sizes = np.argsort(contexts, kind="stable"), np.bincount(contexts)
    starts = np.cumsum(sizes) - sizes
    while characters > 0:
        chains = min(_CHAINS, characters // _STEPS + 1)
        drawn, places = np.empty((chains, _STEPS), np.uint32), np.zeros(chains, np.int64)
        for step in range(_STEPS):
            context = contexts[places]
            places = order[starts[context] + (random.random(chains) * sizes[context]).astype(np.int64)] + 1
            places[places == len(points)] = 1  # after the last line comes the first
            drawn[:, step] = points[places]
        drawn[:, -1] = _LINE_END
        for line in drawn.tobytes().decode("utf-32-le").split("\n"):
            if line and characters > 0:
                yield line
                characters -= len(line) - line.count(" ")


def _contexts(points: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each place: of its character and the one before, or of the end of a line alone."""
    before = np.roll(points, 1)
    pairs = np.where(points == _LINE_END, _LINE_END, before << 21 | points)
    return np.unique(pairs, return_inverse=True)[1]


if __name__ == "__main__":
    for line in resampled(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines(), int(sys.argv[2]), seed=1):
        sys.stdout.write(line + "\n")
