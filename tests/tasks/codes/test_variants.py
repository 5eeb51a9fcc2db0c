"""The variants of a corpus, their order and their names."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from tasks.codes.encode import baseline_kinds
from tasks.codes.parameters import CodebookParameters, CorpusCodes
from tasks.codes.variants import (
    CorpusVariants,
    Kinds,
    Variant,
    all_variants,
    latom_variants,
    read_variants,
    write_variants,
)

CODEBOOKS = CodebookParameters(lengths={2: 2, 3: 1}, K_sweep=(9, 5), restarts=3, held_out=True)
CHARACTERS = {"all": 25, "train": 16}
KINDS = Kinds(single=["character", "byte"], tables=["radical"], shaped=["random"])


def test_variants_in_the_order_of_tables() -> None:
    found = [variant.name for variant in all_variants(CODEBOOKS, CHARACTERS, (2,), KINDS)]
    seeded = [f"{code}-N2-K5-seed{seed}" for code in ("random", "latom", "latom-refined") for seed in (0, 1)]
    best = [f"{code}-N2-K5-seed{seed}" for code in ("latom-best", "latom-best-refined") for seed in (0, 1)]
    longer = ["random-N3-K3-seed0", "latom-N3-K3-seed0", "latom-refined-N3-K3-seed0"]
    swept = [f"{code}-N2-K9-seed{seed}" for code in ("random", "latom", "latom-refined") for seed in (0, 1)]
    train = ["train-character", "train-byte", *(f"train-{code}-N2-K4-seed0" for code in ("random", "latom"))]
    train.append("train-latom-refined-N2-K4-seed0")
    assert found == ["character", "byte", "radical", *seeded, *best, *longer, *swept, *train]


def test_the_codebook_stage_learns_exactly_those_of_latom() -> None:
    every = all_variants(CODEBOOKS, CHARACTERS, (2,), KINDS)
    assert latom_variants(CODEBOOKS, CHARACTERS, (2,)) == [variant for variant in every if variant.by_latom]


def test_variants_come_back_from_their_file(tmp_path: Path) -> None:
    made = CorpusVariants([Variant("byte"), Variant("latom", 2, 5, 0, "train")], 25, 900, 16, 90)
    write_variants(tmp_path, made)
    assert read_variants(tmp_path) == made


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"codebooks": {"lengths": {6: 1}}}, "N, from 1 to 5"),
        ({"codebooks": {"lengths": {}}}, "N, from 1 to 5"),
        ({"codebooks": {"lengths": {3: 1}, "K_sweep": [9]}}, "K_sweep and restarts are for N = 2"),
        ({"codebooks": {"lengths": {2: 1}}, "unigram": [3]}, "unigram has the code length 3"),
    ],
)
def test_bad_parameters(parameters: dict, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        CorpusCodes(**parameters, baselines=["character"])


def test_baselines_are_sorted_by_how_they_are_made() -> None:
    assert baseline_kinds(["random", "byte", "character"], ["radical"]) == Kinds(
        ["byte", "character"], ["radical"], ["random"]
    )
