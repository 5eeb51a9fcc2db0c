"""Small GPT-2s in NumPy agree with `transformers`; what is not one is left to it."""

import subprocess
import sys

import numpy as np
import pytest
import tiny_models
import torch
from context_trees import SIZE, agree, grow, random_model
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, processors
from transformers import GPT2Config, LlamaConfig

from tokenlab.core.errors import InputError
from tokenlab.exact import gpt2, trees
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.gpt2 import Gpt2, read_gpt2
from tokenlab.exact.loading import load
from tokenlab.exact.transformers_model import TransformersModel

SHAPE = {"vocab_size": SIZE, "n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 160}
CONFIGS = {
    "gelu_new": {},
    "gelu_pytorch_tanh": {"activation_function": "gelu_pytorch_tanh", "n_layer": 3},
    "one head, an inner width, another epsilon": {"n_head": 1, "n_inner": 40, "layer_norm_epsilon": 1e-2},
}


def saved(folder, **changes):
    """A random model, and its weights as they are read from its folder."""
    model = random_model(GPT2Config(**SHAPE | changes))
    model.save_pretrained(folder)
    return model, read_gpt2(folder)


@pytest.mark.parametrize("forget", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_trees_agree_with_plain_passes(name, forget, tmp_path, monkeypatch):
    monkeypatch.setattr(trees, "_COMPACT_ABOVE", 4)
    model, weights = saved(tmp_path, **CONFIGS[name])
    tree = Gpt2(weights, start=(3, 0), end=None, threads=1).tree()
    agree(model, *grow(tree, (3, 0), np.random.default_rng(1), steps=20, forget=forget))
    assert (tree.contexts, tree.passes, tree.tokens) == (121, 21, 122)
    assert (tree._slots.used < 60) == forget


@pytest.mark.parametrize("of_transformers", [False, True], ids=["NumPy", "transformers"])
def test_a_pass_that_fails_leaves_the_tree_whole(of_transformers, tmp_path, monkeypatch):
    model, weights = saved(tmp_path)
    adapted = TransformersModel(model, start=(0,), end=None) if of_transformers else Gpt2(weights, start=(0,), end=None)
    tree = adapted.tree()
    tree.extend([0, 1], [1, 2])

    def fail(*_):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(gpt2, "_gelu", fail)
        hook = model.transformer.h[1].register_forward_hook(fail)  # Keys and values are stored by then.
        with pytest.raises(MemoryError):
            tree.extend([2, 2], [3, 4])
        hook.remove()
    found = tree.extend([2, 0, 4], [5, 6, 7])
    agree(model, [(0, 1, 2, 5), (0, 6), (0, 6, 7)], found)


def test_logits_that_are_not_finite_are_refused(tmp_path):
    _, weights = saved(tmp_path)
    norm = np.full(24, 3e38, np.float32), weights.norm[1]
    tree = Gpt2(weights._replace(norm=norm), start=(0,), end=None).tree()
    with pytest.raises(InputError, match="logits that are not finite"):
        tree.root()


def test_a_long_line_and_its_end(tmp_path):
    model, weights = saved(tmp_path)
    tree = Gpt2(weights, start=(0,), end=None).tree()
    line = np.random.default_rng(0).integers(0, SIZE, 159).tolist()
    with torch.no_grad():
        wanted = model(input_ids=torch.tensor([[0, *line]])).logits[0, 1:].numpy()
    found = np.vstack([tree.extend(range(100), line[:100]), *(tree.extend([n], [line[n]]) for n in range(100, 159))])
    assert np.abs(found - wanted).max() < 1e-5 * np.abs(wanted).max()
    with pytest.raises(InputError, match=r"GPT-2: .* 161 tokens, .* positions for 160"):
        tree.extend([159], [1])
    assert np.array_equal(tree.extend([158], line[-1:])[0].argmax(), wanted[-1].argmax())  # The tree is whole.


@pytest.mark.parametrize("beginning", ["named", "configured", "added by the tokenizer", "of the class"])
def test_loaded_as_transformers_loads_it(beginning, tmp_path):
    tiny_models.save_bytes(tmp_path, 300)
    tiny_models.edit_json(tmp_path / "config.json", bos_token_id=300, eos_token_id=[7, 8])
    if beginning == "of the class":
        settings = {"tokenizer_class": "GPT2Tokenizer", "bos_token": None}
        tiny_models.edit_json(tmp_path / "tokenizer_config.json", **settings)
        assert isinstance(load(tmp_path)[0], TransformersModel)
        return
    if beginning != "named":
        (tmp_path / "tokenizer_config.json").unlink()
    if beginning == "added by the tokenizer":
        tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
        twice = "<|endoftext|> <|endoftext|> $A"
        tokenizer.post_processor = processors.TemplateProcessing(twice, special_tokens=[("<|endoftext|>", 300)])
        tokenizer.save(str(tmp_path / "tokenizer.json"))
    small, real = load(tmp_path)
    other, _ = load(tmp_path, device="cpu")
    assert (type(small), type(other)) == (Gpt2, TransformersModel)
    assert (small.start, small.end, small.limit, small.size) == (other.start, other.end, other.limit, other.size)
    assert len(small.start) == 1 + (beginning == "added by the tokenizer")
    pair = [CharacterModel(model, real.automaton).next_byte(tiny_models.TEXT[:9]) for model in (small, other)]
    assert np.allclose(pair[0].log_probability, pair[1].log_probability, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "gpt_neo"},
        {"activation_function": "relu"},
        {"scale_attn_by_inverse_layer_idx": True},
        {"tie_word_embeddings": False},
        {"n_head": 5},
        {"n_head": 0},
        {"n_head": -3},
        {"n_head": 3.0},
        {"n_embd": 12},
        {"n_inner": 0},
        {"bos_token_id": float("inf")},
        {"n_layer": 1},
        {"n_positions": 80},
        {"n_inner": 7},
        {"vocab_size": "many"},
    ],
    ids=str,
)
def test_other_computations_are_left_to_transformers(changes, tmp_path):
    assert saved(tmp_path)[1] is not None
    tiny_models.edit_json(tmp_path / "config.json", **changes)
    assert read_gpt2(tmp_path) is None


