"""Trees of contexts in one cache agree with plain passes over each context alone, for all architectures."""

import numpy as np
import pytest
import torch
from context_trees import SIZE, agree, grow, random_model
from transformers.models.bloom.configuration_bloom import BloomConfig
from transformers.models.gemma2.configuration_gemma2 import Gemma2Config
from transformers.models.gpt2.configuration_gpt2 import GPT2Config
from transformers.models.gpt_neo.configuration_gpt_neo import GPTNeoConfig
from transformers.models.gpt_neox.configuration_gpt_neox import GPTNeoXConfig
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.mamba.configuration_mamba import MambaConfig
from transformers.models.mistral.configuration_mistral import MistralConfig
from transformers.models.qwen2.configuration_qwen2 import Qwen2Config
from transformers.models.qwen3.configuration_qwen3 import Qwen3Config

from tokenlab.core.errors import InputError
from tokenlab.exact import trees
from tokenlab.exact.transformers_model import TransformersModel

SHAPE = {
    "vocab_size": SIZE,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 160,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
GROUPED = {**SHAPE, "num_key_value_heads": 2}
GPT2 = GPT2Config(
    vocab_size=SIZE, n_embd=32, n_layer=2, n_head=4, n_positions=160, bos_token_id=0, eos_token_id=0
)  # fmt: skip
TREES = {
    "gpt2": GPT2,
    "llama": LlamaConfig(**GROUPED),
    "qwen2": Qwen2Config(**GROUPED),
    "qwen3": Qwen3Config(**GROUPED, head_dim=8),
    "mistral": MistralConfig(**GROUPED, sliding_window=None),
    "mistral, window of 4": MistralConfig(**GROUPED, sliding_window=4),
    "gemma2, layers with and without a window of 4": Gemma2Config(**GROUPED, head_dim=8, sliding_window=4),
    "gpt-neox": GPTNeoXConfig(**SHAPE),
}
ROWS = {
    "gpt-neo, two windows": GPTNeoConfig(
        vocab_size=SIZE, hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]],
        window_size=4, max_position_embeddings=160, bos_token_id=0, eos_token_id=0,
    ),
    "bloom, ALiBi": BloomConfig(vocab_size=SIZE, hidden_size=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0),
    "mamba, recurrent": MambaConfig(vocab_size=SIZE, hidden_size=32, num_hidden_layers=2),
}  # fmt: skip


@pytest.mark.parametrize("name", TREES)
def test_branches_agree_with_plain_passes(name):
    model = random_model(TREES[name])
    adapted = TransformersModel(model, start=(3, 0), end=0)
    assert (adapted.way, adapted.size, adapted.end, adapted.limit) == ("tree", SIZE, 0, 158)
    tree = adapted.tree()
    contexts, logits = grow(tree, (3, 0), np.random.default_rng(1))
    agree(model, contexts, logits)
    assert (tree.contexts, tree.passes, tree.tokens) == (73, 13, 74)


@pytest.mark.parametrize("name", ROWS)
def test_models_without_a_tree_evaluate_rows(name, monkeypatch):
    model = random_model(ROWS[name])
    adapted = TransformersModel(model, start=(0,), end=0)
    assert adapted.way == "rows"
    assert adapted.why_rows
    tree = adapted.tree()
    contexts, logits = grow(tree, (0,), np.random.default_rng(1), steps=4, forget=True)
    agree(model, contexts, logits)
    assert (tree.contexts, tree.passes) == (25, 5)
    assert tree.tokens > 25
    monkeypatch.setattr(trees, "_LOGITS", 2 * 10 * SIZE)
    in_parts = adapted.tree()
    agree(model, *grow(in_parts, (0,), np.random.default_rng(2), steps=2))
    assert in_parts.passes > 3


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["gpt2", "llama", "mistral, window of 4"])
def test_forgetting_changes_nothing(name, seed, monkeypatch):
    monkeypatch.setattr(trees, "_COMPACT_ABOVE", 4)
    model = random_model(TREES[name])
    tree = TransformersModel(model, start=(0,), end=None).tree()
    contexts, logits = grow(tree, (0,), np.random.default_rng(seed), steps=20, forget=True)
    agree(model, contexts, logits)
    assert tree._slots.used < 60 < tree.contexts


def test_a_long_line_outgrows_the_buffers():
    model = random_model(GPT2)
    tree = TransformersModel(model, start=(0,), end=None).tree()
    line = np.random.default_rng(0).integers(0, SIZE, 150).tolist()
    logits = tree.extend(range(150), line)
    with torch.no_grad():
        wanted = model(input_ids=torch.tensor([[0, *line]])).logits[0, 1:].numpy()
    assert np.abs(logits - wanted).max() < 1e-4 * np.abs(wanted).max()
    one_by_one = TransformersModel(model, start=(0,), end=None).tree()
    steps = np.vstack([one_by_one.extend([node], [token]) for node, token in enumerate(line)])
    assert np.abs(steps - logits).max() < 1e-5 * np.abs(wanted).max()
    assert (one_by_one.contexts, one_by_one.passes, one_by_one.tokens) == (151, 151, 151)


def test_other_attention_and_16_bit_weights():
    model = random_model(GPT2)
    model.set_attn_implementation("eager")
    adapted = TransformersModel(model, start=(0,), end=None)
    assert adapted.way == "tree"
    agree(model, *grow(adapted.tree(), (0,), np.random.default_rng(2)))
    assert TransformersModel(random_model(GPT2).to(torch.bfloat16), start=(0,), end=None).tree().root().dtype == "f4"


def test_contexts_longer_than_the_positions():
    tree = TransformersModel(random_model(GPT2), start=(0,), end=None).tree()
    tree.extend(range(159), [1] * 159)
    with pytest.raises(InputError, match=r"161 tokens, .* positions for 160"):
        tree.extend([159], [1])
    assert tree.extend([158], [2]).shape == (1, SIZE)  # The tree is whole.


def test_bad_input():
    model = random_model(GPT2)
    with pytest.raises(InputError, match=r"no start token"):
        TransformersModel(model, start=(), end=None)
    with pytest.raises(InputError, match="end token 50"):
        TransformersModel(model, start=(0,), end=SIZE)
    tree = TransformersModel(model, start=(0,), end=None).tree()
    with pytest.raises(InputError, match="token 50 is not among the model's"):
        tree.extend([0], [SIZE])
    assert tree.extend([], []).shape == (0, SIZE)
    tree.extend([0, 0], [1, 2])
    tree.keep([2])
    with pytest.raises(ValueError, match="node 1 was forgotten"):
        tree.extend([1], [1])
