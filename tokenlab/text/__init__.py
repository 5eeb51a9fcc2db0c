"""Corpora: sources, readers, sentences, storage and the built-in generated text. Knows no method."""
