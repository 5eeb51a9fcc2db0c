"""The columns of the n-gram statistics by other means, each as well as its users would write it.

- polars: group_by over n-grams packed into integers (counted in half the time of strings), joins for entropies and PMI,
  on the streaming engine (faster here than the in-memory one);
- the standard library: Counter and dictionaries;
- soynlp's WordExtractor, which counts the beginnings of space-separated words. So every position is given to it as a
  word of 7 characters, once of the text and once of its reverse: that gives counts and both entropies of n = 2 to 6. It
  has no PMI of adjacent characters, and does not count a single character that ends a line.
"""

from collections import Counter, defaultdict
from math import log

import numpy as np
import polars as pl

N_MAX = 6
COLUMNS = ("count", "min_pmi", "left_entropy", "right_entropy")
Rows = dict[str, tuple[float, ...]]
"""n-gram -> the values of COLUMNS; NaN where there is none."""
_BITS = 16  # of a character's code


def polars_statistics(sentences: list[str]) -> tuple[pl.Series, list[pl.DataFrame]]:
    """The alphabet, and for each n a table of `key`, the packed n-gram, and COLUMNS; no whitespace but spaces."""
    points = pl.Series("point", np.frombuffer("\n".join(sentences).encode("utf-32-le"), np.uint32))
    alphabet = points.filter(~points.is_in([ord(" "), ord("\n")])).unique().sort()
    code = pl.col("point").replace_strict(alphabet, pl.int_range(1, len(alphabet) + 1, eager=True), default=0)
    codes = pl.DataFrame({"point": points}).select(code=code.cast(pl.UInt128)).lazy()
    count, key = pl.col("count"), pl.col("key")

    def counts(n: int) -> pl.DataFrame:
        characters = [pl.col("code").shift(-i, fill_value=0) for i in range(n)]
        packed = pl.sum_horizontal(c * (1 << _BITS * (n - 1 - i)) for i, c in enumerate(characters))
        inside = codes.select(key=pl.when(pl.all_horizontal(c != 0 for c in characters)).then(packed)).drop_nulls()
        return inside.group_by("key").agg(count=pl.len().cast(pl.Float64)).collect(engine="streaming")

    def entropies(longer: pl.LazyFrame, root: pl.Expr, name: str) -> pl.LazyFrame:
        sums = longer.group_by(key=root).agg(count.sum(), weighted=(count * count.log()).sum())
        return sums.select("key", (count.log() - pl.col("weighted") / count).alias(name))

    counted = [counts(n) for n in range(1, N_MAX + 2)]
    tokens = sum(table["count"].sum() for table in counted[:N_MAX])
    single = counted[0].lazy()
    pairs = (
        counted[1].lazy().with_columns(first=key // (1 << _BITS), second=key % (1 << _BITS))
        .join(single.select(first="key", of_first="count"), on="first")
        .join(single.select(second="key", of_second="count"), on="second")
        .select(pair="key", of_pair=(count * tokens / (pl.col("of_first") * pl.col("of_second"))).log())
        .collect(engine="streaming").lazy()
    )  # fmt: skip
    tables: list[pl.DataFrame] = []
    for n in range(1, N_MAX + 1):
        longer = counted[n].lazy()
        table = counted[n - 1].lazy()
        table = table.join(entropies(longer, key // (1 << _BITS), "right_entropy"), on="key", how="left")
        table = table.join(entropies(longer, key % (1 << _BITS * n), "left_entropy"), on="key", how="left")
        if n == 1:
            table = table.with_columns(min_pmi=pl.lit(float("nan")))
        else:
            table = table.with_columns(pair=key % (1 << _BITS * 2), prefix=key // (1 << _BITS)).join(pairs, on="pair")
            prefix = tables[-1].lazy().select(prefix="key", of_prefix="min_pmi")
            table = table.join(prefix, on="prefix").with_columns(min_pmi=pl.min_horizontal("of_pair", "of_prefix"))
        entropy = pl.col("left_entropy", "right_entropy").fill_null(0.0)
        tables.append(table.select("key", "count", "min_pmi", entropy).collect(engine="streaming"))
    return alphabet, tables


def polars_rows(result: tuple[pl.Series, list[pl.DataFrame]]) -> Rows:
    """The result of polars, n-gram by n-gram."""
    characters = [chr(point) for point in result[0]]

    def ngram(key: int, n: int) -> str:
        codes = [key >> _BITS * i & (1 << _BITS) - 1 for i in range(n)]
        return "".join(characters[code - 1] for code in reversed(codes))

    tables = enumerate(result[1], 1)
    return {
        ngram(key, n): tuple(values) for n, table in tables for key, *values in table.select("key", *COLUMNS).rows()
    }


def counter_statistics(sentences: list[str]) -> Rows:
    """All columns with the standard library alone."""
    runs = [run for sentence in sentences for run in sentence.split()]
    counts = [Counter(run[i : i + n] for run in runs for i in range(len(run) - n + 1)) for n in range(1, N_MAX + 2)]
    tokens = sum(counted.total() for counted in counts[:N_MAX])
    single = counts[0]
    pmi = {pair: log(f * tokens / (single[pair[0]] * single[pair[1]])) for pair, f in counts[1].items()}
    rows: Rows = {}
    for n in range(1, N_MAX + 1):
        left, right = _dictionary_entropies(counts[n])
        for ngram, count in counts[n - 1].items():
            smallest = float("nan") if n == 1 else pmi[ngram[-2:]]
            if n > 2:
                smallest = min(smallest, rows[ngram[:-1]][1])
            rows[ngram] = (count, smallest, left.get(ngram, 0.0), right.get(ngram, 0.0))
    return rows


def _dictionary_entropies(longer: Counter[str]) -> tuple[dict[str, float], dict[str, float]]:
    sides = []
    for root in (lambda ngram: ngram[1:], lambda ngram: ngram[:-1]):
        total: defaultdict[str, int] = defaultdict(int)
        weighted: defaultdict[str, float] = defaultdict(float)
        for ngram, count in longer.items():
            total[root(ngram)] += count
            weighted[root(ngram)] += count * log(count)
        sides.append({ngram: log(total[ngram]) - weighted[ngram] / total[ngram] for ngram in total})
    return sides[0], sides[1]


def soynlp_statistics(sentences: list[str]) -> Rows:
    """Counts and entropies of n = 2 to 6 by soynlp."""
    from soynlp.word import WordExtractor  # seconds of imports, which the other tasks need not wait for

    def extract(runs: list[str]) -> tuple[dict[str, int], dict[str, tuple[float, float]]]:
        extractor = WordExtractor(max_left_length=N_MAX + 1, max_right_length=0, min_frequency=1, verbose_points=0)
        extractor.train(run[i : i + N_MAX + 1] for run in runs for i in range(len(run) - 1))
        return extractor.L, extractor.all_branching_entropy()

    runs = [run for sentence in sentences for run in sentence.split()]
    counts, right = extract(runs)
    _, left = extract([run[::-1] for run in runs])
    none = (0.0, 0.0)
    return {
        ngram: (count, float("nan"), left.get(ngram[::-1], none)[1], right.get(ngram, none)[1])
        for ngram, count in counts.items()
        if 2 <= len(ngram) <= N_MAX
    }
