"""Predictive entropy of autoregressive language models (Entropy-driven pre-tokenization, section 3.2).

A `Scorer`, made by `load_scorer`, computes the entropy of the next-token distribution of a causal language model, in
nats, at every character or byte; `score_corpus` applies it to a stored corpus. Needs torch and transformers: `pip
install tokenlab[models]`. `train` trains such a model on unsegmented text. `tokenlab.segment` turns entropies into
boundaries.
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
