"""The unigram model against every segmentation of short sequences, and against Hugging Face `tokenizers`."""

import math

import numpy as np
import pytest
import scipy.special
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plain_sequences import flat, plain_bits, private, texts_as_sequences, unflat
from plain_words import segmentations
from tokenizers import Tokenizer

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.generated import generate
from tokenlab.tokenizers import (
    UnigramModel,
    save_tokenizer,
    unigram_counts,
    unigram_sweep,
    unigram_tokenize,
    unigram_tokenizer,
)
from tokenlab.tokenizers.unigram_kernels import build_trie, log_probabilities, pruning_losses

short = st.lists(st.lists(st.integers(0, 2), max_size=9), min_size=1, max_size=4)
longer = st.lists(st.lists(st.integers(0, 2), max_size=30), min_size=1, max_size=4)


@st.composite
def models_of_three_symbols(draw):
    """Models over symbols 0 to 2 whose probabilities range over ten orders of magnitude."""
    several = draw(st.sets(st.lists(st.integers(0, 2), min_size=2, max_size=6).map(tuple), max_size=12))
    pieces = sorted({(0,), (1,), (2,)} | several)
    logs = draw(st.lists(st.floats(-23, 0), min_size=len(pieces), max_size=len(pieces)))
    return model_of(dict(zip(pieces, logs, strict=True)))


def model_of(log_probabilities):
    """A model from a dictionary of pieces (tuples of symbols)."""
    symbols, offsets = flat(sorted(log_probabilities))
    values = np.array([log_probabilities[piece] for piece in sorted(log_probabilities)])
    return UnigramModel(symbols, offsets, values - scipy.special.logsumexp(values))


