"""The kernels' state for tiny texts, beside the same text in plain Python."""

from typing import NamedTuple

import numpy as np
from plain_words import PlainWords, Run

from tokenlab.segment.words.classes import Classes, no_classes
from tokenlab.segment.words.encoding import Runs, find_runs
from tokenlab.segment.words.fitting import _known
from tokenlab.segment.words.knowledge import Known, base_of, encode, parts_of
from tokenlab.segment.words.pair_kernels import Counts, compact, empty_counts, rebuilt
from tokenlab.segment.words.sampler_kernels import Text, count_runs

SPECIAL = ("edge", "whole", "other", "unknown")
_LONGEST = 4


class State(NamedTuple):
    """A segmented text."""

    runs: Runs
    known: Known
    text: Text
    lengths: np.ndarray
    counts: Counts
    parts: object
    classes: Classes


def count(text: Text, known: Known, lengths: np.ndarray) -> Counts:
    """Counts from scratch."""
    counts, _ = rebuilt(empty_counts(known.symbol_count + len(known.lexicon)), np.zeros(1, np.float32), 5000)
    assert count_runs(text, 0, lengths, known.symbol_count, counts) == len(text.left)
    return counts


def make_state(sentences, choose, bonus=0.0, kinds=None) -> State:
    """Segment `sentences` at random: choose(n) gives a number below n; kinds: that many random classes."""
    runs = find_runs(sentences)
    known, text = _known(runs, _LONGEST)
    lengths = np.zeros(len(text.units), np.int8)
    for a, b in zip(text.first[:-1], text.first[1:], strict=True):
        t = a
        while t < b:
            possible = [k for k in range(1, min(_LONGEST, b - t) + 1) if text.spans[t, k - 1] >= 0]
            lengths[t] = possible[choose(len(possible))]
            t += lengths[t]
    counts = count(text, known, lengths)
    contexts = known.symbol_count + len(known.lexicon)
    classes = no_classes(known.symbol_count, known.lexicon)
    if kinds:
        random = np.random.default_rng(choose(1000))
        affinity = random.uniform(0.2, 3.0, (kinds, kinds))
        classes = Classes(
            random.integers(0, kinds, contexts).astype(np.int16),
            random.integers(0, kinds, _LONGEST).astype(np.int16),
            affinity,
        )
    base = base_of(known, counts.words["c1"][known.symbol_count :] > 0)
    counts.words["p0"], counts.words["kind"] = base.words, classes.kinds
    return State(runs, known, text, lengths, counts, parts_of(base, classes, _LONGEST, bonus), classes)


def spellings(known: Known) -> list[str]:
    """Every word of the lexicon; a unit may have several code points."""
    words = [(cluster,) for cluster in known.units.clusters]
    for word in range(len(words), len(known.lexicon)):
        words.append((*words[known.lexicon.prefix[word]], words[known.lexicon.suffix[word]][-1]))
    return ["".join(word) for word in words]


def symbol(known: Known, number: int) -> tuple[str, str]:
    names = [*SPECIAL, *known.symbols.clusters]
    return ("symbol", names[number])


def plain_runs(state: State) -> list[Run]:
    """The segmented runs as strings; single code points only."""
    found = []
    for run, (a, b) in enumerate(zip(state.text.first[:-1], state.text.first[1:], strict=True)):
        starts = [t for t in range(a, b) if state.lengths[t]]
        units = [state.known.units.clusters[unit] for unit in state.text.units]
        words = tuple("".join(units[t : t + state.lengths[t]]) for t in starts)
        left, right = state.text.left[run], state.text.right[run]
        found.append(Run(symbol(state.known, left), words, symbol(state.known, right)))
    return found


def plain_model(state: State) -> PlainWords:
    """The same counts in plain Python."""
    known, classes = state.known, state.classes
    number = {word: known.symbol_count + i for i, word in enumerate(spellings(known))}
    number |= {symbol(known, i): i for i in range(known.symbol_count)}

    def kind(word):
        if word in number:
            return classes.kinds[number[word]]
        return classes.new_kinds[len(word) - 1]

    def affinity(u, w):
        return float(classes.affinity[kind(u), kind(w)])

    return PlainWords(plain_runs(state), known.units.clusters, known.symbol_count, affinity)


def same_counts(left: Counts, right: Counts) -> bool:
    """Whether two tables hold the same pairs, whatever their order."""
    tables = [
        dict(zip(zip(*(x.tolist() for x in found[:2]), strict=True), found[2].tolist(), strict=True))
        for found in (compact(counts.keys, counts.number) for counts in (left, right))
    ]
    fields = ["c", "followers", "c1"]
    same_words = all((left.words[field] == right.words[field]).all() for field in fields)
    return tables[0] == tables[1] and same_words and (left.totals[:2] == right.totals[:2]).all()


def encoded(state: State, sentences) -> Text:
    """Another text by the numbers of the state."""
    return encode(find_runs(sentences), state.known)
