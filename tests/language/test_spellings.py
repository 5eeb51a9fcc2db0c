"""The trie of spellings, against the spellings themselves."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenlab.core.errors import InputError
from tokenlab.language.patch_generation import ROOT, Spellings

_MARKER = 4


@settings(max_examples=40)
@given(st.sets(st.lists(st.integers(0, 3), min_size=1, max_size=5).map(tuple), min_size=1, max_size=30))
def test_symbols_that_may_follow_each_beginning(bodies):
    spellings = {(*body, _MARKER) for body in bodies}
    trie = Spellings(spellings)
    for spelling in spellings:
        node = ROOT
        for depth, symbol in enumerate(spelling):
            begun = spelling[:depth]
            wanted = {other[depth] for other in spellings if other[:depth] == begun}
            assert trie.following(node).tolist() == sorted(wanted)
            for other in range(_MARKER + 1):
                if other not in wanted:
                    with pytest.raises(KeyError):
                        trie.child(node, other)
            node = trie.child(node, symbol)
        assert trie.following(node).tolist() == []


@pytest.mark.parametrize("spellings", [[], [()]])
def test_nothing_to_spell(spellings):
    with pytest.raises(InputError, match="at least one symbol"):
        Spellings(spellings)
