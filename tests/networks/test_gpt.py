"""The model: blind across sentences, the same after it was saved."""

from itertools import pairwise

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tokenlab.core.errors import ParameterError
from tokenlab.entropy.packing import encode, ordered_batches
from tokenlab.networks.gpt import GptShape, build_gpt, packed_logits, save_gpt
from tokenlab.networks.products import use_openblas
from tokenlab.tokenizers.alphabet import AlphabetOptions, learn_alphabet, save_alphabet

SHAPE = GptShape(layers=2, width=32, heads=4, context=24)
TEXTS = ["今天天气很好。", "他说：明天也好。", "好", "天" * 23, "气很好"]
ALPHABET = learn_alphabet(TEXTS)


def logits_alone(model, ids):
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids])).logits[0]


def test_packed_sentences_do_not_see_each_other():
    """The logits of a row are those of its sentences, each computed alone, as the scorer does."""
    model = build_gpt(SHAPE, ALPHABET.size, seed=0).eval()
    (batch,) = ordered_batches(encode(ALPHABET, TEXTS, SHAPE.context), SHAPE.context, rows=10)
    assert 1 < len(batch.ids) < len(TEXTS)
    with torch.no_grad():
        packed = packed_logits(model, torch.from_numpy(batch.ids), torch.from_numpy(batch.positions))
    for row, (ids, positions) in enumerate(zip(batch.ids, batch.positions, strict=True)):
        begins = [*torch.from_numpy(positions).eq(0).nonzero().flatten().tolist(), len(ids)]
        for begin, end in pairwise(begins):
            torch.testing.assert_close(packed[row, begin:end], logits_alone(model, ids[begin:end].tolist()))


@pytest.mark.parametrize("level", ["character", "byte"])
def test_saved_it_loads_in_transformers_and_computes_the_same(tmp_path, level):
    alphabet = learn_alphabet(TEXTS, AlphabetOptions(level))
    model = build_gpt(SHAPE, alphabet.size, seed=0).eval()
    save_gpt(model, tmp_path)
    save_alphabet(alphabet, tmp_path)
    names = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    loaded, report = AutoModelForCausalLM.from_pretrained(tmp_path, trust_remote_code=False, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    ids = AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=False)(TEXTS[2])["input_ids"]
    torch.testing.assert_close(logits_alone(loaded, ids), logits_alone(model, ids))
    use_openblas(loaded)
    assert torch.equal(logits_alone(loaded, ids), logits_alone(model, ids))
    assert loaded.config.bos_token_id == ids[0] and loaded.config.n_positions == SHAPE.context


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"layers": 0}, "layers is 0"),
        ({"heads": 5}, "heads is 5; .* 32"),
        ({"dropout": 1.0}, "dropout is 1.0"),
    ],
)
def test_sizes_that_cannot_be(size, message):
    with pytest.raises(ParameterError, match=message):
        GptShape(**{"layers": 2, "width": 32, "heads": 4, "context": 24} | size)