@settings(max_examples=60)
@given(short, models_of_three_symbols())
def test_e_step_is_the_sum_over_all_segmentations(sequences, model):
    pieces = {tuple(piece): i for i, piece in enumerate(model.pieces())}
    counts, likelihood = np.zeros(len(pieces)), 0.0
    for sequence in sequences:
        ways = list(segmentations(tuple(sequence), pieces.__contains__))
        weights = [math.exp(sum(model.log_probabilities[pieces[piece]] for piece in way)) for way in ways]
        for way, weight in zip(ways, weights, strict=True):
            for piece in way:
                counts[pieces[piece]] += weight / sum(weights)
        likelihood += math.log(sum(weights))
    expected, found = unigram_counts(*flat(sequences), 3, model)
    assert found == pytest.approx(likelihood, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(expected, counts, rtol=1e-10, atol=1e-300)


def test_e_step_of_a_long_sequence_of_rare_symbols():
    """The probability is about 1e-60000."""
    sequence = np.random.default_rng(0).choice(3, 6000, p=[0.98, 0.01, 0.01]).tolist()
    model = model_of(
        {(0,): -20.0, (1,): 0.0, (2,): -3.0, (0, 0): -30.0, (0, 0, 0): -70.0, (0,) * 16: -300.0, (0, 1): -2}
    )
    logs = {tuple(piece): value for piece, value in zip(model.pieces(), model.log_probabilities, strict=True)}
    forward = [0.0]
    for end in range(1, len(sequence) + 1):
        arcs = [
            forward[end - len(piece)] + value
            for piece, value in logs.items()
            if len(piece) <= end and tuple(sequence[end - len(piece) : end]) == piece
        ]
        forward.append(float(scipy.special.logsumexp(arcs)))
    expected, likelihood = unigram_counts(*flat([sequence]), 3, model)
    assert likelihood == pytest.approx(forward[-1], rel=1e-12)
    assert expected @ np.diff(model.offsets) == pytest.approx(len(sequence), rel=1e-9)


@settings(max_examples=150)
@given(longer, models_of_three_symbols(), st.integers(0, 3))
def test_segmentation_and_export_are_those_of_huggingface(sequences, model, digits):
    """With rounded scores there are many ties."""
    model = model._replace(log_probabilities=np.round(model.log_probabilities, digits))
    tokenizer = unigram_tokenizer(model, [private([symbol]) for symbol in range(3)])
    ids, offsets = unigram_tokenize(*flat(sequences), 3, model)
    encodings = tokenizer.encode_batch([private(sequence) for sequence in sequences])
    assert unflat(ids, offsets) == [encoding.ids for encoding in encodings]


def test_sweep():
    sequences, alphabet = texts_as_sequences([d.text for d in generate("de", sentences=200, seed=4)] + [""], atoms=2)
    sizes = [alphabet, *range(50, 401, 50)]
    sweep = unigram_sweep(*flat(sequences), alphabet, sizes)
    assert sweep.sizes.tolist() == sizes
    assert np.all(np.diff(sweep.tokens) < 0)
    assert sweep.tokens[0] == sum(map(len, sequences))
    for i, model in enumerate(sweep.models):
        pieces = [tuple(piece) for piece in model.pieces()]
        assert len(pieces) == sizes[i] == len(set(pieces))
        assert pieces == sorted(pieces)
        assert max(map(len, pieces)) <= 16
        assert {(symbol,) for symbol in range(alphabet)} <= set(pieces)
        if i:
            assert set(map(tuple, sweep.models[i - 1].pieces())) < set(pieces)
        ids, offsets = unigram_tokenize(*flat(sequences), alphabet, model)
        assert [[s for id in ids_ for s in pieces[id]] for ids_ in unflat(ids, offsets)] == sequences
        assert sweep.tokens[i] == ids.size
        assert sweep.bits[i] == pytest.approx(plain_bits(unflat(ids, offsets)), rel=1e-9)


def test_seed_pieces_are_the_most_valuable_substrings():
    """Of all that occur twice and are not always followed by the same symbol; counted here one by one."""
    sequences, alphabet = texts_as_sequences([d.text for d in generate("en", sentences=30, seed=4)])
    counts, followers = {}, {}
    for sequence in sequences:
        for begin in range(len(sequence)):
            for end in range(begin + 2, min(begin + 16, len(sequence)) + 1):
                piece = tuple(sequence[begin:end])
                counts[piece] = counts.get(piece, 0) + 1
                behind = sequence[end] if end < len(sequence) else ("end", id(sequence))
                followers.setdefault(piece, set()).add(behind)
    values = {piece: count * len(piece) for piece, count in counts.items() if len(followers[piece]) > 1}
    ranked = sorted(values, key=lambda piece: (-values[piece], piece))
    size = alphabet + 300
    found = {tuple(p) for p in unigram_sweep(*flat(sequences), alphabet, [size], size).models[0].pieces() if len(p) > 1}
    assert found == set(ranked[:300])
    most = unigram_sweep(*flat(sequences), alphabet, [alphabet + len(ranked), alphabet + len(ranked) + 1])
    assert most.sizes.tolist() == [alphabet + len(ranked)]


def test_no_symbols_and_unused_ones():
    for sequences in ([], [[]], [[1], [], [1, 1]]):
        sweep = unigram_sweep(*flat(sequences), 3, [3, 4])
        assert (sweep.sizes.tolist(), sweep.tokens.tolist()) == ([3], [sum(map(len, sequences))])
        assert np.isfinite(sweep.models[0].log_probabilities).all()
        assert unigram_sweep(*flat(sequences), 3, [4]).models == []


def test_exported_tokenizer_knows_unknown_characters_and_is_saved(tmp_path):
    model = model_of({(0,): -3.0, (1,): -3.0, (0, 1): -1.0})
    save_tokenizer(unigram_tokenizer(model, ["a", " "]), tmp_path / "unigram")
    loaded = Tokenizer.from_file(str(tmp_path / "unigram/tokenizer.json"))
    encoding = loaded.encode("aa z")
    assert encoding.ids == [0, 1, 3]
    assert loaded.id_to_token(3) == "[UNK]"
    assert loaded.decode(loaded.encode("a aa").ids) == "a aa"


@settings(max_examples=150)
@given(models_of_three_symbols(), st.data())
def test_loss_of_a_piece_is_that_of_its_best_replacement(model, data):
    """By trying every segmentation of the piece without it; the likelihood is that of the counts."""
    pieces = {tuple(piece): i for i, piece in enumerate(model.pieces())}
    counts = np.array(data.draw(st.lists(st.integers(0, 50), min_size=len(pieces), max_size=len(pieces))))
    trie = build_trie(model.symbols, model.offsets, 3)
    score = np.where(trie.piece >= 0, model.log_probabilities[trie.piece], -np.inf)
    losses = pruning_losses(model.symbols, model.offsets, trie, score, counts)
    for piece, i in pieces.items():
        ways = segmentations(piece, (pieces.keys() - {piece}).__contains__)
        scored = sorted((sum(model.log_probabilities[pieces[other]] for other in way), way) for way in ways)
        near = {tuple(sorted(way)) for value, way in scored if value > scored[-1][0] - 1e-9} if scored else set()
        assume(len(near) < 2 and not (scored and abs(scored[-1][0] - model.log_probabilities[i]) < 1e-9))
        if len(piece) == 1:
            assert losses[i] == np.inf
        elif counts[i] == 0 or scored[-1][0] > model.log_probabilities[i]:
            assert losses[i] == -np.inf
        else:
            way, total = scored[-1][1], counts.sum()
            with_it = math.log(counts[i] / total)
            without = [
                math.log((counts[pieces[other]] + counts[i]) / (total + counts[i] * (len(way) - 1))) for other in way
            ]
            assert losses[i] == pytest.approx(counts[i] * (with_it - sum(without)), rel=1e-9, abs=1e-9)


def test_m_step():
    """digamma(c) - digamma(sum), where c is at least 0.5 and pieces that are not kept are not in the sum."""
    expected, kept = np.array([3.0, 0.2, 40.0, 0.1, 7.5]), np.array([True, True, True, False, True])
    logs = scipy.special.digamma([3.0, 0.5, 40.0, np.nan, 7.5]) - scipy.special.digamma(51.0)
    found = log_probabilities(expected, kept, 0.5)
    assert found[kept] == pytest.approx(logs[kept], abs=1e-9)
    assert found[3] == -np.inf


def test_errors():
    symbols, offsets = flat([[0, 1], [1]])
    with pytest.raises(ParameterError, match=r"seed_size is 3; .* 5"):
        unigram_sweep(symbols, offsets, 2, [5], seed_size=3)
    with pytest.raises(InputError, match="symbol 1 at 1"):
        unigram_sweep(symbols, offsets, 1, [5])
    with pytest.raises(ParameterError, match="1 for pieces with symbol 1"):
        unigram_tokenizer(model_of({(0,): -1.0, (1,): -1.0}), ["a"])


@pytest.mark.parametrize("atoms", [1, 2])
def test_weights_are_repetitions(atoms):
    """Distinct words and their counts, which are mostly 1 or 2, give the pieces of all words."""
    texts = [document.text for document in generate("en", sentences=60, seed=3)]
    words, counts = np.unique(" ".join(texts).split(), return_counts=True)
    sequences, alphabet = texts_as_sequences(words.tolist(), atoms)
    repeated = [sequence for sequence, count in zip(sequences, counts, strict=True) for _ in range(count)]
    sizes = [alphabet, alphabet + 20, alphabet + 60]
    once = unigram_sweep(*flat(sequences), alphabet, sizes, weights=counts)
    every = unigram_sweep(*flat(repeated), alphabet, sizes)
    assert once.tokens.tolist() == every.tokens.tolist()
    assert np.isnan(once.bits).all()
    for one, other in zip(once.models, every.models, strict=True):
        assert one.pieces() == other.pieces()
        assert np.allclose(one.log_probabilities, other.log_probabilities, rtol=1e-9, atol=0)
    with pytest.raises(InputError, match="weights must be"):
        unigram_sweep(*flat(sequences), alphabet, sizes, weights=counts[1:])
