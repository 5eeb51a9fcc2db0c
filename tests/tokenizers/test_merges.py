"""BPE over atoms against its definition, and against Hugging Face `tokenizers`."""

import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plain_bpe import encode, train
from plain_sequences import flat, plain_bits, private, texts_as_sequences, unflat
from tokenizers import Tokenizer, models, trainers

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.generated import generate
from tokenlab.metrics import bigram_bits
from tokenlab.tokenizers import apply_merges, bpe_sweep, bpe_tokenizer, save_tokenizer, tokenize

few_symbols = st.lists(st.lists(st.integers(0, 2), max_size=30), max_size=5)
repeats = st.lists(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), min_size=1, max_size=6).map(
        lambda words: [symbol for word in words for _ in range(2) for symbol in word]
    ),
    min_size=1,
    max_size=4,
)


def huggingface_merges(sequences, alphabet, size):
    tokenizer = Tokenizer(models.BPE())
    characters = [private([symbol]) for symbol in range(alphabet)]
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=characters, show_progress=False)
    tokenizer.train_from_iterator([private(sequence) for sequence in sequences], trainer)
    ids = tokenizer.get_vocab()
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    assert [ids[left + right] for left, right in merges] == list(range(alphabet, alphabet + len(merges)))
    return [[ids[left], ids[right]] for left, right in merges]


@settings(max_examples=150)
@given(few_symbols | repeats, st.integers(4, 24))
@example([[0] * 30, [0] * 7], 24)
def test_merges_and_tokens_are_those_of_the_definition(sequences, size):
    sweep = bpe_sweep(*flat(sequences), 4, range(4, size + 1))
    merges = train(sequences, 4, size)
    assert sweep.merges.tolist() == [list(pair) for pair in merges]
    assert sweep.sizes.tolist() == list(range(4, 4 + len(merges) + 1))
    for learned in range(len(merges) + 1):
        tokens = [encode(sequence, 4, merges[:learned]) for sequence in sequences]
        assert sweep.tokens[learned] == sum(map(len, tokens))
        assert sweep.bits[learned] == pytest.approx(plain_bits(tokens), rel=1e-9, abs=1e-9)
        assert sweep.bits[learned] == bigram_bits(*flat(tokens))


@settings(max_examples=100)
@given(few_symbols | repeats, few_symbols | repeats)
@example([[0] * 30, [0] * 7], [[0] * 29])
def test_other_text_is_encoded_by_rank(sequences, others):
    merges = bpe_sweep(*flat(sequences), 4, [30]).merges
    rows = apply_merges(*flat(others), 4, merges, range(4, 40))
    assert rows.sizes.tolist() == list(range(4, 4 + len(merges) + 1))
    for learned, (_, count, bits) in enumerate(zip(*rows, strict=True)):
        ids, offsets = tokenize(*flat(others), 4, merges[:learned])
        assert unflat(ids, offsets) == [encode(other, 4, merges[:learned].tolist()) for other in others]
        assert (count, bits) == (ids.size, bigram_bits(ids, offsets))


@settings(max_examples=100)
@given(few_symbols | repeats, few_symbols | repeats)
@example([[0] * 30, [0] * 7], [[0] * 29])
def test_exported_tokenizer_encodes_alike(sequences, others):
    merges = bpe_sweep(*flat(sequences), 4, [30]).merges
    tokenizer = bpe_tokenizer(merges, [private([symbol]) for symbol in range(4)])
    ids, offsets = tokenize(*flat(others), 4, merges)
    assert [encoding.ids for encoding in tokenizer.encode_batch(list(map(private, others)))] == unflat(ids, offsets)


@settings(max_examples=200)
@given(few_symbols | repeats, st.integers(4, 40))
@example([[0] * 30, [0] * 7], 24)
def test_merges_are_those_of_huggingface(sequences, size):
    assert bpe_sweep(*flat(sequences), 4, [size]).merges.tolist() == huggingface_merges(sequences, 4, size)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.lists(st.integers(0, 2), max_size=12), st.integers(1, 4)), max_size=6))
@example([([0] * 9, 3), ([0] * 4, 2), ([], 4)])
def test_weights_are_repetitions(counted):
    sequences, weights = [sequence for sequence, _ in counted], np.array([count for _, count in counted], np.int64)
    repeated = [sequence for sequence, count in counted for _ in range(count)]
    sweep, plain = bpe_sweep(*flat(sequences), 4, range(4, 30), weights), bpe_sweep(*flat(repeated), 4, range(4, 30))
    assert all(np.array_equal(one, other) for one, other in zip(sweep, plain, strict=True))


