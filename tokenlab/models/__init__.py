"""Language models trained here: GPT-2 over characters or bytes of unsegmented text.

alphabet = learn_alphabet(texts, "character", min_count=2)
sentences = encode(alphabet, texts, context=128)
model = build_gpt(GptShape(layers=4, width=256, heads=4, context=128), alphabet, seed=0)
curve = train(model, alphabet, sentences, held_out, TrainingOptions(steps=1000, batch=16, learning_rate=2e-3))
save_model(model, alphabet, "folder")  # loads by transformers.AutoModelForCausalLM and AutoTokenizer
"""

from tokenlab.models.alphabet import Alphabet, Level, learn_alphabet
from tokenlab.models.gpt import GptShape, build_gpt, save_model
from tokenlab.models.packing import Sequences, encode
from tokenlab.models.training import Evaluation, TrainingOptions, train

__all__ = [
    "Alphabet",
    "Evaluation",
    "GptShape",
    "Level",
    "Sequences",
    "TrainingOptions",
    "build_gpt",
    "encode",
    "learn_alphabet",
    "save_model",
    "train",
]
