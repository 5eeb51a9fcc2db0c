"""Stages of the patch models: tokenizers, patchers, language models, their scores, and tasks for them."""
