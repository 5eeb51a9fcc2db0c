"""Kernels of unigram encodings: the best path through a text, and the tokens that a best path goes on with.

The rules are those of Hugging Face's `Unigram`, and so SentencePiece's: scores are added from the left; candidates for
the end of a path are compared in the order of where their last token begins, and a later one must be better to win. A
character that is no token can be passed as *unknown*, at a price.
"""

import numpy as np
from numba import njit

from tokenlab.core.kernels import copy

UNKNOWN = -1
"""In the place of a piece: an unknown character."""


@njit(cache=True, nogil=True)
def _character_length(lead):
    """Bytes of a character by its first byte."""
    if lead < 0xC0:
        return 1
    return 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


@njit(cache=True, nogil=True)
def best_path(text, trie, score, unknown):
    """Pieces of the best path (int64, UNKNOWN for an unknown character) and where each begins (int64).

    text: uint8[bytes], UTF-8; score: float[pieces]; unknown: score of an unknown character, of the same type.
    """
    size = text.size
    best, back = np.empty(size + 1, score.dtype), np.full(size + 1, -1, np.int64)
    pieces = np.full(size + 1, UNKNOWN, np.int64)
    best[0], back[0] = 0.0, 0
    for begin in range(size):
        if back[begin] < 0:
            continue
        length = min(_character_length(text[begin]), size - begin)
        single = False
        node = np.uint64(0)
        for at in range(begin, size):
            child = np.uint64(trie.base[node]) + np.uint64(text[at]) + np.uint64(1)
            if trie.owner[child] != node:
                break
            node = child
            piece = trie.piece[node]
            if piece >= 0:
                candidate = best[begin] + score[piece]
                if back[at + 1] < 0 or candidate > best[at + 1]:
                    best[at + 1], back[at + 1], pieces[at + 1] = candidate, begin, piece
                single = single or at + 1 - begin == length
        if not single:
            candidate, end = best[begin] + unknown, begin + length
            if back[end] < 0 or candidate > best[end]:
                best[end], back[end], pieces[end] = candidate, begin, UNKNOWN
    path, begins, at = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)], size
    while at > 0:
        path.append(pieces[at])
        at = back[at]
        begins.append(at)
    return np.array(path[::-1], np.int64), np.array(begins[::-1], np.int64)


@njit(cache=True, nogil=True)
def going_on(symbols, offsets, shared, trie, score, unknown, begun, begun_best):
    """bool[pieces]: the pieces that a best path goes on with.

    Pieces are symbols[offsets[i]:offsets[i + 1]] (uint8), ascending; shared: int64[pieces], bytes that each has in
    common with the one before, so that a prefix is searched once. begun: int64[starts], nodes of the trie, for texts
    that begin at an earlier place and that a piece may complete, the earliest first, the last the root: here;
    begun_best: float[starts], scores of the best paths to those places.
    """
    longest = (offsets[1:] - offsets[:-1]).max()
    here = begun.size - 1
    result = np.zeros(offsets.size - 1, np.bool_)
    node = np.empty((longest + 1, here + longest + 2), np.uint64)
    start = np.empty((longest + 1, here + longest + 2), np.int64)
    count, winner = np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64)
    best = np.empty(here + longest + 1, score.dtype)
    missing, opened = np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64)
    copy(begun_best, best)
    count[0] = here + 1
    for j in range(here + 1):
        node[0, j], start[0, j] = np.uint64(begun[j]), j
    for i in range(result.size):
        for depth in range(shared[i] + 1, offsets[i + 1] - offsets[i] + 1):
            byte = symbols[offsets[i] + depth - 1]
            if missing[depth - 1] == 0:
                opened[depth], missing[depth] = here + depth - 1, _character_length(byte) - 1
            else:
                opened[depth], missing[depth] = opened[depth - 1], missing[depth - 1] - 1
            kept, won, single, most = 0, -1, False, score[0]
            for j in range(count[depth - 1]):
                parent = node[depth - 1, j]
                child = np.uint64(trie.base[parent]) + np.uint64(byte) + np.uint64(1)
                if trie.owner[child] != parent:
                    continue
                origin = start[depth - 1, j]
                node[depth, kept], start[depth, kept] = child, origin
                kept += 1
                piece = trie.piece[child]
                if piece >= 0:
                    candidate = best[origin] + score[piece]
                    if won < 0 or candidate > most:
                        won, most = origin, candidate
                    single = single or origin == opened[depth]
            origin = opened[depth]
            if missing[depth] == 0 and not single and (origin == here or winner[origin - here] >= 0):
                candidate = best[origin] + unknown
                if won < 0 or candidate > most:
                    won, most = origin, candidate
            winner[depth] = won
            if won >= 0:
                best[here + depth] = most
                node[depth, kept], start[depth, kept] = np.uint64(0), here + depth
                kept += 1
            count[depth] = kept
        result[i] = winner[offsets[i + 1] - offsets[i]] == here
    return result
