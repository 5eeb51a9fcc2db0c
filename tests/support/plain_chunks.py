"""Dynamic chunking of H-Net, state by state in float64, as the paper writes it: the truth for the packed network."""

import math
from itertools import pairwise

import torch


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


def plain_norm(states, gain):
    return states / (states.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * gain


def plain_stack(stack, states):
    """A stack of the library over one sequence [length, width], head by head; the last norm included."""
    length, width = states.shape
    size = width // stack.shape.heads
    half = size // 2
    angles = torch.arange(length)[:, None] * 10_000.0 ** (-torch.arange(half, dtype=torch.float64) * 2 / size)
    cosines, sines = angles.cos(), angles.sin()

    def turn(x):
        a, b = x[:, :half], x[:, half:]
        return torch.cat((a * cosines - b * sines, b * cosines + a * sines), dim=1)

    future = torch.ones(length, length).triu(1).bool()
    for block in stack.blocks:
        weights = {name: weight.double() for name, weight in block.named_parameters()}
        normed = plain_norm(states, weights["attention_norm.gain"])
        queries, keys, values = (normed @ weights["queries_keys_values"].T).split(width, dim=1)
        heads = []
        for head in range(stack.shape.heads):
            own = slice(head * size, (head + 1) * size)
            scores = turn(queries[:, own]) @ turn(keys[:, own]).T / math.sqrt(size)
            heads.append(scores.masked_fill(future, -math.inf).softmax(1) @ values[:, own])
        states = states + torch.cat(heads, dim=1) @ weights["attention_output"].T
        gates, inner = (plain_norm(states, weights["feed_forward_norm.gain"]) @ weights["gates_inner"].T).chunk(2, 1)
        states = states + (gates * gates.sigmoid() * inner) @ weights["feed_forward_output"].T
    return plain_norm(states, stack.norm.gain.double())


def plain_chunk_network(network, data):
    """All that the network computes for one piece of bytes (bytes): the nats of each byte, the probabilities, the
    boundaries of its states 0..len(data), of which the last predicts nothing."""
    weights = {name: weight.double() for name, weight in network.named_parameters()}
    embedding = weights["embedding"]
    inputs = torch.stack([embedding[id] for id in (256, *data)])
    encoded = plain_stack(network.encoder, inputs)
    p = plain_router(list(encoded), weights["queries"], weights["keys"])
    boundary = [confidence >= 0.5 for confidence in p]
    used = range(len(data))
    begins = [t for t in used if boundary[t]]
    latent = plain_stack(network.latent, torch.stack([weights["to_latent"] @ encoded[t] for t in begins]))
    smoothed = plain_smooth([weights["to_local"] @ state for state in latent], [p[t] for t in begins])
    states = []
    for t in used:
        chunk = sum(boundary[: t + 1]) - 1
        states.append(smoothed[chunk] + weights["residual"] @ encoded[t])
    decoded = plain_stack(network.decoder, torch.stack(states))
    logits = decoded @ embedding[:256].T
    nats = [float(logits[t].logsumexp(0) - logits[t, data[t]]) for t in used]
    return nats, p, boundary
