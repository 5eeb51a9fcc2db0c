"""A token model whose logits are pseudo-random numbers of the context, and probabilities of texts by definition."""

from functools import lru_cache

import numpy as np

from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.interface import ContextTooLong
from tokenlab.exact.options import ExactOptions


class HashedModel:
    """Logits are normal numbers, seeded by the tokens before them."""

    def __init__(self, size, end=None, seed=0, limit=None, spread=1.5):
        self.size, self.end, self.seed, self.limit, self.spread = size, end, seed, limit, spread

    def logits(self, tokens):
        return np.random.default_rng([self.seed, len(tokens), *tokens]).normal(0, self.spread, self.size)

    def tree(self):
        return HashedTree(self)


class HashedTree:
    """Paths of tokens, one a node."""

    def __init__(self, model):
        self.model, self.paths = model, [()]
        self.contexts = self.passes = self.tokens = 0
        self.kept = None

    def root(self):
        self.contexts, self.passes, self.tokens = 1, 1, 1
        return self.model.logits(())

    def extend(self, parents, tokens):
        for parent, token in zip(parents, tokens, strict=True):
            assert self.kept is None or parent in self.kept or parent >= self.alive_from
            path = (*self.paths[parent], token)
            if self.model.limit is not None and len(path) > self.model.limit:
                raise ContextTooLong(f"a context of {len(path)} tokens; shorten the text")
            self.paths.append(path)
        new = self.paths[len(self.paths) - len(tokens) :]
        self.contexts, self.passes, self.tokens = self.contexts + len(new), self.passes + 1, self.tokens + len(new)
        return np.array([self.model.logits(path) for path in new])

    def keep(self, nodes):
        alive = {self.paths[node][:length] for node in nodes for length in range(len(self.paths[node]) + 1)}
        self.kept = {node for node, path in enumerate(self.paths) if path in alive and self._alive(node)}
        self.alive_from = len(self.paths)

    def _alive(self, node):
        return self.kept is None or node in self.kept or node >= self.alive_from


class ByDefinition:
    """P(a text starts with x) and P(text) summed over all live token sequences, truncated and renormalised."""

    def __init__(self, model, automaton):
        self.model, self.automaton = model, automaton
        self.following = lru_cache(maxsize=None)(self._following)

    def _following(self, tokens):
        """Each live token and its probability, and the probability of the end, after tokens."""
        state = self.automaton.start()
        for token in tokens:
            state = self.automaton.step(state, token)
        p = np.exp(self.model.logits(tokens))
        ids = self.automaton.vocabulary.ids[self.automaton.allowed(state)].tolist()
        end = p[self.model.end] if self.model.end is not None and self.automaton.may_end(state) else 0.0
        total = p[ids].sum() + end
        return {token: p[token] / total for token in ids}, end / total

    def starts_with(self, text, tokens=()):
        """P(the text starts with `text`, and its encoding with `tokens`, given the tokens)."""
        if not text:
            return 1.0
        found = 0.0
        for token, p in self.following(tokens)[0].items():
            spelled = self.automaton.vocabulary.tokens[token]
            if spelled.startswith(text):
                found += p
            elif text.startswith(spelled):
                found += p * self.starts_with(text[len(spelled) :], (*tokens, token))
        return found

    def is_text(self, text, tokens=()):
        """P(the text is `text`)."""
        following, end = self.following(tokens)
        if not text:
            return end
        found = 0.0
        for token, p in following.items():
            spelled = self.automaton.vocabulary.tokens[token]
            if text.startswith(spelled):
                found += p * self.is_text(text[len(spelled) :], (*tokens, token))
        return found


def character_model(automaton, end=None, seed=0, limit=None, **options):
    """A character-level model of pseudo-random logits."""
    size = len(automaton.vocabulary.tokens)
    return CharacterModel(HashedModel(size, end, seed, limit), automaton, ExactOptions(**options))
