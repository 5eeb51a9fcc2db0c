"""The texts of a corpus in the atoms of a code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.codes.encode import encode_texts
from tokenlab.codes.corpus import character_corpus
from tokenlab.codes.interface import atom_numbers
from tokenlab.codes.registry import learn_code

TEXTS = ["ab é 中文字", "𠀀b中 😀", "cé"]


@pytest.mark.parametrize("kind", ["character", "byte", "random"])
@given(texts=st.lists(st.text(st.sampled_from("".join(TEXTS)), max_size=6)))
def test_the_atoms_of_texts_together_are_those_of_each(kind, texts):
    """Empty texts, too; bytes have codes of several lengths."""
    shape = {"N": 3, "K": 4, "seed": 0} if kind == "random" else {}
    code = learn_code(kind, character_corpus(TEXTS), **shape)
    found = encode_texts("name", code, texts)
    each = [code.encode(text) for text in texts]
    assert found.numbers.tolist() == atom_numbers("".join(each)).tolist()
    assert found.lengths == [len(atoms) for atoms in each] and found.characters == sum(map(len, texts))
