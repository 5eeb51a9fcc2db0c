"""Hierarchical BPE and the rules of patchers by their definitions, a byte at a time."""

import random
from collections import Counter, defaultdict
from itertools import pairwise

from plain_bpe import merged


def learn(tokens, longest, marker=256):
    """Algorithm 1 with everything counted anew before each merge: [(left, right)]."""
    active = [list(token) for token in dict.fromkeys(tokens) if len(token) + 1 > longest]
    merges = []
    while active:
        counts = Counter(pair for token in active for pair in pairwise(token))
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        active = [merged(token, best, marker + len(merges)) for token in active]
        active = [token for token in active if len(token) + 1 > longest]
    return merges


def learn_indexed(tokens, longest):
    """The same for large vocabularies: only tokens that have the best pair are counted anew."""
    active = {number: list(token) for number, token in enumerate(dict.fromkeys(tokens)) if len(token) + 1 > longest}
    counts, where, merges = Counter(), defaultdict(set), []
    for number, token in active.items():
        for pair in pairwise(token):
            counts[pair] += 1
            where[pair].add(number)
    while active:
        most = max(counts.values())
        best = min(pair for pair, count in counts.items() if count == most)
        merges.append(best)
        for number in where.pop(best) & active.keys():
            counts.subtract(pairwise(active[number]))
            active[number] = merged(active[number], best, 256 + len(merges))
            if len(active[number]) + 1 <= longest:
                del active[number]
                continue
            for pair in pairwise(active[number]):
                counts[pair] += 1
                where[pair].add(number)
        counts = +counts if len(merges) % 50 == 0 else counts
    return merges


def encode(patch, merges, marker=256):
    """Merge after merge, each wherever it applies, and the marker."""
    token = list(patch)
    for rank, pair in enumerate(merges):
        token = merged(token, tuple(pair), marker + 1 + rank)
    return [*token, marker]


def is_spacelike(byte):
    """As SpaceByte and BLT have it: no letter, digit or continuation byte."""
    return not (
        ord("a") <= byte <= ord("z")
        or ord("A") <= byte <= ord("Z")
        or ord("0") <= byte <= ord("9")
        or 0x80 <= byte <= 0xBF
    )


def space(text, cap=None):
    """Starts: after each spacelike byte that follows one that is not spacelike, or where the cap is reached."""
    starts, before, ended = [], True, True
    for at, byte in enumerate(text):
        if ended or at - starts[-1] == cap:
            starts.append(at)
        ended = is_spacelike(byte) and not before
        before = is_spacelike(byte)
    return starts


def by_entropy(entropies, begins, cap=None):
    """Starts: where begins(before, now) holds of two neighbouring entropies, at 0, and where the cap is reached."""
    starts = []
    for at in range(len(entropies)):
        if at == 0 or begins(entropies[at - 1], entropies[at]) or (cap and at - starts[-1] == cap):
            starts.append(at)
    return starts


def streamed(stream, text, seed=0):
    """The starts that a stream gives for a text in parts of random sizes; each must lie in the text so far."""
    parts = random.Random(seed)
    starts, at = [], 0
    while at < len(text):
        end = min(len(text), at + parts.randint(1, 5))
        new = stream.feed(text[at:end])
        assert all(start < end for start in new)
        starts += new
        at = end
    return starts + stream.finish()


def causally(stream, text):
    """The starts that `begins_next` announces, byte by byte; feeding gives the same."""
    starts = []
    for at in range(len(text)):
        begins = stream.begins_next()
        assert stream.feed(text[at : at + 1]) == ([at] if begins else [])
        starts += [at] * begins
    assert stream.finish() == []
    return starts
