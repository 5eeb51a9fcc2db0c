import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngram_texts import assert_same_columns, assert_same_statistics
from unicode_text import SENTENCES, character

from tokenlab.core.errors import InputError
from tokenlab.ngrams import StatisticsOptions, ngram_statistics, read_statistics, write_statistics


@settings(max_examples=75, deadline=None)
@given(
    st.lists(st.text(character, min_size=1, max_size=20), min_size=1, max_size=5),
    st.builds(
        StatisticsOptions,
        n_max=st.integers(1, 7),
        min_frequency=st.integers(1, 2),
        unit=st.sampled_from(["cluster", "character"]),
    ),
)
def test_round_trip_over_unicode(tmp_path_factory, sentences, options):
    if not "".join(sentences).strip():
        sentences = ["a"]
    path = tmp_path_factory.mktemp("table") / "statistics.parquet"
    statistics = ngram_statistics(sentences, options)
    write_statistics(statistics, path)
    assert_same_statistics(read_statistics(path), statistics)


def test_a_table_that_names_no_unit_holds_code_points(tmp_path):
    """Tables that were written before there was a choice."""
    statistics = ngram_statistics(["กำลัง"], StatisticsOptions(unit="character"))
    write_statistics(statistics, tmp_path / "new")
    table = pq.read_table(tmp_path / "new")
    facts = json.loads(table.schema.metadata[b"tokenlab.ngrams"])
    assert facts["options"].pop("unit") == "character"
    pq.write_table(table.replace_schema_metadata({"tokenlab.ngrams": json.dumps(facts)}), tmp_path / "old")
    restored = read_statistics(tmp_path / "old")
    assert restored.options == statistics.options and not restored.composed
    np.testing.assert_array_equal(restored.last, statistics.last)


def test_ngrams_of_clusters_are_text(tmp_path):
    statistics = ngram_statistics(SENTENCES.values())
    write_statistics(statistics, tmp_path / "s.parquet")
    expected = [ngram for n in range(1, 7) for ngram in statistics.ngrams(n)]
    assert pq.read_table(tmp_path / "s.parquet")["ngram"].to_pylist() == expected


@pytest.mark.parametrize("text", ["abcab", "กำลังกำ"])
def test_foreign_files_are_refused(tmp_path, text):
    good = tmp_path / "good.parquet"
    write_statistics(ngram_statistics([text]), good)
    table = pq.read_table(good)
    ngrams = table["ngram"].to_pylist()
    shuffled = table.take(pa.array(list(reversed(range(len(table))))))
    for name, content in (
        ("other", pa.table({"x": [1]})),
        ("no-metadata", table.replace_schema_metadata(None)),
        ("shuffled", shuffled),
        ("a count of 0", table.set_column(2, "count", pa.array([0] * len(table)))),
        ("a row less", table.slice(0, len(table) - 1)),
        ("empty", table.slice(0, 0)),
        ("no-parents", table.filter(pa.array([ngram not in ("ab", "กำลั") for ngram in ngrams]))),
        ("other-units", table.set_column(0, table.field(0), pa.array([ngram[::-1] for ngram in ngrams]))),
        ("a-space", table.set_column(0, table.field(0), pa.array([*ngrams[:-1], ngrams[-1][:-1] + "\n"]))),
    ):
        pq.write_table(content, tmp_path / name)
        with pytest.raises(InputError, match=r"tokenlab statistics"):
            read_statistics(tmp_path / name)
    (tmp_path / "cut").write_bytes(good.read_bytes()[:-20])
    with pytest.raises(InputError, match="no whole Parquet"):
        read_statistics(tmp_path / "cut")


def test_other_clusters_are_refused(tmp_path):
    write_statistics(ngram_statistics(["กำลังกำ", "ก"]), tmp_path / "good")
    table = pq.read_table(tmp_path / "good")
    ngrams = table["ngram"].to_pylist()
    for name, content in (
        ("unseen", [*ngrams[:-1], ngrams[-1][:-2] + "กี"]),
        ("shifted", ["", ngrams[0] + ngrams[1], *ngrams[2:]]),
    ):
        pq.write_table(table.set_column(0, table.field(0), pa.array(content)), tmp_path / name)
        with pytest.raises(InputError, match=r"tokenlab statistics"):
            read_statistics(tmp_path / name)


def test_no_damage_of_a_row_goes_unnoticed(tmp_path):
    """A flipped bit anywhere is an error, or changes no row."""
    statistics = ngram_statistics(["天地玄黄宇宙洪荒", "天地人"], StatisticsOptions(n_max=3))
    write_statistics(statistics, tmp_path / "good")
    data = (tmp_path / "good").read_bytes()
    for position in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[position] ^= 1 << (position % 8)
        (tmp_path / "damaged").write_bytes(damaged)
        try:
            restored = read_statistics(tmp_path / "damaged")
        except InputError as error:
            assert "\n" not in str(error) and "damaged" in str(error)
            continue
        assert_same_columns(restored, statistics)
