"""Kernels of BPE over sequences: the text as cells, and one merge after the other at the positions of its pair.

A token that covers the cells p to q has its id in the cells p and q and -1 between them; -1 also separates sequences.
So the token after p begins at p plus its width, the token before p ends at p - 1, and no links are needed. A position
in a list is out of date where its cell no longer has the left token of the pair.

A sequence may stand for many equal ones: its weight, int64, is their number, and every count is a sum of weights. The
lists of positions are as long as the distinct sequences ask for, so memory does not grow with weights.

1. `lay_out`, `_index_pairs`: the cells, and the positions of every pair, ascending, by one counting sort.
   Positions are int32 where that is enough, which halves the memory, and int64 in longer text.
2. `merge_all`: one pair after the other, from a heap, or from merges that were learned before.
3. `_merge`: a merge changes counts by neighbour, not by occurrence, so the table of pairs is read a few hundred times
   for any number of occurrences; the positions of new pairs are written grouped by neighbour.

All occurrences of a token are made by its own merge at its rank: the spelling of a token has one derivation, that of
encoding it alone, in every context. So the count of a pair never rises after the merge that made it, and no two tokens
have the same spelling.
"""

import numpy as np
from numba import njit

from tokenlab.metrics.kernels import sum_n_log_n
from tokenlab.tokenizers.pairs_kernels import (
    add_list,
    find,
    find_or_add,
    heap_with_room,
    no_heap,
    no_pairs,
    pair_key,
    pop_best,
    push,
    with_room,
)

_ROOM = 1 << 10


@njit(cache=True, nogil=True)
def lay_out(symbols, offsets, positions):
    """The text as cells (int32[total + sequences + 1], without empty sequences) and the first cell of each sequence.

    positions: an empty array of the type that positions of cells have from here on.
    """
    sequences = 0
    for i in range(offsets.size - 1):
        sequences += offsets[i + 1] > offsets[i]
    cells = np.empty(symbols.size + sequences + 1, np.int32)
    starts = np.empty(sequences, positions.dtype)
    cells[0] = -1
    size, sequences = 1, 0
    for i in range(offsets.size - 1):
        if offsets[i + 1] > offsets[i]:
            starts[sequences] = size
            sequences += 1
            for position in range(offsets[i], offsets[i + 1]):
                cells[size] = symbols[position]
                size += 1
            cells[size] = -1
            size += 1
    return cells, starts


@njit(cache=True, nogil=True)
def _owners(cells, starts, weights):
    """The sequence of each cell; empty where there are no weights, so that text without takes no more."""
    owners = np.empty(cells.size if weights.size > 0 else 0, starts.dtype)
    sequence = -1
    for p in range(owners.size):
        sequence += p > 0 and cells[p - 1] < 0
        owners[p] = sequence
    return owners


@njit(cache=True, nogil=True)
def _weight(weights, owners, p):
    """How often the sequence of a cell occurs."""
    return weights[owners[p]] if weights.size > 0 else np.int64(1)


