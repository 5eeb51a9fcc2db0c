"""Fitting of a word model: blocked Gibbs sampling from the statistical segmentation on.

1. Runs, candidates and the segmentation of `Segmenter` (lambda 1.25, variation 0.5), which is segmented anew by the
   probabilities of its own words, twice, unless the text is short (`recut`). The sampler hardly leaves the region in
   which it starts, so a better start is a better end: 0.3 points of word F1 for 180 thousand characters of news.
2. A sweep: P0 anew from the types in use, then all runs in random order. From `Schedule.plain` sweeps on the words are
   clustered every `Schedule.plain` sweeps, and from twice as many on a classifier of boundaries is learned as often: on
   either half of the runs for the other half. Its odds are further evidence for the sampler.
3. The second half of the sweeps is collected: the posteriors of all spans of a run given the words of all other runs
   (their sums vary less than those of samples), and sums of the counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.ngrams.counting import ngram_statistics
from tokenlab.segment.by_statistics import Segmenter
from tokenlab.segment.options import SegmentOptions
from tokenlab.segment.words.classes import find_classes, no_classes
from tokenlab.segment.words.context_kernels import SLOTS, fill_odds, learn
from tokenlab.segment.words.encoding import (
    ALPHABETIC,
    LONGEST_RUN,
    Alphabet,
    Runs,
    alphabet_of,
    number_symbols,
    symbols_of,
)
from tokenlab.segment.words.knowledge import (
    Knowledge,
    Known,
    Means,
    base_of,
    parts_of,
    symbol_alphabet,
)
from tokenlab.segment.words.lattice_kernels import decode, make_lattice
from tokenlab.segment.words.lexicon import build_lexicon, remaining_units
from tokenlab.segment.words.options import WordOptions
from tokenlab.segment.words.pair_kernels import N, compact, empty_counts, rebuilt
from tokenlab.segment.words.sampler_kernels import (
    Text,
    add_to_sums,
    count_runs,
    shuffle,
    sweep,
    word_lengths,
)

Progress = Callable[[int, int], object]
"""Called with the number of sweeps done and their total."""

_WORK = 36_000_000
"""Units to be sampled in all."""
_FEWEST, _MOST = 24, 200
_CUT_PER_NEW_PAIR, _LARGEST_CUT = 5.0, 2.0
_FEWEST_FOR_CONTEXTS = 20_000
"""Units below which a classifier of boundaries, which sees half of them, is worse than none: Japanese of 9 thousand
characters lost 0.5 of word F1."""
_LEAST_MEAN = 0.01
"""Means of pairs below this are dropped."""
_RECUTS, _RECUT_BONUS = 2, 3.5
_RECUT_FROM = 50_000
"""Units of the smallest text whose words are frequent enough for `recut`; 11 thousand of Japanese lose by it."""
_UNSEEN_COUNT = 0.3
"""As which a single unit counts that is no word."""


class Schedule(NamedTuple):
    """Which sweep does what."""

    sweeps: int
    plain: int
    """Sweeps before the first clustering, and from one clustering to the next."""
    collected: int
    """Sweeps that are collected: the last ones."""


def schedule(units: int, sweeps: int | None = None) -> Schedule:
    """The schedule for a text of `units` units: 24 sweeps for 1.5 million and more, 200 for 180 thousand and less.

    Fewer would do nearly as well: 180 thousand characters of news lose 0.2 of word F1 with 40 sweeps.
    """
    if sweeps is None:
        sweeps = min(max(_WORK // max(units, 1), _FEWEST), _MOST)
    return Schedule(sweeps, 5 if sweeps >= 40 else 4, sweeps // 2)


def length_bonus(runs: Runs) -> float:
    """The default of beta, chosen on validation text: -2 where most units are of Thai and the like, else 0."""
    return -2.0 if np.count_nonzero(runs.script == ALPHABETIC) > 0.5 * len(runs.script) else 0.0


def unseen_bonus(spans: NDArray[np.int32], bonus: float) -> float:
    """The default of beta for unseen text: `bonus` less five times the probability of a new pair of units, at most 2.

    The probability is the estimate of Good and Turing: the share of the pairs that occur once. It is 0.41 in the
    paper's draws (validation draws are best at -2), 0.25 in 180 thousand characters of news (at -1.5), 0.09 in a month
    (at 0 to -1), and 0.04 in 1,000 sentences of Thai (at 0).

    spans: int32[units, longest], the words that begin at each unit.
    """
    pairs = spans[spans[:, 1] >= 0, 1]
    once = np.count_nonzero(np.bincount(pairs) == 1) / max(len(pairs), 1)
    return bonus - min(_LARGEST_CUT, _CUT_PER_NEW_PAIR * once)


def fit_words(
    sentences: Sequence[str], runs: Runs, options: WordOptions, progress: Progress | None = None
) -> tuple[Knowledge, WordOptions, int, NDArray[np.float32]]:
    """Fit a model to the runs of `sentences`.

    Returns: what it knows; the options with the length bonuses that were chosen; how many sweeps were collected; and
    float32[units, longest], the posteriors of the spans of the text, summed over these.
    Raises InputError where the text has no run.
    """
    runs.check()
    known, text = _known(runs, options.longest)
    bonus = length_bonus(runs) if options.length_bonus is None else options.length_bonus
    unseen = unseen_bonus(text.spans, bonus) if options.unseen_bonus is None else options.unseen_bonus
    options = replace(options, length_bonus=bonus, unseen_bonus=unseen)
    sampler = _Sampler(text, known, options, _starting_words(sentences, runs, options))
    plan = schedule(len(runs.place), options.sweeps)
    posteriors = np.zeros(text.spans.shape, np.float32)
    learns = len(runs.place) >= _FEWEST_FOR_CONTEXTS
    for number in range(plan.sweeps):
        collects = number >= plan.sweeps - plan.collected
        if options.classes and number and number % plan.plain == 0:
            sampler.cluster()
        if learns and number >= 2 * plan.plain and number % plan.plain == 0:
            sampler.learn_contexts()
        sampler.sweep(posteriors if collects else posteriors[:0])
        if collects:
            sampler.collect()
        if progress is not None:
            progress(number + 1, plan.sweeps)
    knowledge = Knowledge(known, sampler.means(plan.collected), sampler.in_use(), sampler.classes, sampler.contexts)
    return knowledge, options, plan.collected, posteriors


def _known(runs: Runs, longest: int) -> tuple[Known, Text]:
    units = Alphabet(alphabet_of(runs.points, runs.place, runs.place_end))
    symbols = symbol_alphabet(symbols_of(runs))
    numbers = units.numbers(runs.points, runs.place, runs.place_end)
    lexicon, spans = build_lexicon(numbers, remaining_units(runs.first), runs.may_be_new, len(units.clusters), longest)
    return Known(units, symbols, lexicon), Text(
        spans, numbers, runs.first, *number_symbols(runs, symbols), np.ones(len(numbers))
    )


def _starting_words(sentences: Sequence[str], runs: Runs, options: WordOptions) -> NDArray[np.bool_]:
    """bool[units]: where segments of the statistical segmentation begin."""
    start = SegmentOptions(weight=1.25, vbe_weight=0.5, split_kana=options.split_kana)
    segmenter = Segmenter(ngram_statistics(sentences), start)
    begins = np.concatenate([batch.begins for batch in segmenter.segment(sentences)])
    return begins[runs.place]


def recut(text: Text, lengths: NDArray[np.int8], lexicon: int) -> NDArray[np.int8]:
    """The segmentation that maximises the sum of log P(w) + 3.5 nats, P(w) by the counts of w in the one before.

    lengths: int8[units], the length of the word that begins at each unit, 0 inside of words, before and after. Words
    that the one before does not have are not used, but for single units.
    """
    begins = np.flatnonzero(lengths)
    counts = np.bincount(text.spans[begins, lengths[begins] - 1], minlength=lexicon)
    # Relative to a unit that is no word, so that all others are above 0, as `decode` wants them.
    scores = np.log(np.maximum(counts, _UNSEEN_COUNT) / _UNSEEN_COUNT).astype(np.float32)
    unseen = np.log(_UNSEEN_COUNT / len(begins)) + _RECUT_BONUS
    of_spans = np.where(text.spans >= 0, scores[text.spans], np.float32(0))
    return word_lengths(decode(of_spans, 1, -unseen, text.first), text, text.spans.shape[1])


class _Sampler:
    """The state of the sampler."""

    def __init__(self, text: Text, known: Known, options: WordOptions, begins: NDArray[np.bool_]) -> None:
        self._text, self._known, self._options = text, known, options
        self._lengths = word_lengths(begins, text, options.longest)
        for _ in range(_RECUTS if len(text.spans) >= _RECUT_FROM else 0):
            self._lengths = recut(text, self._lengths, len(known.lexicon))
        contexts = known.symbol_count + len(known.lexicon)
        self._counts, self._pair_sums = empty_counts(contexts), np.zeros(1, np.float32)
        self._word_sums, self._total_sums = np.zeros((contexts, 3)), np.zeros(2)
        self._state = np.array([options.seed], np.uint64)
        self._lattice = make_lattice(int(np.diff(text.first).max()), options.longest)
        self._order = np.arange(len(text.left))
        self.classes = no_classes(known.symbol_count, known.lexicon)
        self._is_clustered = False
        self.contexts = np.zeros(SLOTS, np.float32)
        begin = 0
        while begin < len(text.left):
            self._make_room()
            begin = count_runs(text, begin, self._lengths, known.symbol_count, self._counts)

    def in_use(self) -> NDArray[np.bool_]:
        """[words] whether a word occurs in the segmentation."""
        return self._counts.words["c1"][self._known.symbol_count :] > 0

    def cluster(self) -> None:
        """Make word classes, beginning from the last ones."""
        before = self.classes if self._is_clustered else None
        known, classes = self._known, self._options.classes
        self.classes = find_classes(self._counts, known.symbol_count, known.lexicon, classes, before)
        self._is_clustered = True

    def learn_contexts(self) -> None:
        """Learn which units surround boundaries; the mean of both halves' weights is for other text."""
        text, both = self._text, np.zeros(SLOTS)
        for half in (0, 1):
            weights = learn(text.units, text.first, self._order, half, self._lengths)
            fill_odds(text.units, text.first, weights, 1 - half, text.odds)
            both += weights
        self.contexts = (both / 2).astype(np.float32)

    def sweep(self, posteriors: NDArray[np.float32]) -> None:
        """Sample every run once, in random order."""
        shuffle(self._order, self._state)
        base, longest = base_of(self._known, self.in_use()), self._options.longest
        self._counts.words["p0"], self._counts.words["kind"] = base.words, self.classes.kinds
        self._parts = parts_of(base, self.classes, longest, self._options.length_bonus or 0.0)
        symbols, done = self._known.symbol_count, 0
        while done < len(self._order):
            self._make_room()
            where = (self._text, self._order, done, self._lengths, symbols)
            done = sweep(*where, self._counts, self._parts, self._lattice, posteriors, self._state)

    def collect(self) -> None:
        """Add the counts to the sums."""
        add_to_sums(self._counts, self._pair_sums, self._word_sums, self._total_sums)

    def means(self, sweeps: int) -> Means:
        """Means of the counts over the collected sweeps, pairs in ascending order."""
        u, w, sums = compact(self._counts.keys, self._pair_sums)
        order = np.lexsort((w, u))
        order = order[sums[order] >= _LEAST_MEAN * sweeps]
        words = (self._word_sums / sweeps).astype(np.float32)
        return Means(u[order], w[order], sums[order] / np.float32(sweeps), words, self._total_sums / sweeps)

    def _make_room(self) -> None:
        room = max(int(self._counts.totals[N]) // 4, LONGEST_RUN + 1)
        self._counts, self._pair_sums = rebuilt(self._counts, self._pair_sums, room)
