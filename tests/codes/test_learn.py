"""Codes of every kind by name, and their errors."""

import subprocess
import sys

import numpy as np
import pytest

from tokenlab.codes.corpus import CharacterCorpus, character_corpus
from tokenlab.codes.registry import learn_code
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.generated import generate


@pytest.fixture(scope="module")
def corpus() -> CharacterCorpus:
    return character_corpus(document.text for document in generate("en", sentences=300, seed=1))


def test_every_kind_by_its_name(corpus, tmp_path):
    assert learn_code("latom", corpus, N=3, iterations=1).facts["N"] == 3
    assert learn_code("random", corpus, N=3, K=9, seed=2).facts == corpus.facts() | {"N": 3, "K": 9, "seed": 2}
    assert learn_code("character", corpus, unknown="skip").unknown == "skip"
    assert learn_code("byte", corpus).facts["corpus"] == corpus.sha256
    (tmp_path / "ids.txt").write_text("U+597D\t好\t⿰女子\n", encoding="utf-8")
    radicals = learn_code("radical", character_corpus(["好a"]), tables=tmp_path)
    assert [radicals.alphabet[ord(atom) - 0xE000] for atom in radicals.encode("好a")] == ["女", "子", "a"]
    (tmp_path / "decompose_map.json").write_text("{}", encoding="utf-8")
    assert learn_code("myte", corpus, tables=tmp_path).kind == "myte"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "bpe"}, r"kind is 'bpe'; use one of latom, random, "),
        ({"kind": "byte", "N": 2}, "N: the code `byte`"),
        ({"kind": "random", "restarts": 2}, "restarts: the code `random`"),
        ({"kind": "stroke"}, "tables: the code `stroke` .* `ids`"),
        ({"kind": "latom", "K": 4000}, "2 GiB"),
        ({"kind": "latom", "refine": "all"}, "refine is 'all'; use one of swaps"),
        ({"kind": "latom", "backend": "folded"}, "backend is 'folded'; use one of auto, "),
        ({"kind": "latom", "floor": 0.0}, "floor is 0.0"),
    ],
)
def test_bad_parameters(corpus, options, message):
    with pytest.raises(ParameterError, match=message):
        learn_code(corpus=corpus, **options)


def test_one_character_is_nothing_to_learn_from():
    for kind in ("latom", "random"):
        with pytest.raises(InputError, match="one character, 'a'"):
            learn_code(kind, character_corpus(["aaa", "a"]))
    assert learn_code("character", character_corpus(["aaa"])).K == 1


def test_random_codes_are_a_permutation_or_a_sample_without_a_list(corpus):
    size = len(corpus.characters)
    code = learn_code("random", corpus, N=2, K=9, seed=7)
    assert code.assigned.tolist() == np.random.default_rng(7).permutation(81)[:size].tolist()
    huge = learn_code("random", corpus, N=9, K=60, seed=7)  # 10^16 codes.
    assert len(set(huge.assigned.tolist())) == size and huge.assigned.min() >= 0 and huge.assigned.max() < 60**9
    assert huge.assigned.mean() == pytest.approx(60**9 / 2, rel=0.25)


def test_importing_the_registry_imports_no_kind():
    program = "import sys, tokenlab.codes.registry; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert "tokenlab.codes.registry" in modules
    assert not {name for name in modules if name.startswith(("numpy", "tokenlab.codes.codebook"))}