@njit(cache=True, nogil=True)
def merge_all(cells, starts, weights, alphabet, sizes, merges, learn):
    """Merge one pair after the other in `cells`, which `lay_out` made.

    weights: int64[starts], how often each sequence occurs; int64[0] where each occurs once.
    merges: int32[most merges, 2], applied in their order. With `learn` they are filled in: each is the most frequent
    pair, until `merges` is full or no pair is left.

    Returns the number of merges, and for each size that was reached (ascending, int64) the tokens (int64) and the
    bigram bits (float64).
    """
    largest = alphabet + merges.shape[0]
    widths = np.ones(largest, np.int64)
    before, after = np.zeros((2, largest + 1), np.int64), np.zeros((2, largest + 1), np.int64)
    tokens, bits = np.empty(sizes.size, np.int64), np.empty(sizes.size, np.float64)
    owners = _owners(cells, starts, weights)
    pairs, pool, used = _index_pairs(cells, starts, weights, owners)
    kept = np.empty(used, starts.dtype)
    heap = heap_with_room(no_heap(), pairs.size[0])
    if learn:
        for row in range(pairs.size[0]):
            push(heap, pairs.counts[row], pairs.keys[row])
    vocabulary, reached, total = alphabet, 0, np.int64(0)
    for p in range(cells.size):
        if cells[p] >= 0:
            total += _weight(weights, owners, p)
    while True:
        if reached < sizes.size and vocabulary == sizes[reached]:
            tokens[reached], bits[reached] = total, _bigram_bits(cells, starts, weights, pairs, vocabulary)
            reached += 1
        if vocabulary == largest:
            break
        rank = vocabulary - alphabet
        if learn:
            row = pop_best(heap, pairs)
            if row < 0:
                break
            merges[rank, 0], merges[rank, 1] = pairs.keys[row] >> 32, pairs.keys[row] & 0xFFFFFFFF
        else:
            row = find(pairs, pair_key(merges[rank, 0], merges[rank, 1]))
        widths[vocabulary] = widths[merges[rank, 0]] + widths[merges[rank, 1]]
        if row >= 0:
            first = pairs.size[0]
            pairs, used, gone = _merge(
                cells, weights, owners, widths, pairs, pool, used, row, vocabulary, before, after, kept
            )
            total -= gone
            if learn:
                heap = heap_with_room(heap, pairs.size[0] - first)
                for new in range(first, pairs.size[0]):
                    push(heap, pairs.counts[new], pairs.keys[new])
        vocabulary += 1
    return vocabulary - alphabet, tokens[:reached], bits[:reached]


@njit(cache=True, nogil=True)
def collect_tokens(cells, widths, offsets):
    """Ids of the tokens (int32), and where each sequence begins among them (int64[sequences + 1])."""
    ids = np.empty(cells.size, np.int32)
    begins = np.zeros(offsets.size, np.int64)
    p, size = 1, 0
    for i in range(offsets.size - 1):
        if offsets[i + 1] > offsets[i]:
            while cells[p] >= 0:
                ids[size] = cells[p]
                size += 1
                p += widths[cells[p]]
            p += 1
        begins[i + 1] = size
    return ids[:size].copy(), begins


@njit(cache=True, nogil=True)
def _index_pairs(cells, starts, weights, owners):
    """All pairs of adjacent symbols, each with its positions.

    Returns the table, the pool of positions (of the type of `starts`, with room for the most that all merges can need:
    two positions for each token that is merged away), and the used length of the pool.
    """
    rows = np.full(cells.size, -1, np.int32)
    pairs, p = no_pairs(), 0
    while p < cells.size - 1:
        pairs = with_room(pairs, _ROOM)
        p = _number_pairs(cells, weights, owners, pairs, rows, p)
    used = 0
    for row in range(pairs.size[0]):
        pairs.starts[row] = used
        used += pairs.lengths[row]
        pairs.lengths[row] = 0
    pool = np.empty(3 * used, starts.dtype)
    for p in range(cells.size - 1):
        row = rows[p]
        if row >= 0:
            pool[pairs.starts[row] + pairs.lengths[row]] = p
            pairs.lengths[row] += 1
    return pairs, pool, used


@njit(cache=True, nogil=True)
def _number_pairs(cells, weights, owners, pairs, rows, p):
    """Record the row of the pair at each position from p on until the table is full; returns the next position."""
    room = pairs.keys.size
    while p < cells.size - 1 and pairs.size[0] < room:
        if cells[p] >= 0 and cells[p + 1] >= 0:
            row = find_or_add(pairs, pair_key(cells[p], cells[p + 1]))
            rows[p] = row
            pairs.lengths[row] += 1
            pairs.counts[row] += _weight(weights, owners, p)
        p += 1
    return p


