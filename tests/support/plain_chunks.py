"""Dynamic chunking of H-Net, state by state in float64, as the paper writes it: the truth for the packed network."""

from itertools import pairwise

import torch
from plain_networks import plain_stack


def cosine(a, b):
    return float((a * b).sum() / (a.norm() * b.norm()))


def plain_router(states, queries, keys):
    """Eq. 4: p_1 = 1, p_t = (1 - cos(W_q x_t, W_k x_{t-1})) / 2; a list of floats."""
    p = [1.0]
    for before, state in pairwise(states):
        p.append((1 - cosine(queries @ state, keys @ before)) / 2)
    return p


def plain_smooth(chunks, p):
    """Eq. 5: s_t = p_t z_t + (1 - p_t) s_{t-1}."""
    found = [chunks[0]]
    for chunk, confidence in zip(chunks[1:], p[1:], strict=True):
        found.append(confidence * chunk + (1 - confidence) * found[-1])
    return found


def plain_ratio_loss(p, boundary, ratio):
    """Eq. 10."""
    f = sum(map(float, boundary)) / len(boundary)
    g = sum(p) / len(p)
    return ratio / (ratio - 1) * ((ratio - 1) * f * g + (1 - f) * (1 - g))


def plain_chunk_network(network, data):
    """All that the network computes for one piece of bytes (bytes): the nats of each byte, the probabilities, the
    boundaries of its states 0..len(data), of which the last predicts nothing."""
    weights = {name: weight.double() for name, weight in network.named_parameters()}
    embedding, shape = weights["embedding"], network.shape

    def stack(name, stack_shape, states):
        alone = torch.ones(1, len(states), dtype=torch.bool)
        return plain_stack(weights, name, stack_shape, torch.stack(states)[None], alone)[0]

    encoded = stack("encoder", shape.local, [embedding[id] for id in (256, *data)])
    p = plain_router(list(encoded), weights["queries"], weights["keys"])
    boundary = [confidence >= 0.5 for confidence in p]
    used = range(len(data))
    begins = [t for t in used if boundary[t]]
    latent = stack("latent", shape.latent, [weights["to_latent"] @ encoded[t] for t in begins])
    smoothed = plain_smooth([weights["to_local"] @ state for state in latent], [p[t] for t in begins])
    states = []
    for t in used:
        chunk = sum(boundary[: t + 1]) - 1
        states.append(smoothed[chunk] + weights["residual"] @ encoded[t])
    decoded = stack("decoder", shape.local, states)
    logits = decoded @ embedding[:256].T
    nats = [float(logits[t].logsumexp(0) - logits[t, data[t]]) for t in used]
    return nats, p, boundary
