"""Word classes, from the words' neighbours, and factors R: how much more often two classes meet than by chance.

Words with at least two distinct predecessors and symbols in use are clustered. All other words share one class per
length, so that a new word is taken for an open class; symbols not in use have a class of their own.

Clusters are those of hard EM of a mixture of multinomials over features of words:
log p(feature | class) = log [(P + 200 g) / (sum P + 200)], P the features of the class's words and g those of all words
as shares; a class is also weighted with its share of the words, one word added to each.
"""

# mypy: allow-untyped-defs

from dataclasses import dataclass
from math import log

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tokenlab.segment.words.lexicon import Lexicon
from tokenlab.segment.words.pair_kernels import Counts, compact

_COMMONEST = 1000  # types that are features for themselves
_ITERATIONS = 8
_PRIOR = 5.0  # of R, in pairs
_SMOOTHING = 200.0
_MOST_OF_A_PAIR = 3


@dataclass(frozen=True, eq=False)
class Classes:
    """The class of every symbol and word, and R."""

    kinds: NDArray[np.int16]  # [contexts]
    new_kinds: NDArray[np.int16]  # [longest] of words that are not in the lexicon, by length
    affinity: NDArray[np.float64]  # [kinds, kinds]


def no_classes(symbols: int, lexicon: Lexicon) -> Classes:
    """One class for everything, R = 1."""
    return Classes(np.zeros(symbols + len(lexicon), np.int16), np.zeros(lexicon.longest, np.int16), np.ones((1, 1)))


def find_classes(counts: Counts, symbols: int, lexicon: Lexicon, classes: int, before: Classes | None) -> Classes:
    """Cluster the words anew.

    Args:
        before: the last clustering, from which this one begins; None: begin with the commonest words as classes.
    """
    u, w, number = compact(counts.keys, counts.number)
    used, predecessors = counts.words["c"], counts.words["c1"]
    is_live = predecessors >= 2
    is_live[:symbols] = (predecessors[:symbols] > 0) | (used[:symbols] > 0)
    longest, lengths = lexicon.longest, lexicon.lengths
    kinds = np.concatenate((np.full(symbols, classes + longest), classes + lengths - 1)).astype(np.int16)
    live = np.full(len(kinds), -1, np.int32)
    words = np.flatnonzero(is_live)
    if len(words):
        live[words] = np.arange(len(words))
        offsets, features, values = word_features(u, w, number, live, _features(used, symbols, lengths))
        members = np.full(len(words), -1, np.int32)
        if before is None:
            commonest = np.argsort(-used[words], kind="stable")[:classes]
            members[commonest] = np.arange(len(commonest))
        else:
            clustered = before.kinds[words] < classes
            members[clustered] = before.kinds[words][clustered]
        cluster_words(offsets, features, values, members, classes, _ITERATIONS)
        kinds[words] = members
    pairs = class_pairs(u, w, kinds, classes + longest + 1)
    expected = pairs.sum(axis=1)[:, None] * pairs.sum(axis=0)[None, :] / max(pairs.sum(), 1.0)
    affinity = (pairs + _PRIOR) / (expected + _PRIOR)
    return Classes(kinds, np.arange(classes, classes + longest, dtype=np.int16), affinity)


def _features(used: NDArray[np.int32], symbols: int, lengths: NDArray[np.int64]) -> NDArray[np.int32]:
    """The feature of each context: the commonest for themselves, other words by length, other symbols together."""
    bucket = np.concatenate((np.zeros(symbols, np.int64), lengths))
    features = (_COMMONEST + bucket).astype(np.int32)
    commonest = np.argsort(-used, kind="stable")[:_COMMONEST]
    features[commonest] = np.arange(len(commonest))
    return features