@njit(cache=True, nogil=True)
def _merge(cells, weights, owners, widths, pairs, pool, used, row, token, before, after, kept):
    """Merge the pair of `row` into a new token, whose width is in `widths`.

    before, after: int64[2, at least token + 2], positions and weights, zero before and after the call; kept:
    [positions], scratch. Returns the table with the new pairs after the others, the used length of the pool, and
    the weight of all replacements.
    """
    left, right = pairs.keys[row] >> 32, pairs.keys[row] & 0xFFFFFFFF
    positions = pool[pairs.starts[row] : pairs.starts[row] + pairs.lengths[row]]
    replaced, gone, lefts, rights = _replace(
        cells, weights, owners, widths, positions, left, right, token, before, after, kept
    )
    pairs = with_room(pairs, lefts.size + rights.size)
    for x in lefts:
        length, count = before[0, x + 1], before[1, x + 1]
        if x >= 0:
            pairs.counts[find(pairs, pair_key(x, left))] -= count
            before[0, x + 1] = used
            used = add_list(pairs, pair_key(x, token), used, length, count)
    for y in rights:
        length, count = after[0, y + 1], after[1, y + 1]
        if y >= 0:
            pairs.counts[find(pairs, pair_key(right, y if y < token else left))] -= count
            after[0, y + 1] = used
            used = add_list(pairs, pair_key(token, y), used, length, count)
    end_before = -1
    for i in range(replaced):
        p = kept[i]
        end = p + widths[token]
        x, y = cells[p - 1], cells[end]
        if x >= 0 and p != end_before:
            pool[before[0, x + 1]] = p - widths[x]
            before[0, x + 1] += 1
        if y >= 0:
            pool[after[0, y + 1]] = p
            after[0, y + 1] += 1
        end_before = end
    pairs.counts[row] = 0
    for x in lefts:
        before[:, x + 1] = 0
    for y in rights:
        after[:, y + 1] = 0
    return pairs, used, gone


@njit(cache=True, nogil=True)
def _replace(cells, weights, owners, widths, positions, left, right, token, before, after, kept):
    """Replace the pair by the token at each position that still has it, from left to right.

    Counts in before[:, x + 1] and after[:, y + 1] the final neighbours x and y of the new tokens (-1: none); adjacent
    new tokens count as right neighbours only. Writes the positions into `kept` and returns their number and weight, and
    the distinct left and right neighbours (int64), ascending.
    """
    size, end_before, gone = 0, -1, np.int64(0)
    lefts, rights = np.empty((2, min(positions.size, token + 2)), np.int64)
    found_left, found_right = 0, 0
    for i in range(positions.size):
        p = positions[i]
        second = p + widths[left]
        if cells[p] != left or cells[second] != right:
            continue
        end = second + widths[right]
        cells[second - 1] = -1
        cells[second] = -1
        cells[p] = token
        cells[end - 1] = token
        weight = _weight(weights, owners, p)
        if p != end_before:
            x = cells[p - 1]
            if before[0, x + 1] == 0:
                lefts[found_left] = x
                found_left += 1
            before[0, x + 1] += 1
            before[1, x + 1] += weight
        y = cells[end]
        if y == left and cells[end + widths[left]] == right:
            y = token  # The next position is this pair, too.
        if after[0, y + 1] == 0:
            rights[found_right] = y
            found_right += 1
        after[0, y + 1] += 1
        after[1, y + 1] += weight
        kept[size] = p
        size += 1
        gone += weight
        end_before = end
    return size, gone, np.sort(lefts[:found_left]), np.sort(rights[:found_right])


@njit(cache=True, nogil=True)
def _bigram_bits(cells, starts, weights, pairs, vocabulary):
    """Bits of the tokens under their own bigram model (`tokenlab.metrics.bigram_bits`), from the counts of pairs."""
    size = pairs.size[0]
    counts, contexts = np.zeros(size + vocabulary, np.int64), np.zeros(vocabulary + 1, np.int64)
    for row in range(size):
        counts[row] = pairs.counts[row]
        contexts[(pairs.keys[row] >> 32) + 1] += pairs.counts[row]
    for i in range(starts.size):
        weight = weights[i] if weights.size > 0 else np.int64(1)
        contexts[0] += weight
        counts[size + cells[starts[i]]] += weight
    return max(sum_n_log_n(contexts) - sum_n_log_n(counts), 0.0)
