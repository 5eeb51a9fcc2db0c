"""The vocabularies of the paper's Markov experiments, and random ones."""

from itertools import pairwise

import numpy as np
from plain_bpe import merged

from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.vocabulary import Vocabulary

PAPER_MPE = ["A", "B", "AA", "BAAB", "BBAA", "BBBA", "BA", "BBA"]
PAPER_MERGES = [("B", "A"), ("BA", "A"), ("B", "BAA"), ("A", "A"), ("BA", "BA"), ("B", "B")]


def maximum_prefix(tokens, **options):
    """The encoder of some tokens, ids in their order."""
    return MaximumPrefix(Vocabulary([token.encode() for token in tokens]), has_end=False, **options)


def byte_pair(alphabet, merges, **options):
    """The encoder of merges (left, right); ids: the alphabet, then one for each merge."""
    tokens = [*alphabet, *(left + right for left, right in merges)]
    ids = {token: id for id, token in reversed(list(enumerate(tokens)))}
    rows = [(ids[left], ids[right], ids[left + right]) for left, right in merges]
    return BytePair(Vocabulary([token.encode() for token in tokens]), rows, has_end=False, **options)


def paper(kind):
    """One of the two encoders of the paper."""
    return maximum_prefix(PAPER_MPE) if kind == "mpe" else byte_pair("AB", PAPER_MERGES)


def random_automaton(seed):
    """(alphabet, order, encoder): MPE and BPE in turn, alphabets of 2 to 4, orders 1 to 3; tokens of at most 8."""
    generator = np.random.default_rng(seed)
    alphabet = "ABCD"[: 2 + seed // 2 % 3]
    order = 1 + seed // 6 % 3
    size = int(generator.integers(2, 30))
    if seed % 2:
        return alphabet, order, byte_pair(alphabet, random_merges(generator, alphabet, size))
    tokens = dict.fromkeys(alphabet)
    while len(tokens) < len(alphabet) + size:
        length = int(generator.integers(2, 9))
        tokens["".join(generator.choice(list(alphabet), length))] = None
    return alphabet, order, maximum_prefix(list(tokens))


def random_merges(generator, alphabet, size):
    """Proper merges: each of two tokens that are there, each new token once. Of two kinds: of any two tokens, and the
    most frequent pair of a random text, as BPE is trained."""
    merges, tokens = [], list(alphabet)
    text = list(generator.choice(tokens, 400))
    trained = generator.random() < 0.5
    for _ in range(size):
        if trained:
            pairs = list(pairwise(text))
            left, right = max(sorted(set(pairs)), key=pairs.count)
        else:
            left, right = map(str, generator.choice(tokens, 2))
        if left + right in tokens or len(left + right) > 8:
            continue
        merges.append((str(left), str(right)))
        tokens.append(str(left + right))
        text = merged(text, (left, right), left + right)
    return merges
