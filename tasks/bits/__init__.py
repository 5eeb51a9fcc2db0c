"""Stages of the bit-level family: lengths of texts, and the translation pilot."""
