"""Training of networks: one loop, one checkpoint and one set of options for all of them.

A network is trained as a `Learner`: it brings its batches, `loss(network, batch)` and its held-out loss. The language
models (`tokenlab.language`), the models of translation and GPT (`tokenlab.entropy`) are trained so.
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
