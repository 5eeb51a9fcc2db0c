"""n-gram statistics: counts, adjacent PMI and branching entropy of every n-gram of a corpus.

Entropy-driven pre-tokenization, section 3.1. `ngram_statistics` computes them, `NgramStatistics` holds them,
`write_statistics` and `read_statistics` keep them as Parquet.
"""

from tokenlab.ngrams.statistics import NgramStatistics, StatisticsOptions, ngram_statistics
from tokenlab.ngrams.table import is_parquet, read_statistics, write_statistics

__all__ = [
    "NgramStatistics",
    "StatisticsOptions",
    "is_parquet",
    "ngram_statistics",
    "read_statistics",
    "write_statistics",
]