def test_other_weights_are_left_to_transformers(tmp_path, monkeypatch):
    saved(tmp_path)
    path = tmp_path / "model.safetensors"
    weights, whole = load_file(path), path.read_bytes()
    for changed in (
        {name: weight.half() for name, weight in weights.items()},
        {name: weight * np.nan for name, weight in weights.items()},
        weights | {"lm_head.weight": torch.ones(SIZE, 24)},
        {name: weight for name, weight in weights.items() if "wpe" not in name},
        {name: weight.flatten() for name, weight in weights.items()},
    ):
        save_file(changed, path, metadata={"format": "pt"})
        assert read_gpt2(tmp_path) is None
    for damaged in (whole[:-9], b"", b"\xff" * 99):
        path.write_bytes(damaged)
        assert read_gpt2(tmp_path) is None
    path.write_bytes(whole)
    for text in ("[]", "{", "\xff", "[" * 10**5):
        (tmp_path / "generation_config.json").write_text(text)
        assert read_gpt2(tmp_path) is None
    (tmp_path / "generation_config.json").unlink()
    assert read_gpt2(tmp_path) is not None
    monkeypatch.setattr(gpt2, "_MOST_BYTES", len(whole) - 1)
    assert read_gpt2(tmp_path) is None
    path.unlink()
    assert read_gpt2(tmp_path) is None
    random_model(LlamaConfig(hidden_size=16, intermediate_size=8, num_attention_heads=2)).save_pretrained(tmp_path)
    assert read_gpt2(tmp_path) is None


def test_a_tokenizer_that_does_not_fit_has_one_message(tmp_path):
    tiny_models.save_bytes(tmp_path, 300)
    tiny_models.save_model(tmp_path, 200)
    messages = []
    for device in ("auto", "cpu"):
        with pytest.raises(InputError) as error:
            load(tmp_path, device=device)
        messages.append(str(error.value))
    assert messages[0] == messages[1] and "301 tokens but the model embeds 200" in messages[0]


def test_a_command_with_one_loads_no_torch(tmp_path):
    tiny_models.save_bytes(tmp_path, 300)
    code = (
        "import sys\nfrom tokenlab.cli import main\n"
        "sys.exit(main(sys.argv[1:]) or bool({'torch', 'transformers'} & {*sys.modules}))"
    )
    subprocess.run([sys.executable, "-c", code, "exact", "next", "共同", "--model", str(tmp_path)], check=True)
