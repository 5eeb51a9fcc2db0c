"""Word classes and R against plain Python."""

import math
from collections import Counter

import numpy as np
from word_states import make_state

from tokenlab.segment.words.classes import find_classes
from tokenlab.segment.words.pair_kernels import compact

TEXT = ["中国人民的中国", "人民在中国", "人在国中，人民的人民。中国的人", "中国，人民", "在人民的中国人民，"] * 3


def plain_classes(state, K, before):
    """The classes of live words by the definition, and R."""
    u, w, number = (x.tolist() for x in compact(state.counts.keys, state.counts.number))
    symbols, lengths = state.known.symbol_count, state.known.lexicon.lengths.tolist()
    used, predecessors = state.counts.words["c"].tolist(), state.counts.words["c1"].tolist()
    contexts = range(len(used))
    live = [x for x in contexts if (used[x] + predecessors[x] > 0 if x < symbols else predecessors[x] >= 2)]
    features = {x: Counter() for x in live}
    for a, b, n in zip(u, w, number, strict=True):
        if b in features:
            features[b]["left", a] += min(n, 3)
        if a in features:
            features[a]["right", b] += min(n, 3)
    overall = Counter()
    for found in features.values():
        overall.update(found)
    everything = sum(overall.values())
    if before is None:
        start = sorted(live, key=lambda x: (-used[x], x))[:K]
        members = {x: start.index(x) for x in start}
    else:
        members = {x: int(before.kinds[x]) for x in live if before.kinds[x] < K}
    for _ in range(8):
        profiles, sizes = [Counter() for _ in range(K)], Counter(members.values())
        for x, k in members.items():
            profiles[k].update(features[x])
        total = [sum(profile.values()) for profile in profiles]
        placed = len(members)
        score = {
            x: [
                math.log((sizes[k] + 1) / (placed + K))
                + sum(
                    n * math.log((profiles[k][f] + 200 * overall[f] / everything) / (total[k] + 200))
                    for f, n in features[x].items()
                )
                for k in range(K)
            ]
            for x in live
        }
        members = {x: max(range(K), key=lambda k: (round(score[x][k], 9), -k)) for x in live}
    longest = state.known.lexicon.longest
    kinds = [members.get(x, K + longest if x < symbols else K + lengths[x - symbols] - 1) for x in contexts]
    pairs = Counter((kinds[a], kinds[b]) for a, b in zip(u, w, strict=True))
    size = K + longest + 1
    rows, columns = Counter(), Counter()
    for (a, b), n in pairs.items():
        rows[a] += n
        columns[b] += n
    affinity = [[(pairs[a, b] + 5) / (rows[a] * columns[b] / len(u) + 5) for b in range(size)] for a in range(size)]
    return kinds, affinity


def test_classes_by_the_definition():
    """Fewer than 1,000 types, so that each is a feature for itself."""
    before = None
    for seed in (5, 6):
        random = np.random.default_rng(seed)
        state = make_state(TEXT, lambda n, random=random: int(random.integers(n)))
        found = find_classes(state.counts, state.known.symbol_count, state.known.lexicon, 3, before)
        kinds, affinity = plain_classes(state, 3, before)
        assert found.kinds.tolist() == kinds
        assert len(set(kinds)) > 3
        assert np.allclose(found.affinity, affinity, rtol=1e-12)
        assert found.new_kinds.tolist() == [3, 4, 5, 6]
        before = found
