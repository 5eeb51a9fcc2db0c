"""Patchers whose boundaries follow from the bytes: streams give the patches of whole texts, and announce them."""

import plain_patches
import pytest
import unicode_text
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenlab.patches.by_bytes import CharacterPatcher, FixedPatcher, SpacePatcher
from tokenlab.patches.options import FixedOptions, SpaceOptions

PATCHERS = {
    "space": SpacePatcher(),
    "space, cap 6": SpacePatcher(SpaceOptions(6)),
    "space, cap 1": SpacePatcher(SpaceOptions(1)),
    "character": CharacterPatcher(),
    "fixed": FixedPatcher(FixedOptions(3)),
}
texts = st.one_of(unicode_text.text.map(str.encode), st.text("ab .é中", max_size=40).map(str.encode), st.binary())


@pytest.mark.parametrize("name", PATCHERS)
@settings(max_examples=40)
@given(text=texts, seed=st.integers(0, 9))
def test_streams_give_the_patches_of_whole_texts(name, text, seed):
    patcher = PATCHERS[name]
    (starts,) = patcher.starts([text])
    assert starts.tolist()[:1] == [0][: len(text)]
    assert plain_patches.streamed(patcher.stream(), text, seed) == starts.tolist()
    assert plain_patches.causally(patcher.stream(), text) == starts.tolist()


@pytest.mark.parametrize("name", PATCHERS)
def test_no_patch_depends_on_another_text(name):
    patcher = PATCHERS[name]
    sentences = [sentence.encode() for sentence in unicode_text.SENTENCES.values()]
    together = patcher.starts(sentences)
    assert [starts.tolist() for starts in together] == [patcher.starts([text])[0].tolist() for text in sentences]
    assert patcher.starts([]) == []
    assert patcher.starts([b""])[0].tolist() == []
