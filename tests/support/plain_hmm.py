"""The E-step of the periodic HMM as its definition: one sequence at a time, one vector product per digit."""

import numpy as np

from tokenlab.codes.latom.hmm_model import ExpectedCounts, PeriodicHmm


def plain_counts(hmm: PeriodicHmm, codes: np.ndarray, offsets: np.ndarray) -> ExpectedCounts:
    """What `expected_counts` computes; the vectors of every digit are divided by their sums."""
    N, K, C = hmm.emissions.shape
    start, transitions, emissions, end = (np.zeros_like(x) for x in (*hmm[:3], hmm.start))
    likelihood = 0.0
    for text in np.split(codes, offsets[1:-1]):
        if not len(text):
            continue
        observed = [(digit, int(character)) for character in text for digit in range(N)]
        ends = np.ones(K) if hmm.end is None else hmm.end
        forward, ahead = [], hmm.start
        for n, c in observed:
            here = ahead * hmm.emissions[n, :, c]
            likelihood += np.log(here.sum())
            forward.append(here / here.sum())
            ahead = forward[-1] @ hmm.transitions[n]
        likelihood += np.log(forward[-1] @ ends)
        backward = ends
        end += forward[-1] * ends / (forward[-1] @ ends)
        for place in range(len(observed) - 1, -1, -1):
            n, c = observed[place]
            posterior = forward[place] * backward
            emissions[n, :, c] += posterior / posterior.sum()
            emitted = hmm.emissions[n, :, c] * backward
            if place:
                edges = forward[place - 1][:, None] * hmm.transitions[n - 1] * emitted
                transitions[n - 1] += edges / edges.sum()
                backward = hmm.transitions[n - 1] @ emitted
                backward /= backward.max()
            else:
                start += posterior / posterior.sum()
    occurrences = np.maximum(np.bincount(codes, minlength=C), 1)
    posteriors = emissions.transpose(2, 0, 1) / occurrences[:, None, None]
    return ExpectedCounts(likelihood, start, transitions, emissions, None if hmm.end is None else end, posteriors)
