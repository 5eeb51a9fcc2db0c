"""Any cut of labelled texts as ids, characters that a code lacks, and batches with little padding."""

from itertools import islice

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from tokenlab.classification import labelled_topics
from tokenlab.classification.examples import encode_labelled, vocabulary_size
from tokenlab.classification.labelled import labelled_texts
from tokenlab.codes.corpus import character_corpus
from tokenlab.codes.interface import atom
from tokenlab.codes.measured import CodeAsTokenizer, TokenizerOfAtoms
from tokenlab.codes.registry import learn_code
from tokenlab.core.errors import InputError
from tokenlab.tokenizers import HuggingFaceTokenizer, bpe_tokenizer, read_text_tokenizer
from tokenlab.translation.pairs import shuffled_batches

KNOWN = ["abc", "bca ab"]


def labelled(*texts):
    return labelled_texts([(f"text {n}", text, "xy"[n % 2], None) for n, text in enumerate(texts)], None, "texts")


def code(unknown, kind="character"):
    options = {"N": 2} if kind == "random" else {}
    return learn_code(kind, character_corpus(KNOWN), unknown=unknown, **options)


def test_ids_end_with_the_end_and_labels_are_the_targets():
    tokenizer = CodeAsTokenizer(code("error"))
    pairs = encode_labelled(tokenizer, labelled("ab", "c", "a"))
    end = tokenizer.ids
    assert pairs.source.ids.tolist() == [1, 2, end, 3, end, 1, end] and pairs.padding == end + 1
    assert pairs.target.ids.tolist() == [0, 1, 0] and vocabulary_size(tokenizer) == end + 2


def merged(code):
    """BPE over the atoms of a code, with one merge."""
    return bpe_tokenizer(np.array([[1, 2]], np.int32), [atom(n) for n in range(len(code.alphabet))])


@pytest.mark.parametrize("kind", ["character", "random", "byte", "bits", "script"])
def test_tokens_over_the_atoms_of_a_code(kind):
    found = code("error", kind)
    names = {id: token for token, id in merged(found).get_vocab().items()}
    for tokenizer in (CodeAsTokenizer(found), TokenizerOfAtoms(found, merged(found))):
        pairs = encode_labelled(tokenizer, labelled(*KNOWN))
        for number, text in enumerate(KNOWN):
            *ids, end = pairs.source.sentence(number).tolist()
            assert found.decode("".join(names[id] for id in ids)) == text and end == tokenizer.ids


def test_a_tokenizer_of_text(tmp_path):
    tokenizer = Tokenizer(models.WordLevel({"ab": 0, "c": 1, "?": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    for one in (HuggingFaceTokenizer(tokenizer), read_text_tokenizer(tmp_path / "tokenizer.json")):
        assert encode_labelled(one, labelled("ab c", "d")).source.ids.tolist() == [0, 1, 3, 2, 3]


@pytest.mark.parametrize("over", ["atoms", "tokens"])
@pytest.mark.parametrize("unknown", ["error", "byte", "skip"])
def test_a_character_that_the_code_lacks(over, unknown):
    found = code(unknown)
    tokenizer = CodeAsTokenizer(found) if over == "atoms" else TokenizerOfAtoms(found, merged(found))
    texts = labelled("abc", "a猫", "b")
    if unknown == "error":
        with pytest.raises(InputError, match=r"^text 1: .*'猫' .*`byte` or `skip`"):
            encode_labelled(tokenizer, texts)
        return
    pairs = encode_labelled(tokenizer, texts)
    assert pairs.source.ids.max() == tokenizer.ids
    assert len(pairs.source.sentence(1)) == (5 if unknown == "byte" else 2)


def test_padding_is_below_a_tenth():
    texts = labelled_topics("en", sentences=3000, seed=0)
    tokenizer = CodeAsTokenizer(learn_code("character", character_corpus(texts.texts)))
    pairs = encode_labelled(tokenizer, texts)
    batches = [batch.source for batch in islice(shuffled_batches(pairs, 4096, seed=0), 100)]
    assert sum((ids == pairs.padding).sum() for ids in batches) < 0.1 * sum(ids.size for ids in batches)
