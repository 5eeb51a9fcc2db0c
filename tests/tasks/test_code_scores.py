"""Differences to characters, means and tables of the codes family, from counts worked by hand."""

import polars as pl
import pytest

from tasks.code_scores import averaged, compared, scores
from tasks.code_tables import code_summaries, code_tables
from tasks.codes import Variant

CHARACTERS = {"same": 1000}
COLUMNS = ["tokenizer", "text", "code", "N", "K", "seed", "vocabulary", "tokens", "bits"]
ROWS = [
    ("bpe", "same", "character", None, None, None, 40, 1000, 3000.0),
    ("bpe", "same", "character", None, None, None, 50, 500, 2000.0),
    ("bpe", "same", "random", 2, 7, 0, 14, 2000, 4000.0),
    ("bpe", "same", "random", 2, 7, 0, 50, 480, 1920.0),
    ("bpe", "same", "random", 2, 7, 1, 14, 2000, 4000.0),
    ("bpe", "same", "random", 2, 7, 1, 50, 440, 2200.0),
]


@pytest.fixture
def rows():
    schema = {**dict.fromkeys(COLUMNS[:3], pl.String), **dict.fromkeys(COLUMNS[3:8], pl.Int64), "bits": pl.Float64}
    return compared(pl.DataFrame(ROWS, schema=schema, orient="row"), CHARACTERS)


def test_differences_are_positive_where_the_code_is_better(rows):
    first = rows.row(3, named=True)
    assert first["tokens_saved"] == 500 - 480
    assert first["perplexity"] == 2 ** (1920 / 480) and first["perplexity_saved"] == 2**4 - 2**4
    assert first["bits_per_character"] == 1.92 and first["bits_saved"] == pytest.approx(0.08)
    assert rows.row(5, named=True)["perplexity_saved"] == 2**4 - 2**5


def test_nothing_is_saved_below_the_number_of_characters(rows):
    assert rows.filter(vocabulary=14)["tokens_saved"].null_count() == 2
    assert rows.filter(code="character")["tokens_saved"].to_list() == [0, 0]


def test_means_and_spread_over_seeds(rows):
    curve = averaged(rows).filter(code="random", vocabulary=50).row(0, named=True)
    assert (curve["seeds"], curve["tokens_saved"]) == (2, 40)
    assert curve["tokens_saved_sd"] == pytest.approx(28.284271247461902)  # sqrt(2) 20


def test_one_row_a_seed_with_a_column_for_each_size(rows):
    wide = scores(rows, {"same": 40}, {"same": [50]}, "mine")
    assert wide["corpus"].to_list() == ["mine"] * 3 and wide["alphabet"].to_list() == [40, 14, 14]
    assert wide["tokens_saved_50"].to_list() == [0, 20, 60] and wide["tokens_C"].to_list() == [1000, None, None]


def test_tables_show_means_and_name_the_best(rows):
    wide = scores(rows, {"same": 40}, {"same": [50]}, "mine")
    facts = {"corpus": "mine", "notes": ["a note"]}
    (table,) = code_tables(wide, facts, restarts=1)
    assert table.name == "codes-mine-bpe" and "|C| = 40" in table.title and table.notes[0] == "a note"
    assert table.rows[1][:5] == ["random", "2", "7", "14", "2"] and table.rows[1][-2:] == ["+40 ± 28", "2.060 ± 0.198"]
    saved = {found.name: found for found in code_summaries(learned(wide), [50], [])}
    assert saved["codes-saved-C"].rows == [["mine", "40", "7", "", "", "", "", ""]]
    assert saved["codes-saved-50"].rows[0][3:] == ["+40 ± 28", "", "+40 ± 28", "", "Latom"]
    assert saved["codes-bits-50"].rows[0][3:5] == ["2.000", "2.060 ± 0.198"]
    assert saved["codes-bits-50"].rows[0][-1] == "characters"
    assert saved["codes-sizes"].rows == [["mine", "40", "", "7", ""]]


def learned(wide):
    """With rows of Latom that are those of the random codes."""
    return pl.concat(
        [
            wide.filter(code="character"),
            *(wide.filter(code="random").with_columns(code=pl.lit(code)) for code in ("latom", "random")),
        ]
    )


def test_names_of_variants_are_those_of_files():
    assert Variant("byte").name == "byte"
    assert Variant("latom", 2, 8, 0).name == "latom-N2-K8-seed0"
    assert Variant("latom", 2, 8, 0, "train").name == "train-latom-N2-K8-seed0"
