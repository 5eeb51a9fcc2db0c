"""Segmentation of unsegmented text (Entropy-driven pre-tokenization, sections 3.1 and 3.2).

`Segmenter` segments by n-gram statistics: it computes utilities of spans and makes a greedy or an optimal choice among
them, as `SegmentOptions` say. `segment_by_entropy` places boundaries by the predictive entropy of a language model, by
one of the rules of `BoundaryOptions`. `boundary_scores` adds predictive entropy to the first method.
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
