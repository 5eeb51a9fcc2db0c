"""Counting by shards against counting at once, which a plain count vouches for: the same bits, whatever the shards."""

from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngram_texts import all_options, assert_same_statistics, texts

from tokenlab.core.errors import InputError
from tokenlab.core.shards import ClusterOptions, open_cluster
from tokenlab.ngrams import StatisticsOptions, ngram_statistics, sharded, write_statistics
from tokenlab.ngrams.sharded import in_shards, sharded_statistics

OPTIONS = StatisticsOptions(n_max=3, min_frequency=2)


def divided(sentences, shards):
    size = -(-len(sentences) // shards)
    return (sentences[start : start + size] for start in range(0, len(sentences), size))


@settings(max_examples=40, deadline=None)
@given(texts, all_options, st.sampled_from([1, 2, 7]), st.sampled_from([1, 500, 10**9]))
def test_equals_counting_at_once(sentences, options, shards, memory):
    """With so little memory, each unit is a partition; with blocks so small, each of them is used up often."""
    with mock.patch.multiple(sharded, _ROWS=3, _NODES=options.n_max + 3):
        found = sharded_statistics(divided(sentences, shards), options, memory)
    assert_same_statistics(found, ngram_statistics(sentences, options))


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_the_table_has_the_same_bytes(tmp_path, chinese_sentences, shards):
    options = StatisticsOptions(n_max=4, min_frequency=2)
    write_statistics(ngram_statistics(chinese_sentences, options), tmp_path / "at_once.parquet")
    expected = (tmp_path / "at_once.parquet").read_bytes()
    for memory in (10**5, 10**9):
        found = sharded_statistics(divided(chinese_sentences, shards), options, memory, tmp_path)
        write_statistics(found, tmp_path / "by_shards.parquet")
        assert (tmp_path / "by_shards.parquet").read_bytes() == expected
    assert len(list(tmp_path.iterdir())) == 2


def test_processes_share_the_work(chinese_sentences):
    with open_cluster(ClusterOptions(workers=2)) as cluster:
        found = sharded_statistics(divided(chinese_sentences, 7), OPTIONS, 10**5, cluster=cluster)
    assert_same_statistics(found, ngram_statistics(chinese_sentences, OPTIONS))


def test_shards_are_of_bounded_size():
    sentences = ["a" * 10] * 50 + [""] * 1000 + ["b" * 1000]
    found = list(in_shards(sentences, 8000))
    assert [sentence for shard in found for sentence in shard] == sentences
    assert max(sum(len(sentence) + 1 for sentence in shard[:-1]) for shard in found) < 100
    assert not list(in_shards([], 1))


@pytest.mark.parametrize("sentences", [[], [" "], ["", "\t"]])
def test_no_character_is_an_error(sentences):
    with pytest.raises(InputError, match="no character"):
        sharded_statistics(iter([sentences]), OPTIONS, 1000)


def test_a_shard_without_characters_is_none():
    found = sharded_statistics([[" "], ["aba"], [""]], OPTIONS, 1000)
    assert_same_statistics(found, ngram_statistics(["aba"], OPTIONS))


def test_lone_surrogate_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"U\+D800"):
        sharded_statistics([["ab"], ["a\ud800"]], OPTIONS, 1000, tmp_path)
    assert not list(tmp_path.iterdir())


def changed(change):
    """A function that writes a column of a run differently."""
    write = sharded._write

    def written(path: Path, columns):
        if path.name.startswith("run-1"):
            columns = change(columns)
        write(path, columns)

    return written


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: {**rows, "unit0": rows["unit0"][::-1]},
        lambda rows: {**rows, "count": rows["count"] + 1},
        lambda rows: {name: column[:-1] for name, column in rows.items()},
    ],
)
def test_a_changed_run_is_an_error(tmp_path, change):
    with mock.patch.object(sharded, "_write", changed(change)), pytest.raises(InputError, match="run again"):
        sharded_statistics([["abcde"], ["fghij", "abcab"]], OPTIONS, 10**9, tmp_path)


def test_a_damaged_file_is_an_error(tmp_path):
    path = tmp_path / "run.arrow"
    sharded._write(path, {"count": np.arange(100)})
    np.testing.assert_array_equal(sharded._read(path)["count"], np.arange(100))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"run\.arrow: damaged"):
        sharded._read(path)
