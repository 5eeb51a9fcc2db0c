"""The variants of a corpus, their order and their names."""

import pytest
from pydantic import ValidationError

from tasks.codes.parameters import CodebookParameters, CorpusCodes
from tasks.codes.variants import Kinds, all_variants

CODEBOOKS = CodebookParameters(lengths={2: 2, 3: 1}, K_sweep=(9, 5), restarts=3, held_out=True)
CHARACTERS = {"all": 25, "train": 16}
KINDS = Kinds(single=["character", "byte"], tables=["radical"], shaped=["random"])


def test_the_codebook_stage_learns_exactly_those_of_latom() -> None:
    latom, every = (all_variants(CODEBOOKS, CHARACTERS, (2,), kinds) for kinds in (Kinds(), KINDS))
    assert latom == [variant for variant in every if variant.by_latom]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"codebooks": {"lengths": {6: 1}}}, "N, from 1 to 5"),
        ({"codebooks": {"lengths": {3: 1}, "K_sweep": [9]}}, "K_sweep and restarts"),
        ({"codebooks": {"lengths": {2: 1}}, "unigram": [3]}, "unigram .* length 3"),
    ],
)
def test_bad_parameters(parameters: dict, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        CorpusCodes(**parameters, baselines=["character"])
