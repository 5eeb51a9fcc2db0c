"""Generation: what a plain search without batches and cache gives, and where it ends."""

import numpy as np
import pytest
import torch

from tokenlab.core.errors import InputError
from tokenlab.translation.generation import translate
from tokenlab.translation.model import build_model
from tokenlab.translation.options import GenerationOptions, TranslationShape
from tokenlab.translation.pairs import sentences

END, PADDING = 2, 3
MODEL = build_model(TranslationShape(1, 16, 2, 24, 40), 24, PADDING, END, seed=8).eval()
LENGTHS = (5, 1, 9, 2, 7, 3)
SOURCES = sentences([np.random.default_rng(n).integers(4, 24, n) for n in LENGTHS], END)


def log_probabilities(source, target):
    with torch.no_grad():
        found = MODEL(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([[PADDING, *target]]))
    return found.logits[0].log_softmax(-1)


def greedy(source, longest, never):
    """One token after the other, without a cache."""
    target = []
    while len(target) < longest:
        best = log_probabilities(source, target)[-1]
        best[[PADDING, *never]] = -torch.inf
        if int(best.argmax()) == END:
            return target, True
        target.append(int(best.argmax()))
    return target, False


@pytest.mark.parametrize("batch", [1, 4])
def test_greedy_is_the_plain_search(batch):
    found = translate(MODEL, SOURCES, GenerationOptions(longest=12, batch=batch), never=(0, 1))
    expected = [greedy(SOURCES.sentence(number).tolist(), 12, (0, 1)) for number in range(len(LENGTHS))]
    assert [(one.ids.tolist(), one.ended) for one in found] == expected
    assert all(one.ids.dtype == np.int32 for one in found)


def test_tokens_that_are_never_generated_are_not():
    common = translate(MODEL, SOURCES, GenerationOptions(longest=8))[0].ids[0]
    found = translate(MODEL, SOURCES, GenerationOptions(longest=8), never=[int(common)])
    assert not any(common in one.ids for one in found)


def test_longest_is_bounded_by_the_positions():
    for longest, most in ((6, 6), (1000, 40)):
        found = translate(MODEL, SOURCES, GenerationOptions(longest=longest), never=[END])
        assert all(len(one.ids) == most and not one.ended for one in found)


def test_a_sentence_longer_than_the_positions_is_an_error():
    with pytest.raises(InputError, match="has 41 tokens, but positions is 40"):
        translate(MODEL, sentences([[5] * 40], END), GenerationOptions(longest=6))
    assert len(translate(MODEL, sentences([[5] * 39], END), GenerationOptions(longest=6))) == 1


def test_beams_find_more_probable_translations():
    def total(found):
        return sum(
            float(log_probabilities(source.tolist(), ids).gather(1, torch.tensor([[*ids, END]]).T).sum())
            / (len(ids) + 1)
            for source, ids in zip(map(SOURCES.sentence, range(len(LENGTHS))), found, strict=True)
        )

    one, many = (
        [one.ids.tolist() for one in translate(MODEL, SOURCES, GenerationOptions(longest=12, beams=beams))]
        for beams in (1, 5)
    )
    assert total(many) > total(one)
