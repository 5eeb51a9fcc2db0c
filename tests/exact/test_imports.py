"""Asking a model for a distribution loads nothing of the other ways to cut a text."""

import subprocess
import sys

import pytest
from tiny_models import save_bytes

ASK = """
import sys
from tokenlab.exact import CharacterModel, load
model, tokenizer = load(sys.argv[1])
assert abs(CharacterModel(model, tokenizer.automaton).next_byte("hello wor").total) < 1e-6
print(*(name for name in sys.modules if name.startswith("tokenlab.")))
"""
OTHERS = ("codes", "entropy", "generated", "patches", "segment", "language", "training")


@pytest.mark.slow
def test_a_model_is_asked_without_the_other_packages(tmp_path):
    save_bytes(tmp_path, 300)
    asked = subprocess.run([sys.executable, "-c", ASK, str(tmp_path)], capture_output=True, text=True, check=True)
    loaded = asked.stdout.split()
    assert "tokenlab.exact.covers" in loaded
    assert not [name for name in loaded if name.split(".")[1] in OTHERS]
