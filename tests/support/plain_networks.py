"""The networks again, in float64 and as plainly as possible: everything padded to the longest, attention by a table of
which position sees which, rotary positions by complex numbers. Only the weights are shared, by name."""

import math

import numpy as np
import torch


def weights_of(network):
    """Copies of a network's weights in float64, by name; they collect gradients."""
    return {name: weight.detach().double().requires_grad_() for name, weight in network.named_parameters()}


def plain_token_nats(network, pieces, weights):
    """Nats of all symbols of the pieces, float64[symbols], of a TokenNetwork."""
    shape, table = network.shape, weights["embedding"]
    inputs, there = padded([[shape.vocabulary, *piece.ids[:-1].tolist()] for piece in pieces])
    states = plain_stack(weights, "stack", shape.stack, table[inputs], there)
    logits = states @ table[: shape.vocabulary].T
    targets = padded([piece.ids.tolist() for piece in pieces])[0]
    return nats_of(logits, targets)[there]


def plain_patch_nats(network, pieces, weights):
    """Nats of all symbols of the pieces, float64[symbols], of a PatchNetwork: patches padded to the longest patch,
    pieces to the piece of the most patches."""
    shape, table = network.shape, weights["embedding"]
    patches = [part.tolist() for piece in pieces for part in np.split(piece.ids, piece.starts[1:])]
    counts = [len(piece.starts) for piece in pieces]
    ids, there = padded(patches)
    embedded = table[ids]
    if shape.hash:
        embedded = embedded + plain_ngrams(shape.hash, weights["ngrams.table"], pieces, there)
        embedded = embedded / (shape.hash.largest - shape.hash.smallest + 2)
    encoded = plain_stack(weights, "encoder", shape.local, embedded, there)
    last = encoded[torch.arange(len(patches)), there.sum(1) - 1] @ weights["to_latent"].T
    rows, known = padded([list(range(sum(counts[:n]), sum(counts[: n + 1]))) for n in range(len(counts))])
    start = weights["start"].expand(len(pieces), 1, -1)
    latent = plain_stack(weights, "latent", shape.latent, torch.cat((start, last[rows][:, :-1]), 1), known)
    opened = (latent @ weights["to_local"].T)[known]
    decoded = plain_stack(weights, "decoder", shape.local, torch.cat((opened[:, None], table[ids][:, :-1]), 1), there)
    return nats_of(decoded @ table.T, ids)[there]


def plain_ngrams(shape, table, pieces, there):
    """The sums of hash n-gram embeddings, float64[patches, longest, width]; the hash in Python's integers."""
    found = []
    for piece in pieces:
        for end in range(1, len(piece.ids) + 1):
            total = torch.zeros(table.shape[1], dtype=torch.float64)
            for n in range(shape.smallest, shape.largest + 1):
                if end >= n:
                    last = [int(id) + 1 for id in piece.ids[end - n : end][::-1]]
                    rolling = sum(id * 1_000_000_007**power for power, id in enumerate(last))
                    mixed = (rolling + n) * 0x9E3779B97F4A7C15 % 2**64
                    total = total + table[(mixed >> 16) % shape.rows]
            found.append(total)
    sums = torch.zeros(*there.shape, table.shape[1], dtype=torch.float64)
    return sums.masked_scatter(there[:, :, None], torch.stack(found))


def plain_stack(weights, name, shape, states, there):
    """States [rows, length, width] after all blocks and the last norm; `there`: bool[rows, length], not padding."""
    rows, length, width = states.shape
    size = width // shape.heads
    order = torch.arange(length)
    sees = (order[:, None] >= order) & there[:, None, :]
    sees |= torch.eye(length, dtype=torch.bool)  # padding sees itself, so that no row of weights is empty
    angles = order[:, None] * 10_000.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    turn = torch.polar(torch.ones_like(angles), angles)

    def turned(heads):
        first, second = heads.chunk(2, dim=-1)
        found = torch.complex(first, second) * turn
        return torch.cat((found.real, found.imag), dim=-1)

    for layer in range(shape.layers):
        own = {key.removeprefix(f"{name}.blocks.{layer}."): value for key, value in weights.items()}
        normed = plain_norm(states, own["attention_norm.gain"])
        made = (normed @ own["queries_keys_values"].T).view(rows, length, 3, shape.heads, size).permute(2, 0, 3, 1, 4)
        scores = turned(made[0]) @ turned(made[1]).transpose(2, 3) / math.sqrt(size)
        shares = scores.masked_fill(~sees[:, None], -math.inf).softmax(-1)
        states = states + (shares @ made[2]).transpose(1, 2).reshape(rows, length, width) @ own["attention_output"].T
        gates, inner = (plain_norm(states, own["feed_forward_norm.gain"]) @ own["gates_inner"].T).chunk(2, -1)
        states = states + (gates * torch.sigmoid(gates) * inner) @ own["feed_forward_output"].T
    return plain_norm(states, weights[f"{name}.norm.gain"])


def plain_norm(states, gain):
    """RMSNorm over the last axis."""
    return states / (states.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gain


def nats_of(logits, targets):
    """Minus the log-probability of each target."""
    return -logits.log_softmax(-1).gather(-1, targets[..., None])[..., 0]


def padded(lists):
    """Lists as int64[lists, longest], filled up with 0, and bool of the same shape: what is no padding."""
    ids = torch.zeros(len(lists), max(map(len, lists)), dtype=torch.int64)
    there = torch.zeros_like(ids, dtype=torch.bool)
    for row, some in enumerate(lists):
        ids[row, : len(some)] = torch.tensor(some)
        there[row, : len(some)] = True
    return ids, there


def unseen_flops(stack, length):
    """Scores, softmax and weighted sums of the formula, which tests/metrics/test_flops.py counts one by one; PyTorch's
    counter does not see them on the CPU."""
    return stack.layers * (4 * stack.width + 3 * stack.heads) * length * (length + 1) / 2
