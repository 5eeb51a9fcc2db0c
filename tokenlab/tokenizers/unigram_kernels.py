"""Kernels of the unigram model: expected counts by forward-backward, the best segmentation, and the loss of a piece.

The lattice of a sequence has a node at each position and an arc for each piece at that position. Arcs are found by
walking the trie; nodes of the trie without a piece have probability 0, which is cheaper than a test. Values are in the
linear domain: where a stretch of the forward values becomes small, it is multiplied by a power of two, and so are the
backward values at the same positions.
"""

import numpy as np
from numba import njit

LONGEST = 16
"""Largest number of symbols in a piece."""
_SMALL = 2.0**-200
_SCALE = 2.0**200
_LOG_SCALE = 200.0 * np.log(2.0)


@njit(cache=True, nogil=True)
def expected_counts(codes, starts, longest, trie, probability):
    """E-step: the expected count of each node of the trie as a piece, and the log-likelihood (nats).

    codes: uint32[cells], symbols + 1, and 0 between sequences; starts: first cell of each sequence; longest: symbols of
    the longest sequence; probability: float64[slots of the trie].
    """
    base, owner = trie.base, trie.owner
    expected = np.zeros(probability.size, np.float64)
    forward, backward = np.empty(longest + 1, np.float64), np.empty(longest + 1, np.float64)
    scaled = np.empty(longest + 1, np.int32)
    likelihood = 0.0
    for start in starts:
        text = codes[start:]
        length = 0
        while text[length] != 0:
            length += 1
        scalings = _forward(text, length, base, owner, probability, forward, scaled)
        likelihood += np.log(forward[length]) - scalings * _LOG_SCALE
        backward[length] = 1.0 / forward[length]
        for p in range(length - 1, -1, -1):
            if scalings > 0 and scaled[scalings - 1] == p + 1:
                scalings -= 1
                for q in range(p + 1, min(p + 1 + LONGEST, length + 1)):
                    backward[q] *= _SCALE
            here, total = forward[p], 0.0
            node, q = np.uint64(0), p
            while True:
                child = np.uint64(base[node]) + np.uint64(text[q])
                if owner[child] != node:
                    break
                node = child
                q += 1
                arc = probability[node] * backward[q]
                total += arc
                expected[node] += here * arc
            backward[p] = total
    return expected, likelihood


@njit(cache=True, nogil=True)
def _forward(text, length, base, owner, probability, forward, scaled):
    """Compute forward values; write the positions at which scaling begins into `scaled`, and return their number."""
    scalings = 0
    forward[0] = 1.0
    forward[1 : length + 1] = 0.0
    for p in range(length):
        if forward[p] < _SMALL:
            end = min(p + LONGEST, length + 1)
            if forward[p:end].max() < _SMALL:
                forward[p:end] *= _SCALE
                scaled[scalings] = p
                scalings += 1
        here = forward[p]
        node, q = np.uint64(0), p
        while True:
            child = np.uint64(base[node]) + np.uint64(text[q])
            if owner[child] != node:
                break
            node = child
            q += 1
            forward[q] += here * probability[node]
    return scalings


@njit(cache=True, nogil=True)
def best_segmentation(codes, starts, longest, trie, score, widths):
    """The pieces of the segmentation with the highest score of each sequence (Viterbi).

    score: float64[slots], log-probabilities, -inf where a node has no piece; widths: int32[pieces]. Scores are added
    from the left; the longer last piece wins a tie, as in Hugging Face's `Unigram`.

    Returns the pieces (int32[tokens]), and where each sequence begins among them (int64[sequences + 1]).
    """
    base, owner, piece = trie.base, trie.owner, trie.piece
    best, back = np.empty(longest + 1, np.float64), np.empty(longest + 1, np.int32)
    tokens, begins = np.empty(codes.size, np.int32), np.zeros(starts.size + 1, np.int64)
    for i in range(starts.size):
        text = codes[starts[i] :]
        best[0] = 0.0
        reached, p = 0, 0
        while text[p] != 0:
            here = best[p]
            node, q = np.uint64(0), p
            while True:
                child = np.uint64(base[node]) + np.uint64(text[q])
                if owner[child] != node:
                    break
                node = child
                q += 1
                if q > reached:
                    reached = q
                    best[q] = -np.inf
                candidate = score[node] + here
                if candidate > best[q]:
                    best[q] = candidate
                    back[q] = piece[node]
            p += 1
        count = 0
        end = p
        while p > 0:
            count += 1
            p -= widths[back[p]]
        begins[i + 1] = begins[i] + count
        at = begins[i + 1]
        while end > 0:
            at -= 1
            tokens[at] = back[end]
            end -= widths[back[end]]
    return tokens[: begins[starts.size]].copy(), begins


@njit(cache=True, nogil=True)
def digamma(x):
    """Digamma function of x > 0, by recurrence and asymptotic series to about 1e-10."""
    result = 0.0
    while x < 7.0:
        result -= 1.0 / x
        x += 1.0
    x -= 0.5
    xx = 1.0 / (x * x)
    return result + np.log(x) + xx * (1 / 24 - xx * (7 / 960 - xx * (31 / 8064 - xx * (127 / 30720))))


@njit(cache=True, nogil=True)
def log_probabilities(expected, kept, least):
    """M-step: digamma(c) - digamma(sum of c) in nats, for the expected counts c of the kept pieces, at least `least`.

    The other pieces get -inf.
    """
    total = 0.0
    for i in range(expected.size):
        if kept[i]:
            total += max(expected[i], least)
    result = np.full(expected.size, -np.inf)
    for i in range(expected.size):
        if kept[i]:
            result[i] = digamma(max(expected[i], least)) - digamma(total)
    return result


@njit(cache=True, nogil=True)
def pruning_losses(symbols, offsets, trie, score, counts):
    """Loss of log-likelihood (nats) if a piece is replaced by its best segmentation into other pieces.

    counts: int64[pieces], of the best segmentation of the text. -inf for a piece that is not in it, or whose other
    segmentation has a higher score; inf for single symbols.
    """
    losses = np.empty(counts.size, np.float64)
    best, back = np.empty(LONGEST + 1, np.float64), np.empty(LONGEST + 1, np.int32)
    total = float(counts.sum())
    for i in range(counts.size):
        text = symbols[offsets[i] : offsets[i + 1]]
        if text.size == 1:
            losses[i] = np.inf
            continue
        whole = _segment_by_others(text, trie, score, best, back)
        count = float(counts[i])
        if count == 0.0 or best[text.size] > whole:
            losses[i] = -np.inf
            continue
        alternatives, others, p = 0, 0.0, text.size
        while p > 0:
            other = back[p]
            others += np.log(counts[other] + count)
            alternatives += 1
            p -= offsets[other + 1] - offsets[other]
        others -= alternatives * np.log(total + count * (alternatives - 1))
        losses[i] = count * (np.log(count) - np.log(total) - others)
    return losses


@njit(cache=True, nogil=True)
def _segment_by_others(text, trie, score, best, back):
    """Write the best segmentation of a piece into other pieces into `best` and `back`; return the piece's own score."""
    whole = 0.0
    best[0] = 0.0
    best[1 : text.size + 1] = -np.inf
    for p in range(text.size):
        node = np.uint64(0)
        for q in range(p, text.size):
            child = np.uint64(trie.base[node]) + np.uint64(text[q] + 1)
            if trie.owner[child] != node:
                break
            node = child
            if q - p + 1 == text.size:
                whole = score[node]
            elif score[node] + best[p] > best[q + 1]:
                best[q + 1] = score[node] + best[p]
                back[q + 1] = trie.piece[node]
    return whole
