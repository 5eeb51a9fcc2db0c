"""A model of random logits, and the live token strings of small vocabularies by enumeration, without automata: a token
string is live if it begins the encoding of an enumerated text. `hashed_model.ByDefinition` adds up probabilities."""

import hashlib
from functools import lru_cache
from itertools import product

import numpy as np

from tokenlab.exact.interface import ContextTooLong


class TableModel:
    """A language model with logits drawn anew for each context: deterministic, and different everywhere.

    zeros: share of the tokens with probability zero. After such a token a row of logits is NaN.
    limit: the longest context in tokens.
    once: whether its trees refuse a context that they hold already.
    Its trees raise KeyError for parents that were forgotten.
    """

    def __init__(self, size, end=None, *, seed=0, spread=1.5, zeros=0.0, limit=None, once=True):
        self.size, self.end, self.seed, self.spread, self.zeros, self.limit = size, end, seed, spread, zeros, limit
        self.once = once
        self.logits = lru_cache(maxsize=None)(self._logits)

    def _logits(self, context):
        digest = hashlib.blake2b(repr((self.seed, context)).encode(), digest_size=8).digest()
        generator = np.random.default_rng(int.from_bytes(digest, "little"))
        logits = generator.normal(size=self.size) * self.spread
        logits[generator.random(self.size) < self.zeros] = -np.inf
        if np.isneginf(logits).all():
            logits[generator.integers(self.size)] = 0.0
        if context and np.isneginf(self._before(context)):
            logits[:] = np.nan
        return logits

    def _before(self, context):
        """Logit of the last token; -inf too where the context before it has probability zero."""
        logit = self.logits(context[:-1])[context[-1]]
        return -np.inf if np.isnan(logit) else logit

    def probabilities(self, context):
        """[size] softmax of the logits; zeros where undefined."""
        logits = self.logits(tuple(context))
        if np.isnan(logits).all():
            return np.zeros(self.size)
        weights = np.exp(logits - logits.max())
        return weights / weights.sum()

    def tree(self):
        return TableTree(self)


class TableTree:
    def __init__(self, model):
        self.model, self.nodes = model, {0: ()}
        self.contexts = self.passes = self.tokens = 0
        self.last, self.seen = 0, set()

    def root(self):
        if () not in self.seen:
            self.seen.add(())
            self.contexts, self.passes, self.tokens = self.contexts + 1, self.passes + 1, self.tokens + 1
        return self.model.logits(())

    def extend(self, parents, tokens):
        rows = []
        for parent, token in zip(parents, tokens, strict=True):
            self.last += 1
            context = (*self.nodes[parent], token)
            if self.model.limit is not None and len(context) > self.model.limit:
                raise ContextTooLong(f"a context of {len(context)} tokens; shorten the text")
            assert not self.model.once or context not in self.seen, f"evaluated twice: {context}"
            self.seen.add(context)
            self.nodes[self.last] = context
            rows.append(self.model.logits(context))
        self.contexts, self.passes = self.contexts + len(rows), self.passes + 1
        self.tokens += len(rows)
        return np.array(rows)

    def keep(self, nodes):
        kept = {context[:i] for context in (self.nodes[node] for node in nodes) for i in range(len(context) + 1)}
        self.nodes = {number: context for number, context in self.nodes.items() if context in kept}
        self.seen &= kept


class Encodings:
    """The live token strings of an encoder, found by encoding all texts up to a length.

    encode: bytes to a tuple of ids; None for all token strings.
    reach: a token string is taken for live if it begins the encoding of a text that is at most this much longer.
    prefix: bytes that are put before every text that is not empty; `encode` gets them too.
    """

    def __init__(self, tokens, encode, alphabet, *, reach=4, prefix=b""):
        self.tokens, self.encode, self.alphabet, self.reach = tokens, encode, alphabet, reach
        self.prefix = prefix
        self.spelled = [id for id, token in enumerate(tokens) if token is not None]
        self.is_live = lru_cache(maxsize=None)(self._is_live)

    def decode(self, ids):
        return b"".join(self.tokens[id] for id in ids)

    def _is_live(self, ids):
        if self.encode is None:
            return True
        text = self.decode(ids)
        if not text.startswith(self.prefix[: len(text)]):
            return False
        text += self.prefix[len(text) :]
        return any(
            self.encode(text + bytes(more))[: len(ids)] == ids
            for length in range(self.reach + 1)
            for more in product(self.alphabet, repeat=length)
        )

    def may_end(self, ids):
        return not ids or self.encode is None or self.encode(self.decode(ids)) == ids


class SlowAutomaton:
    """The automaton of `Encodings`: a state is the token string itself. For encoders that have no automaton."""

    has_end = True

    def __init__(self, vocabulary, encodings):
        self.vocabulary, self.encodings, self.prefix = vocabulary, encodings, encodings.prefix

    def start(self):
        return ()

    def step(self, state, token):
        return (*state, token) if self.encodings.is_live((*state, token)) else None

    def allowed(self, state):
        return np.array([self.encodings.is_live((*state, int(id))) for id in self.vocabulary.ids])

    def may_end(self, state):
        return self.encodings.may_end(state)

    def encode(self, text):
        return list(self.encodings.encode(self.prefix + text)) if text else []
