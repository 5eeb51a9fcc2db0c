"""Language models over text: a coder of text into symbols and a network; training, evaluation, generation.

model = read_language_model("models/sample/patch_models/en/bpe-seed0")
evaluate(model, open_passages("data/sample/patches/en/test", "bpe")).bits_per_byte
generate(model, ["The old man".encode()], GenerationOptions(length=100, temperature=0.8))  # the bytes that follow
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
