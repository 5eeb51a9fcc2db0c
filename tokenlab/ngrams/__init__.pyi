from tokenlab.ngrams.counting import NgramStatistics as NgramStatistics
from tokenlab.ngrams.counting import ngram_statistics as ngram_statistics
from tokenlab.ngrams.options import StatisticsOptions as StatisticsOptions
from tokenlab.ngrams.table import is_parquet as is_parquet
from tokenlab.ngrams.table import read_statistics as read_statistics
from tokenlab.ngrams.table import write_statistics as write_statistics
