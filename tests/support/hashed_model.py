"""A character-level model of random logits, and the probabilities of its texts by definition."""

from functools import lru_cache

from brute_probabilities import TableModel

from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.options import ExactOptions


class ByDefinition:
    """P(a text starts with x) and P(text) summed over all live token sequences.

    truncate: whether the probabilities of the tokens that are live, and of the end, are divided by their sum.
    """

    def __init__(self, model, automaton, truncate=True):
        self.model, self.automaton, self.truncate = model, automaton, truncate
        self.following = lru_cache(maxsize=None)(self._following)

    def _following(self, tokens):
        """Each live token and its probability, and the probability of the end, after tokens."""
        state = self.automaton.start()
        for token in tokens:
            state = self.automaton.step(state, token)
        p = self.model.probabilities(tokens)
        ids = self.automaton.vocabulary.ids[self.automaton.allowed(state)].tolist()
        end = p[self.model.end] if self.model.end is not None and self.automaton.may_end(state) else 0.0
        total = (p[ids].sum() + end if self.truncate else 1.0) or 1.0
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
    model = TableModel(len(automaton.vocabulary.tokens), end, seed=seed, limit=limit, once=False)
    return CharacterModel(model, automaton, ExactOptions(**options))
