"""Random trees of contexts, and plain passes of random models of `transformers` over each context alone."""

import numpy as np
import torch
from transformers import AutoModelForCausalLM

SIZE = 50
"""Ids of the models."""


def random_model(config):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config)
    if config.model_type != "mamba":  # whose recurrence explodes with such weights
        with torch.no_grad():
            for weight in model.parameters():
                weight.copy_(torch.randn_like(weight) * 0.3)
    return model.eval()


def plain(model, context):
    with torch.no_grad():
        return model(input_ids=torch.tensor([context]), use_cache=False).logits[0, -1].numpy()


def agree(model, contexts, logits):
    for context, found in zip(contexts, logits, strict=True):
        wanted = plain(model, context)
        assert np.abs(found - wanted).max() < 1e-4 * np.abs(wanted).max()


def grow(tree, start, generator, steps=12, forget=False):
    """Grow a tree at random, half of the nodes under nodes of the same call. Returns all contexts and their logits."""
    contexts, logits, alive, above = {0: tuple(start)}, [tree.root()], [0], {0: {0}}
    for step in range(steps):
        first = len(contexts)
        parents, tokens = [], generator.integers(0, SIZE, 6).tolist()
        for token in tokens:
            parents.append(int(generator.choice([*alive, *range(first, first + len(parents))])))
            above[len(contexts)] = above[parents[-1]] | {len(contexts)}
            contexts[len(contexts)] = (*contexts[parents[-1]], token)
        logits.extend(tree.extend(parents, tokens))
        alive += range(first, len(contexts))
        if forget and step % 3 == 2:
            kept = generator.choice(alive, 3, replace=False).tolist()
            tree.keep(kept)
            alive = sorted(set().union(*(above[node] for node in kept)))
    return list(contexts.values()), logits
