"""The cut at local maxima of a byte model's entropy, against entropies of the model counted here."""

import numpy as np
import torch
from scipy.signal import find_peaks

from tokenlab.comparison.entropy_cut import entropy_cut
from tokenlab.language.coding import ByteCoder
from tokenlab.networks.options import StackShape, TokenShape
from tokenlab.networks.stored import build_network

NETWORK = build_network(TokenShape(256, StackShape(1, 16, 2, 16)), seed=1)
with torch.no_grad():
    NETWORK.embedding.mul_(20)


def entropies(text):
    """Of the first byte of each character."""
    batch = NETWORK.collate([ByteCoder().code([text.encode()])])
    p = torch.softmax(NETWORK.logits(batch).double(), -1).numpy()
    return -(p * np.log(p)).sum(1)[np.cumsum([0, *(len(character.encode()) for character in text[:-1])])]


def test_words_begin_at_maxima_of_entropy_inside_runs_of_a_script_without_spaces():
    text = "今天天气很好我们去公园散步吧"
    (pieces,) = entropy_cut(NETWORK, 64).pieces([text])
    starts = np.cumsum([0, *map(len, pieces)])[1:-1]
    assert "".join(pieces) == text and len(starts)
    assert starts.tolist() == find_peaks(entropies(text))[0].tolist()


def test_scripts_with_spaces_are_cut_by_the_expression_alone():
    assert entropy_cut(NETWORK, 64).pieces(["don't walk home 12"]) == [["don't", " walk", " home", " 12"]]
