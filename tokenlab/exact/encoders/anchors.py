"""V*: the tokens that are a substring of no other token (section 3 of the paper)."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tokenlab.exact.vocabulary import Vocabulary


def anchors(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Which tokens are a substring of no other token.

    Returns: bool[ids]; False for ids that spell no text, and for ids with the bytes of another. With maximum prefix
    encoding nothing before such a token has an influence on what follows it.
    """
    spelled = [token for token in vocabulary.tokens if token is not None]
    known = set(spelled)
    inside = known.intersection(
        token[start:end]
        for token in known
        for start in range(len(token))
        for end in range(start + 1, len(token) + (start > 0))
    )
    position = vocabulary.ids
    result = np.zeros(len(vocabulary.tokens), bool)
    once = {token for token in known if token not in inside} - _repeated(spelled)
    result[position] = [vocabulary.tokens[id] in once for id in position]
    return result


def _repeated(tokens: list[bytes]) -> set[bytes]:
    return {token for token, other in pairwise(sorted(tokens)) if token == other}
