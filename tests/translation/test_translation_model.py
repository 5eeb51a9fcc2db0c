"""The model: its size, its files, and new rows for new tokens."""

import dataclasses

import pytest
import torch
from interrupted import files
from transformers import MarianMTModel

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.networks.products import use_openblas
from tokenlab.translation.model import MEAN, build_model, grow_model, load_model, save_model
from tokenlab.translation.options import TranslationShape, TranslationTraining

SHAPE = TranslationShape(layers=1, width=16, heads=2, feed_forward=24, positions=20)
TRAINING = TranslationTraining(steps=10, batch=100, learning_rate=0.1)
SOURCE, TARGET = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[3, 9, 8]])


def logits(model):
    with torch.no_grad():
        return model.eval()(input_ids=SOURCE, decoder_input_ids=TARGET).logits


def test_base_has_the_size_of_the_paper():
    """Vaswani et al. (2017), table 3: base, with 37,000 tokens, has 65 million weights."""
    shape = TranslationShape(layers=6, width=512, heads=8, feed_forward=2048, positions=512)
    with torch.device("meta"):
        model = build_model(shape, 37_000, padding=3, end=2, seed=0)
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) == pytest.approx(65e6, rel=0.04)


def test_weights_are_those_of_the_seed():
    one, same, other = (build_model(SHAPE, 30, 3, 2, seed) for seed in (4, 4, 5))
    assert torch.equal(logits(one), logits(same)) and not torch.equal(logits(one), logits(other))


def test_a_saved_model_is_read_by_tokenlab_and_by_transformers(tmp_path):
    model = build_model(SHAPE, 30, 3, 2, 0)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        save_model(model, tmp_path / name)
    saved = files(tmp_path / "one")
    assert files(tmp_path / "two") == saved
    assert set(saved) == {"config.json", "generation_config.json", "model.safetensors"}
    assert torch.equal(logits(load_model(tmp_path / "one")), logits(model))
    read, problems = MarianMTModel.from_pretrained(tmp_path / "one", output_loading_info=True)
    assert not any(problems.values())
    torch.testing.assert_close(logits(read), logits(model))
    use_openblas(read)
    assert torch.equal(logits(read), logits(model))


def test_damaged_and_missing_models_are_errors(tmp_path):
    with pytest.raises(InputError, match="no translation model"):
        load_model(tmp_path)
    save_model(build_model(SHAPE, 30, 3, 2, 0), tmp_path)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(InputError, match="train it again"):
        load_model(tmp_path)


def test_new_tokens_copy_a_row_or_the_mean():
    model = build_model(SHAPE, 30, 3, 2, 0)
    grown = grow_model(model, [7, MEAN, 9])
    old, new = (m.get_input_embeddings().weight.detach() for m in (model, grown))
    assert torch.equal(new[:30], old) and torch.equal(new[30], old[7]) and torch.equal(new[32], old[9])
    torch.testing.assert_close(new[31], old.mean(dim=0))
    torch.testing.assert_close(logits(grown)[..., :30], logits(model))
    torch.testing.assert_close(logits(grown)[..., 30], logits(model)[..., 7])
    assert model.config.vocab_size == 30 and grown.config.vocab_size == grown.config.decoder_vocab_size == 33
    assert grown.lm_head.weight is grown.get_input_embeddings().weight


@pytest.mark.parametrize(
    ("options", "change", "message"),
    [
        (SHAPE, {"heads": 3}, r"heads is 3; .* 16"),
        (SHAPE, {"dropout": 1.0}, "dropout is 1.0"),
        (TRAINING, {"label_smoothing": 1}, "label_smoothing is 1"),
        (TRAINING, {"schedule": "linear"}, "use one of inverse_sqrt, cosine"),
        (TRAINING, {"patience": 0}, "patience is 0"),
    ],
)
def test_impossible_options_are_refused(options, change, message):
    with pytest.raises(ParameterError, match=message):
        dataclasses.replace(options, **change)