def word_features(
    u: NDArray[np.int32],
    w: NDArray[np.int32],
    number: NDArray[np.int32],
    live: NDArray[np.int32],
    feature: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Features of the live words as sparse rows: offsets int64[live words + 1], features and values int32[entries].

    A pair (u, w) gives w the feature of u on its left, and u that of w on its right, 3 times at most.

    Args:
        u, w, number: the pairs and their counts.
        live: int32[contexts], the row of a word or -1.
        feature: int32[contexts], a left feature; the right ones follow after the largest of them.
    """
    rows = int(live.max()) + 1
    entries = np.bincount(live[w] + 1, minlength=rows + 1) + np.bincount(live[u] + 1, minlength=rows + 1)
    entries[0] = 0  # of words that are not live
    offsets = np.cumsum(entries)
    features, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32)
    fill_features(u, w, number, live, feature, int(feature.max()) + 1, offsets[:-1].copy(), features, values)
    return offsets, features, values


@njit(cache=True, nogil=True)
def fill_features(u, w, number, live, feature, left_features, place, features, values):
    """Fill features and values. place: int64[live words], where each row begins."""
    for i in range(u.size):
        value = min(number[i], _MOST_OF_A_PAIR)
        row = live[w[i]]
        if row >= 0:
            features[place[row]], values[place[row]] = feature[u[i]], value
            place[row] += 1
        row = live[u[i]]
        if row >= 0:
            features[place[row]], values[place[row]] = left_features + feature[w[i]], value
            place[row] += 1


def cluster_words(
    offsets: NDArray[np.int64],
    features: NDArray[np.int32],
    values: NDArray[np.int32],
    members: NDArray[np.int32],
    classes: int,
    iterations: int,
) -> None:
    """Hard EM; fills members, the class of each word, -1 for none yet.

    offsets, features, values: as from `word_features`.
    """
    everything = np.bincount(features, values)
    everything *= _SMOOTHING / everything.sum()
    for _ in range(iterations):
        profile, share = np.zeros((len(everything), classes)), np.ones(classes)
        estimate_classes(offsets, features, values, members, everything, np.zeros(classes), profile, share)
        assign_words(offsets, features, values, profile, share, np.empty(classes), members)


@njit(cache=True, nogil=True)
def estimate_classes(offsets, features, values, members, everything, sums, profile, share):
    """The M-step: log-probabilities of features and classes.

    everything: float64[features], g times 200; sums: float64[classes], zeros; profile: float64[features, classes],
    zeros; share: float64[classes], ones.
    """
    classes, placed = share.size, 0
    for word in range(members.size):
        k = members[word]
        if k >= 0:
            share[k] += 1
            placed += 1
            for i in range(offsets[word], offsets[word + 1]):
                profile[features[i], k] += values[i]
                sums[k] += values[i]
    for feature in range(everything.size):
        for k in range(classes):
            if everything[feature] > 0:
                profile[feature, k] = log((profile[feature, k] + everything[feature]) / (sums[k] + _SMOOTHING))
    for k in range(classes):
        share[k] = log(share[k] / (placed + classes))


@njit(cache=True, nogil=True)
def assign_words(offsets, features, values, profile, share, scores, members):
    """The E-step: the class of each word; of equal ones, the first. scores: room for float64[classes]."""
    for word in range(members.size):
        for k in range(share.size):
            scores[k] = share[k]
        for i in range(offsets[word], offsets[word + 1]):
            row, value = features[i], values[i]
            for k in range(share.size):
                scores[k] += value * profile[row, k]
        best, highest = 0, scores[0]
        for k in range(1, share.size):
            if scores[k] > highest:
                best, highest = k, scores[k]
        members[word] = best


def class_pairs(
    u: NDArray[np.int32], w: NDArray[np.int32], kinds: NDArray[np.int16], classes: int
) -> NDArray[np.int64]:
    """int64[classes, classes]: distinct pairs (u, w) between classes. kinds: int16[contexts]."""
    pairs = np.bincount(kinds[u].astype(np.int64) * classes + kinds[w], minlength=classes * classes)
    return pairs.reshape(classes, classes)
