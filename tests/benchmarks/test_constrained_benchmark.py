"""The benchmark of constrained generation on a tiny model: both ways generate, and no models are an error."""

import numpy as np
import pytest
from tiny_language_models import sharp_network

from benchmarks import constrained as benchmark
from benchmarks.measure import Bench
from tokenlab.codes.baselines import ByteCode
from tokenlab.codes.generation import generate_tokens
from tokenlab.codes.interface import atom, write_code
from tokenlab.core.errors import InputError
from tokenlab.networks.options import StackShape, TokenShape
from tokenlab.networks.stored import save_network
from tokenlab.tokenizers.bpe import bpe_tokenizer, save_tokenizer


def test_both_ways_generate_in_turn(tmp_path, monkeypatch):
    save_tokenizer(bpe_tokenizer(np.zeros((0, 2), np.int32), list(map(atom, range(256)))), tmp_path / "bpe")
    (tmp_path / "bpe/tokenizer.json").rename(tmp_path / "tokenizer.json")
    save_network(sharp_network(TokenShape(257, StackShape(1, 16, 2, 24))), tmp_path)
    write_code(ByteCode(), tmp_path / "code.json")
    task = benchmark.TASKS["generate"](str(tmp_path), "4", "2")
    tokens = []

    def counted(network, count, vocabulary, options, automaton, **settings):
        drawn = generate_tokens(network, count, vocabulary, options, automaton, **settings)
        tokens.append((automaton is not None, sum(map(len, drawn))))
        return drawn

    monkeypatch.setattr(benchmark, "generate_tokens", counted)
    turns = task.run(task.whole)
    assert len(turns) == 5 and min(min(turn) for turn in turns) > 0
    assert [constrained for constrained, _ in tokens] == [False, True] * 5
    assert all(4 * 60 < found <= 4 * 64 if constrained else found == 4 * 64 for constrained, found in tokens)
    assert task.facts([(1.0, 2.0), (3.0, 3.0), (2.0, 3.0)]) == {"free": 2.0, "constrained": 3.0, "ratio": 1.5}


def test_models_that_are_not_there_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark, "_MODELS", tmp_path)
    with pytest.raises(InputError, match=r"cpu: no language model .*PRESET=cpu"):
        benchmark.table(Bench(tmp_path, {}, 1, None, preset="cpu"))
