"""n-gram statistics: counts, adjacent PMI and branching entropy of every n-gram of a corpus.

Entropy-driven pre-tokenization, section 3.1. `ngram_statistics` computes them, `NgramStatistics` holds them,
`write_statistics` and `read_statistics` store them as Parquet.
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
