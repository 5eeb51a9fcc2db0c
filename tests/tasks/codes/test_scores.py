"""Differences to characters, means, rows of scores and their parameters, from counts worked by hand."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tasks.codes.encoded import read_sequences, write_sequences
from tasks.codes.evaluate import Text, averaged, compared, metrics, scores, with_parameters
from tasks.codes.parameters import HeldOut, VocabularySizes
from tokenlab.codes.options import LatomOptions
from tokenlab.core.errors import InputError

TEXTS = {"training": Text(1000, 40, (50,))}
COLUMNS = ["tokenizer", "text", "code", "N", "K", "seed", "vocabulary", "tokens", "bits"]
ROWS = [
    ("bpe", "training", "character", None, None, None, 40, 1000, 3000.0),
    ("bpe", "training", "character", None, None, None, 50, 500, 2000.0),
    ("bpe", "training", "random", 2, 7, 0, 14, 2000, 4000.0),
    ("bpe", "training", "random", 2, 7, 0, 50, 480, 1920.0),
    ("bpe", "training", "random", 2, 7, 1, 14, 2000, 4000.0),
    ("bpe", "training", "random", 2, 7, 1, 50, 440, 2200.0),
]


@pytest.fixture
def rows() -> pl.DataFrame:
    return compared(table(ROWS), TEXTS)


def table(rows: list[tuple]) -> pl.DataFrame:
    schema = {**dict.fromkeys(COLUMNS[:3], pl.String), **dict.fromkeys(COLUMNS[3:8], pl.Int64), "bits": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_differences_are_positive_where_the_code_is_better(rows: pl.DataFrame) -> None:
    first = rows.row(3, named=True)
    assert first["tokens_saved"] == 500 - 480
    assert first["perplexity"] == 2 ** (1920 / 480) and first["perplexity_saved"] == 2**4 - 2**4
    assert first["bits_per_character"] == 1.92 and first["bits_per_character_saved"] == pytest.approx(0.08)
    assert rows.row(5, named=True)["perplexity_saved"] == 2**4 - 2**5
    assert rows.filter(vocabulary=14)["tokens_saved"].null_count() == 2  # below the number of characters


def test_means_and_spread_over_seeds(rows: pl.DataFrame) -> None:
    curve = averaged(rows).filter(code="random", vocabulary=50).row(0, named=True)
    assert (curve["seeds"], curve["tokens_saved"]) == (2, 40)
    assert curve["tokens_saved_sd"] == pytest.approx(28.284271247461902)  # sqrt(2) 20


def test_one_row_a_seed_with_a_column_for_each_size(rows: pl.DataFrame) -> None:
    wide = scores(rows, TEXTS, "mine")
    assert wide["corpus"].to_list() == ["mine"] * 3 and wide["alphabet"].to_list() == [40, 14, 14]
    assert wide["variant"].to_list() == ["character", "random-N2-K7-seed0", "random-N2-K7-seed1"]
    assert wide["tokens_saved_50"].to_list() == [0, 20, 60] and wide["tokens_C"].to_list() == [1000, None, None]
    assert metrics(wide)["random-N2-K7"]["tokens_saved_50"] == 40


def test_a_unigram_tokenizer_has_a_step_of_its_own() -> None:
    found = scores(compared(table([*ROWS, ("unigram", *ROWS[0][1:])]), TEXTS), TEXTS, "mine")
    sizes = VocabularySizes(largest=100, step=50, unigram_step=100, reported=(50,), held_out=())
    of = with_parameters(found, LatomOptions(), 1, HeldOut(share=0.1, seed=0, lengths=()), sizes)
    assert dict(of.select("tokenizer", "param.step").iter_rows()) == {"bpe": 50, "unigram": 100}


def test_an_atom_that_the_training_text_lacks(tmp_path: Path) -> None:
    write_sequences(tmp_path / "held-out", np.array([0, 2]), [2])
    assert read_sequences(tmp_path / "held-out", np.array([0, 2, 5])).symbols.tolist() == [0, 1]
    for atoms in ([0, 1], [0, 3]):
        with pytest.raises(InputError, match="held-out: atom 2 is not in the training text"):
            read_sequences(tmp_path / "held-out", np.array(atoms))
