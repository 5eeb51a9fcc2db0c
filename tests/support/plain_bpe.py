"""BPE over sequences of symbols by its definition, without speed: the twin of the kernels. A symbol is a number or a
string."""

from itertools import pairwise


def encode(sequence, alphabet, merges):
    """Again and again the merge of lowest rank at its leftmost place; merges: [(left, right)]."""
    return by_rank(sequence, {tuple(pair): (rank, alphabet + rank) for rank, pair in enumerate(merges)})


def by_rank(sequence, merges):
    """The same; merges: pair -> (rank, the new symbol)."""
    tokens = list(sequence)
    while found := [(merges[pair][0], place) for place, pair in enumerate(pairwise(tokens)) if pair in merges]:
        _, place = min(found)
        tokens[place : place + 2] = [merges[tokens[place], tokens[place + 1]][1]]
    return tokens


def merged(tokens, pair, new):
    """Tokens with a pair replaced from left to right."""
    result, at = [], 0
    while at < len(tokens):
        if tuple(tokens[at : at + 2]) == pair:
            result.append(new)
            at += 2
        else:
            result.append(tokens[at])
            at += 1
    return result


def train(sequences, alphabet, size):
    """Merges until the vocabulary has `size` entries or nothing is left; each time the text is encoded anew."""
    merges = []
    while alphabet + len(merges) < size:
        counts = {}
        for sequence in sequences:
            for pair in pairwise(encode(sequence, alphabet, merges)):
                counts[pair] = counts.get(pair, 0) + 1
        if not counts:
            break
        merges.append(min(counts, key=lambda pair: (-counts[pair], pair)))
    return merges