@pytest.mark.parametrize("times", [2**31, 2**32, 2**33 + 1, 2**53 + 1])
@settings(max_examples=40)
@given(few_symbols | repeats)
def test_large_weights_are_counted_exactly(times, sequences):
    """Where int32, uint32 and float64 go wrong."""
    once = bpe_sweep(*flat(sequences), 4, range(4, 30))
    many = bpe_sweep(*flat(sequences), 4, range(4, 30), np.full(len(sequences), times))
    assert np.array_equal(once.merges, many.merges)
    assert many.tokens.tolist() == [count * times for count in once.tokens.tolist()]


def test_progress_is_told_and_changes_nothing(monkeypatch):
    monkeypatch.setattr("tokenlab.tokenizers.merges._LOOK", 1e-4)
    symbols = np.random.default_rng(0).integers(0, 50, 200_000).astype(np.int32)
    text, told = (symbols, np.array([0, len(symbols)]), 50, [2000]), []
    found = bpe_sweep(*text, progress=lambda done, most: told.append((done, most)))
    assert np.array_equal(found.merges, bpe_sweep(*text).merges)
    assert {most for _, most in told} == {1950} and told == sorted(told)
    assert any(0 < done < 1950 for done, _ in told)


def test_wrong_weights():
    for wrong in ([1], [1, 0], [1.0, 2.0]):
        with pytest.raises(InputError, match="weights must be 2 whole numbers"):
            bpe_sweep(*flat([[0, 1], [1]]), 2, [5], np.array(wrong))
    with pytest.raises(InputError, match="too large"):
        bpe_sweep(*flat([[0, 1], [1]]), 2, [5], np.array([2**61, 1]))


@pytest.mark.parametrize(("language", "atoms"), [("en", 1), ("en", 2), ("de", 3), ("zh", 1), ("zh", 2), ("ja", 3)])
def test_text_against_huggingface(language, atoms):
    sequences, alphabet = texts_as_sequences([d.text for d in generate(language, sentences=300, seed=1)], atoms)
    sweep = bpe_sweep(*flat(sequences), alphabet, [alphabet, alphabet + 200, alphabet + 400])
    assert sweep.merges.tolist() == huggingface_merges(sequences, alphabet, alphabet + 400)
    tokenizer = bpe_tokenizer(sweep.merges, [private([symbol]) for symbol in range(alphabet)])
    ids, _ = tokenize(*flat(sequences), alphabet, sweep.merges)
    assert sweep.tokens[-1] == ids.size
    encodings = tokenizer.encode_batch(list(map(private, sequences)))
    assert [i for encoding in encodings for i in encoding.ids] == ids.tolist()


def test_exported_tokenizer_knows_unknown_characters_and_is_saved(tmp_path):
    tokenizer = bpe_tokenizer(np.array([[0, 1]], np.int32), ["a", " "])
    save_tokenizer(tokenizer, tmp_path / "bpe")
    loaded = Tokenizer.from_file(str(tmp_path / "bpe/tokenizer.json"))
    assert loaded.encode("aa z").tokens == ["a", "a ", "[UNK]"]
    assert loaded.token_to_id("[UNK]") == 3
    assert loaded.decode(loaded.encode("a aa").ids) == "a aa"


def test_errors():
    symbols, offsets = flat([[0, 1], [1]])
    with pytest.raises(InputError, match=r"symbol 2 at 1: .* 0 to 2 - 1"):
        bpe_sweep(np.array([0, 2, 1], np.int32), offsets, 2, [5])
    for wrong in ([0, 2], [0, 3, 2, 3], [1, 3], []):
        with pytest.raises(InputError, match="offsets"):
            bpe_sweep(symbols, np.array(wrong, np.int64), 2, [5])
    with pytest.raises(InputError, match="float64"):
        bpe_sweep(symbols.astype(float), offsets, 2, [5])
    with pytest.raises(ParameterError, match="1 is smaller than the alphabet, 2"):
        bpe_sweep(symbols, offsets, 2, [1, 5])
    for wrong in ([5, 5], [7, 5]):
        with pytest.raises(ParameterError, match="ascend"):
            bpe_sweep(symbols, offsets, 2, wrong)
    for wrong in ([[0, 2]], [[-1, 1]]):
        with pytest.raises(ParameterError, match=r"merges: .*rank 0"):
            tokenize(symbols, offsets, 2, np.array(wrong, np.int32))
    for characters in (["a", "bc"], ["a", ""]):
        with pytest.raises(ParameterError, match="not one character"):
            bpe_tokenizer(np.zeros((0, 2), np.int32), characters)
    with pytest.raises(ParameterError, match="spelled the same"):
        bpe_tokenizer(np.array([[0, 1], [0, 1]], np.int32), ["a", "b"])
    with pytest.raises(ParameterError, match="spells"):
        bpe_tokenizer(np.array([[0, 1], [5, 2], [6, 3], [7, 4]], np.int32), list("[UNK]"))
