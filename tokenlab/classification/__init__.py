"""Classification of texts in any cut: a BiLSTM, a Transformer, and a linear bag of tokens as control.

parts = split_passages(bible_groups(read_documents("English.xml", "ces")), validation=0.1, test=0.1, seed=0)
training, validation, test = (encode_labelled(tokenizer, part) for part in parts)
model = build_classifier(ClassifierShape(width=64, feed_forward=128), vocabulary_size(tokenizer), classes=5, seed=0)
train_classifier(model, training, validation, ClassifierTraining(steps=1000, batch=4096, learning_rate=1e-3))
weighted_f1(confusion_counts(parts.test.labels, predict(model, test), classes=5))
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
