"""Random vocabularies of two and three letters: texts against sums over all covers, and all estimators alike."""

import numpy as np
import pytest
from brute_encodings import longest_match, merge_lowest, texts
from brute_probabilities import Encodings, TableModel

from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.options import ExactOptions
from tokenlab.exact.vocabulary import Vocabulary


def random_merges(generator, letters, number):
    """Tokens and merges of random neighbours; None is the first token."""
    tokens = [None, *(bytes([letter]) for letter in letters)]
    merges = []
    while len(merges) < number:
        left, right = (int(id) for id in generator.integers(1, len(tokens), 2))
        spelled = tokens[left] + tokens[right]
        if spelled not in tokens and len(spelled) <= 4:
            merges.append((left, right, len(tokens)))
            tokens.append(spelled)
    return tokens, merges


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("encoder", ["mpe", "bpe"])
def test_estimators_are_the_sum_over_all_covers(encoder, seed):
    generator = np.random.default_rng(seed)
    letters = b"ab" if seed % 2 else b"abc"
    tokens, merges = random_merges(generator, letters, 4 + seed)
    model = TableModel(len(tokens), 0, seed=seed)
    if encoder == "mpe":
        automaton = MaximumPrefix(Vocabulary(tokens))
        brute = Encodings(tokens, lambda text: longest_match(tokens, text), letters, reach=3)
    else:
        automaton = BytePair(Vocabulary(tokens), merges)
        brute = Encodings(tokens, lambda text: merge_lowest(tokens, merges, text), letters, reach=3)
    estimators = ("incremental", "bpc", "mpc") if encoder == "mpe" else ("incremental", "bpc")
    some = list(texts(letters, 3, 1)) + [bytes(generator.choice(list(letters), 5).tolist()) for _ in range(5)]
    for estimator in estimators:
        chars = CharacterModel(model, automaton, ExactOptions(estimator=estimator))
        for text in some:
            found = chars.log_probability(text).log_probability
            assert np.exp(found) == pytest.approx(brute.text_probability(model, text), rel=1e-12)
            assert abs(chars.next_byte(text).total) < 1e-12
