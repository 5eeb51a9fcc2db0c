"""Stages that compare tokenizers and codes of all families, and published tokenizers, by the same measures."""
