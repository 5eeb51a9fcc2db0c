"""Patchers as folders: read again, they cut the same; equal patchers are equal bytes; damaged folders are errors."""

import json

import pytest
import small_bases
import unicode_text
from interrupted import files

from tokenlab.core.errors import InputError
from tokenlab.networks.options import SIZES, ChunkShape, TokenShape
from tokenlab.networks.stored import build_network
from tokenlab.patches.bpe import BpePatcher
from tokenlab.patches.by_bytes import CharacterPatcher, FixedPatcher, SpacePatcher
from tokenlab.patches.entropy_patcher import EntropyPatcher
from tokenlab.patches.learned import LearnedPatcher
from tokenlab.patches.options import EntropyOptions, FixedOptions, SpaceOptions
from tokenlab.patches.registry import PATCHERS, is_patcher, read_patcher, save_patcher

MAKE = {
    "bpe": lambda: BpePatcher(small_bases.pieces(), "a tokenizer"),
    "space": lambda: SpacePatcher(SpaceOptions(6)),
    "entropy": lambda: EntropyPatcher(
        build_network(TokenShape(256, SIZES["tiny"][0]), 0), 32, EntropyOptions("both", 5.4, 0.01, 5)
    ),
    "character": CharacterPatcher,
    "fixed": lambda: FixedPatcher(FixedOptions(3)),
    "learned": lambda: LearnedPatcher(build_network(ChunkShape(*SIZES["tiny"]), 0), 32),
}
TEXTS = [sentence.encode() for sentence in list(unicode_text.SENTENCES.values())[::4]]


@pytest.mark.parametrize("kind", PATCHERS)
def test_a_patcher_read_again_cuts_the_same(kind, tmp_path):
    patcher = MAKE[kind]()
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    assert not is_patcher(tmp_path / "first")
    save_patcher(patcher, tmp_path / "first")
    assert is_patcher(tmp_path / "first")
    read = read_patcher(tmp_path / "first")
    assert type(read) is type(patcher)
    assert getattr(read, "options", None) == getattr(patcher, "options", None)
    for one, other in zip(read.starts(TEXTS), patcher.starts(TEXTS), strict=True):
        assert one.tolist() == other.tolist()
    save_patcher(read, tmp_path / "second")
    assert files(tmp_path / "first") == files(tmp_path / "second")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "another"}, "its format is not"),
        ({"kind": "syllable"}, "the kind 'syllable'"),
        ({"options": {"caps": 1}}, "damaged"),
    ],
)
def test_a_damaged_folder(change, message, tmp_path):
    save_patcher(MAKE["space"](), tmp_path)
    path = tmp_path / "patcher.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=message):
        read_patcher(tmp_path)


def test_a_folder_without_a_patcher(tmp_path):
    with pytest.raises(InputError, match="no folder of a patcher"):
        read_patcher(tmp_path)
    save_patcher(MAKE["entropy"](), tmp_path)
    (tmp_path / "network" / "model.safetensors").unlink()
    with pytest.raises(InputError, match="no network that can be read"):
        read_patcher(tmp_path)
