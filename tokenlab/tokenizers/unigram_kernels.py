"""Kernels of the unigram model: seed pieces, expected counts, the best segmentation, and the loss of a piece.

Pieces are in a trie, a double array (Aoe, 1989): the child of a node by code c is the slot base[node] + c if its owner
is that node. It takes a few times the memory of the pieces for any alphabet, so it fits into the cache, unlike a dense
table of children. Codes are symbols + 1; code 0 ends a sequence and is never a child, so walks check no bounds.

The lattice of a sequence has a node at each position and an arc for each piece at that position. Arcs are found by
walking the trie; nodes of the trie without a piece have probability 0, which is cheaper than a test. Values are in the
linear domain: where a stretch of the forward values becomes small, it is multiplied by a power of two, and so are the
backward values at the same positions.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tokenlab.core.kernels import copy

_NONE = np.uint32(0xFFFFFFFF)
LONGEST = 16
"""Largest number of symbols in a piece."""
_SMALL = 2.0**-200
_SCALE = 2.0**200
_LOG_SCALE = 200.0 * np.log(2.0)


class Trie(NamedTuple):
    """Nodes are slots, and the root is slot 0; the arrays end with room for every code after the last base."""

    base: np.ndarray
    """uint32[slots]: where the children of a node begin; 0 for a leaf."""
    owner: np.ndarray
    """uint32[slots]: the parent of a node."""
    piece: np.ndarray
    """int32[slots]: the piece that ends at a node; -1 for none."""


@njit(cache=True, nogil=True)
def build_trie(symbols, offsets, alphabet):
    """The trie of distinct, non-empty pieces in lexicographic order: piece i is symbols[offsets[i]:offsets[i+1]]."""
    room = 2 * symbols.size + 4 * alphabet + 4
    base, owner, piece = np.zeros(room, np.uint32), np.full(room, _NONE, np.uint32), np.full(room, -1, np.int32)
    nodes, depths = np.empty(symbols.size + 1, np.uint32), np.empty(symbols.size + 1, np.int32)
    lows, highs = np.empty(symbols.size + 1, np.int32), np.empty(symbols.size + 1, np.int32)
    codes = np.empty(alphabet, np.int64)
    nodes[0], depths[0], lows[0], highs[0] = 0, 0, 0, offsets.size - 1
    waiting, size, free, used = 0, 1, alphabet + 1, alphabet + 1
    while waiting < size:
        node, depth, low, high = nodes[waiting], depths[waiting], lows[waiting], highs[waiting]
        waiting += 1
        if node > 0 and offsets[low] + depth == offsets[low + 1]:
            piece[node] = low
            low += 1
        children = 0
        for i in range(low, high):
            code = symbols[offsets[i] + depth] + 1
            if children == 0 or codes[children - 1] != code:
                codes[children] = code
                lows[size + children] = i
                if children > 0:
                    highs[size + children - 1] = i
                children += 1
        if children == 0:
            continue
        highs[size + children - 1] = high
        while owner[free] != _NONE:
            free += 1
        begin = _place(owner, free, codes[:children])
        base[node] = begin
        for k in range(children):
            slot = begin + codes[k]
            owner[slot] = node
            nodes[size + k], depths[size + k] = slot, depth + 1
            used = max(used, slot)
        size += children
        if used + 2 * alphabet + 2 > base.size:
            base, owner = _longer(base, 0), _longer(owner, _NONE)
            piece = _longer(piece, -1)
    end = used + alphabet + 1
    return Trie(base[:end].copy(), owner[:end].copy(), piece[:end].copy())


@njit(cache=True, nogil=True)
def _place(owner, free, codes):
    """The first base at which the slots of all codes are free; the slot of the first code is tried from `free` on."""
    slot = free
    while True:
        fits = True
        for code in codes:
            if owner[slot - codes[0] + code] != _NONE:
                fits = False
                break
        if fits:
            return slot - codes[0]
        slot += 1


@njit(cache=True, nogil=True)
def _longer(array, fill):
    longer = np.full(2 * array.size, fill, array.dtype)
    copy(array, longer)
    return longer


@njit(cache=True, nogil=True)
def repeated_substrings(shared, remaining, weights, longest):
    """The substrings of 2 to `longest` symbols that occur at least twice, and not always before the same symbol.

    These are the inner nodes of the suffix tree of the repeated text. shared: uint8[positions], the length of the
    common prefix of each sorted position and the one before, at most longest + 1; remaining: symbols from each to the
    end of its sequence, at most longest + 1; weights: int64[positions], how often its sequence occurs. Returns for each
    substring its first place among the sorted positions (int32), its length (int32) and its number of occurrences
    (int64).
    """
    firsts, lengths = np.empty(2 * shared.size, np.int32), np.empty(2 * shared.size, np.int32)
    counts = np.empty(2 * shared.size, np.int64)
    found = 0
    before = np.zeros(shared.size + 1, np.int64)
    for i in range(shared.size):
        before[i + 1] = before[i] + weights[i]
        # The end of a sequence that occurs several times, and of which no other sorted position has as much.
        least = max(shared[i], shared[i + 1] if i + 1 < shared.size else 0)
        if weights[i] > 1 and least < remaining[i] and 2 <= remaining[i] <= longest:
            firsts[found], lengths[found], counts[found] = i, remaining[i], weights[i]
            found += 1
    left, depth = np.empty(longest + 3, np.int64), np.empty(longest + 3, np.int64)
    left[0], depth[0] = 0, 0
    top = 0
    for i in range(1, shared.size + 1):
        common = shared[i] if i < shared.size else 0
        begin = np.int64(i - 1)
        while depth[top] > common:
            begin = left[top]
            if 2 <= depth[top] <= longest:
                firsts[found], lengths[found], counts[found] = begin, depth[top], before[i] - before[begin]
                found += 1
            top -= 1
        if depth[top] < common:
            top += 1
            left[top], depth[top] = begin, common
    return firsts[:found].copy(), lengths[:found].copy(), counts[:found].copy()


@njit(cache=True, nogil=True)
def expected_counts(codes, starts, weights, longest, trie, probability):
    """E-step: the expected count of each node of the trie as a piece, and the log-likelihood (nats).

    codes: uint32[cells], symbols + 1, and 0 between sequences; starts: first cell of each sequence; weights:
    int64[starts], how often it occurs; longest: symbols of the longest sequence; probability: float64[slots of the
    trie].
    """
    base, owner = trie.base, trie.owner
    expected = np.zeros(probability.size, np.float64)
    forward, backward = np.empty(longest + 1, np.float64), np.empty(longest + 1, np.float64)
    scaled = np.empty(longest + 1, np.int32)
    # The nodes that the forward pass walks through, for the way back: of each position, from arcs[p] to arcs[p + 1].
    nodes, arcs = np.empty(longest * LONGEST, np.uint32), np.zeros(longest + 1, np.int64)
    likelihood = 0.0
    for i in range(starts.size):
        text = codes[starts[i] :]
        length = 0
        while text[length] != 0:
            length += 1
        scalings = _forward(text, length, base, owner, probability, forward, scaled, nodes, arcs)
        likelihood += weights[i] * (np.log(forward[length]) - scalings * _LOG_SCALE)
        backward[length] = weights[i] / forward[length]
        for p in range(length - 1, -1, -1):
            if scalings > 0 and scaled[scalings - 1] == p + 1:
                scalings -= 1
                for q in range(p + 1, min(p + 1 + LONGEST, length + 1)):
                    backward[q] *= _SCALE
            here, total, q = forward[p], 0.0, p
            for node in nodes[arcs[p] : arcs[p + 1]]:
                q += 1
                arc = probability[node] * backward[q]
                total += arc
                expected[node] += here * arc
            backward[p] = total
    return expected, likelihood


@njit(cache=True, nogil=True)
def _forward(text, length, base, owner, probability, forward, scaled, nodes, arcs):
    """Compute forward values, and write the nodes of all arcs into `nodes` and where each position begins into `arcs`;
    write the positions at which scaling begins into `scaled`, and return their number."""
    scalings, size = 0, 0
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
            nodes[size] = node
            size += 1
        arcs[p + 1] = size
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
