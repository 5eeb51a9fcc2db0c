"""Training of GPT-2 over characters or bytes of unsegmented text: the model of next-token entropy.

alphabet = learn_alphabet(texts, AlphabetOptions("character", min_count=2))
sentences = encode(alphabet, texts, context=128)
model = build_gpt(GptShape(layers=4, width=256, heads=4, context=128), alphabet, seed=0)
curve = train(model, alphabet, sentences, held_out, TrainingOptions(steps=1000, batch=16, learning_rate=2e-3))
save_model(model, alphabet, "folder")  # readable by transformers.AutoModelForCausalLM and AutoTokenizer
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(
    __name__,
    {
        "alphabet": ["Alphabet", "AlphabetOptions", "Level", "learn_alphabet"],
        "model": ["GptShape", "build_gpt", "save_model"],
        "packing": ["Sequences", "encode"],
        "training": ["Evaluation", "TrainingOptions", "train"],
    },
)
