"""Kernels of counting by shards: the sorted rows of several runs become one trie, and n-grams find their suffixes."""

import numpy as np
from numba import njit

from tokenlab.ngrams.kernels import child

COUNT, STARTS, ENDS = 0, 1, 2
"""What is summed of an n-gram: its occurrences, those that begin a sentence, those that end one."""
FULL, DONE, UNSORTED = -1, -2, -3


@njit(cache=True, nogil=True)
def merge_rows(symbols, counts, filled, following, final, path, sums, written, least, nodes, node_sums):
    """Merge sorted rows of several runs into the nodes of one trie, as far as the blocks and the space for nodes reach.

    A row is an n-gram of `depth` units, or a shorter one at the end of a sentence, with zeros after it. A node is an
    n-gram that begins rows, with the sums over these. It is written once a row comes that it does not begin, so the
    nodes of each length are in the order of their symbols.

    Args:
        symbols: uint32[runs, rows, depth], a block of each run; counts: int64[runs, rows, 2], COUNT and STARTS.
        filled: int64[runs], rows of each block; following: int64[runs], the next one; final: bool[runs], no block comes
            after this one.
        path, sums, written: the state between calls, zeros at first: uint32[depth], the last row;
            int64[depth + 1, 3], the sums of the n-gram of each length that it begins with, as far as they are not yet
            in those of a longer one; int64[depth + 1], the nodes written of each length.
        least: int64[depth + 1]; n-grams of length n that occur less often than least[n] are left out. It does not fall
            with n, so that the parent of a node is a node.
        nodes: uint32[most, 3], gets length, last symbol, and the parent's number among the nodes of its length;
            node_sums: int64[most, 3].

    Returns how many nodes were written, and the run whose next block is needed, or FULL, DONE or UNSORTED.
    """
    heap = np.empty(filled.size, np.int64)
    size = 0
    for run in range(filled.size):
        if following[run] < filled[run]:
            heap[size] = run
            size += 1
        elif not final[run]:
            return 0, run
    for place in range(size // 2 - 1, -1, -1):
        _sink(heap, place, size, symbols, following)
    depth, new = path.size, 0
    while size:
        if new + depth > nodes.shape[0]:
            return new, FULL
        run = heap[0]
        row = following[run]
        common = 0
        while common < depth and symbols[run, row, common] == path[common]:
            common += 1
        if common < depth and symbols[run, row, common] < path[common]:
            return new, UNSORTED
        new = close_nodes(path, common, sums, written, least, nodes, node_sums, new)
        n = common
        for k in range(common, depth):
            path[k] = symbols[run, row, k]
            n += path[k] > 0
        while path[n - 1] == 0:
            n -= 1
        sums[n, COUNT] += counts[run, row, COUNT]
        sums[n, STARTS] += counts[run, row, STARTS]
        if n < depth:
            sums[n, ENDS] += counts[run, row, COUNT]
        following[run] += 1
        if following[run] == filled[run]:
            if not final[run]:
                return new, run
            size -= 1
            heap[0] = heap[size]
        _sink(heap, 0, size, symbols, following)
    return new, DONE


@njit(cache=True, nogil=True)
def close_nodes(path, common, sums, written, least, nodes, node_sums, new):
    """Write what the last row begins with, but for its first `common` lengths; returns the new number of nodes."""
    for n in range(path.size, common, -1):
        if path[n - 1] and sums[n, COUNT] >= least[n]:
            # The parent is not yet written; it will be the next one of its length.
            nodes[new, 0], nodes[new, 1], nodes[new, 2] = n, path[n - 1], written[n - 1]
            for kind in range(3):
                node_sums[new, kind] = sums[n, kind]
            written[n] += 1
            new += 1
        sums[n - 1, COUNT] += sums[n, COUNT]
        sums[n - 1, STARTS] += sums[n, STARTS]
        for kind in range(3):
            sums[n, kind] = 0
    return new


@njit(cache=True, nogil=True)
def _sink(heap, place, size, symbols, following):
    """Exchange the run at a place of the heap with those below it until its next row comes before theirs."""
    run = heap[place]
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and _before(heap[below + 1], heap[below], symbols, following):
            below += 1
        if not _before(heap[below], run, symbols, following):
            break
        heap[place] = heap[below]
        place = below
    heap[place] = run


@njit(cache=True, nogil=True)
def _before(run, other, symbols, following):
    row, others = following[run], following[other]
    for k in range(symbols.shape[2]):
        if symbols[run, row, k] != symbols[other, others, k]:
            return symbols[run, row, k] < symbols[other, others, k]
    return False


@njit(cache=True, nogil=True)
def find_suffixes(n, last, parent, first_unit, trie_last, first_child):
    """The row of each n-gram without its first unit in a trie, -1 where it is not there: int64[n-grams].

    Args:
        n, last, parent: n-grams of two units and more, shorter ones first; parent is a place among them.
        first_unit: symbol of the row 0 of the trie, whose single units are consecutive symbols.
        trie_last, first_child: as of `Trie`, but with symbols.
    """
    suffix = np.full(last.size, -1, np.int64)
    for i in range(last.size):
        if n[i] == 2:
            suffix[i] = last[i] - first_unit
        elif suffix[parent[i]] >= 0:
            suffix[i] = child(suffix[parent[i]], last[i], trie_last, first_child)
    return suffix


@njit(cache=True, nogil=True)
def fill_least_pmi(first, last, parent, pair_last, first_pair, pair_pmi, pmi):
    """Smallest PMI of n-grams of three units and more, rows from `first` on, from those of parents and of bigrams.

    pair_last, pair_pmi: of all bigrams, sorted; first_pair: int64[units + 1], where those of each unit begin.
    """
    for i in range(first, last.size):
        pair = child(last[parent[i]], last[i], pair_last, first_pair)
        pmi[i] = min(pmi[parent[i]], pair_pmi[pair])
