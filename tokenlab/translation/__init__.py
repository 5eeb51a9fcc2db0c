"""Translation: an encoder-decoder Transformer, trained from scratch or fine-tuned on a code with more tokens.

pairs = Pairs(sentences(encoded_sources, end), sentences(encoded_targets, end), padding)
model = build_model(TranslationShape(layers=2, width=128, ...), vocabulary, padding, end, seed=0)
curve = train(model, pairs, held_out, TranslationTraining(steps=1000, batch=3000, learning_rate=2e-3))
translations = translate(model, sources, GenerationOptions(longest=128))
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
