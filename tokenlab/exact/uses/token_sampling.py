"""Texts sampled by tokens from the same distribution as byte by byte, with one model call a token.

P(text | it starts with the prompt) is a mixture over the covers of the prompt. So a cover is drawn by its probability
given the prompt, and then token after token from the truncated distributions: the texts have exactly the distribution
of those of `sampling.sample`. The same seed gives another text. Temperature, top_k and top_p need the distribution of
the next character, which is never computed here.
"""

import codecs
from collections.abc import Iterator

import numpy as np

from tokenlab.core.options import check_least
from tokenlab.exact.estimators.character_model import CharacterModel
from tokenlab.exact.uses.sampling import draw
from tokenlab.exact.uses.token_walk import check_sums, from_covers
from tokenlab.exact.utf8 import as_bytes, open_character


def sample_by_tokens(
    model: CharacterModel, prompt: bytes | str, n: int, *, seed: int | np.random.Generator = 0
) -> Iterator[str]:
    """Sample a continuation of at most n characters, and yield it in pieces as tokens complete characters.

    The text has ended if fewer come. If the prompt ends inside a character, the first piece begins with it as a whole.

    Args:
        model: its estimator does not matter, except that `naive` sums over no covers and is refused.
        prompt: UTF-8; bytes may end inside a character.
        seed: a seed or a generator of NumPy.

    Raises:
        ParameterError: n is negative; the estimator `naive`, or probabilities that are not truncated.
        InputError: a prompt that is not UTF-8, or has probability zero.
    """
    check_least("n", n, 0)
    check_sums(model, "sampling by tokens")
    text = as_bytes(prompt)
    opened = open_character(text)
    return _pieces(model, text, opened, n, np.random.default_rng(seed))


def _pieces(
    model: CharacterModel, prompt: bytes, opened: bytes, n: int, generator: np.random.Generator
) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    decoder.decode(opened)
    if not n:
        return
    walk, places = from_covers(model.model, model.automaton, prompt, model.options.max_contexts)
    masses = np.array([walk.log_mass(place) for place in places])
    place = places[draw(np.exp(masses - masses.max()), generator)]
    while n:
        before = place
        place = walk.sampled(before, generator)
        if place.ended:
            return
        piece = decoder.decode(place.text[len(before.text) :])[:n]
        n -= len(piece)
        if piece:
            yield piece
        if n:
            walk.evaluate([place])
