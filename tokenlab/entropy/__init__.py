"""Predictive entropy: where a language model is unsure what comes next (Entropy-driven pre-tokenization, section 3.2).

`scorer.load_scorer` loads a causal language model and gives the entropy of its next-token distribution at every
character or byte; `corpus.score_corpus` does so for a corpus at rest; `boundaries` turns entropies into boundaries and
`segmentation` boundaries into segments, or entropies into evidence that `tokenlab.segment` adds to its own. `scorer`
and `corpus` import torch and transformers (`pip install tokenlab[models]`), which is why nothing of them is imported
here.
"""

from tokenlab.entropy.boundaries import BoundaryOptions, entropy_boundaries
from tokenlab.entropy.segmentation import boundary_evidence, segment_by_entropy

__all__ = ["BoundaryOptions", "boundary_evidence", "entropy_boundaries", "segment_by_entropy"]
