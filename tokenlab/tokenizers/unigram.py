"""Unigram tokenizers over sequences of atoms, at every vocabulary size along one path of pruning (Latom, section A.2).

The algorithm is that of Kudo (2018) as implemented in sentencepiece. The seed pieces are the repeated substrings with
the highest frequency times length. Then EM and pruning alternate: EM has the digamma M-step (a sparse prior) and drops
pieces with an expected count below 0.5; pruning removes the pieces that the best segmentation of the text does not use,
and at least the quarter with the smallest loss. Smaller sizes are not trained anew: pruning continues from size to
size.

Unlike sentencepiece, single symbols are never removed, no size is undershot, and sizes are reached by pruning alone, so
each is met exactly. There is no pre-tokenization.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.metrics.bigrams import bigram_bits
from tokenlab.ngrams.kernels import common_prefixes, sort_positions, units_to_separator
from tokenlab.tokenizers.bpe_kernels import lay_out
from tokenlab.tokenizers.merges import check_sequences, check_sizes, check_weights
from tokenlab.tokenizers.unigram_kernels import (
    LONGEST,
    Trie,
    best_segmentation,
    build_trie,
    expected_counts,
    log_probabilities,
    pruning_losses,
    repeated_substrings,
)

LARGEST_TOTAL = 2**30
"""Largest number of symbols and sequences together, whose positions are int32."""
_SEEDS = 40
_KEPT = 0.75
_SEED_STEPS = 2
_LEAST_COUNT = 0.5


class UnigramModel(NamedTuple):
    """Pieces in lexicographic order of their symbols; the id of a piece is its place in that order."""

    symbols: np.ndarray
    """int32[total]: the symbols of all pieces, one piece after the other."""
    offsets: np.ndarray
    """int64[pieces + 1]: piece i is symbols[offsets[i]:offsets[i+1]], 1 to 16 symbols; every symbol is a piece."""
    log_probabilities: np.ndarray
    """float64[pieces], in nats."""

    def pieces(self) -> list[list[int]]:
        """The symbols of each piece."""
        return [self.symbols[begin:end].tolist() for begin, end in pairwise(self.offsets)]


class UnigramSweep(NamedTuple):
    """The text at each vocabulary size for which there are enough pieces, and the models."""

    sizes: np.ndarray
    """int64[rows], ascending: pieces, including the alphabet."""
    tokens: np.ndarray
    """int64[rows]: tokens of the best segmentation of the text."""
    bits: np.ndarray
    """float64[rows]: bits of these tokens under their own bigram model, as `tokenlab.metrics.bigram_bits` computes."""
    models: list[UnigramModel]
    """One for each row."""
    seeds: int
    """Pieces before pruning: the largest size that the text has pieces for."""


class _Text(NamedTuple):
    """Sequences in the layout of the kernels."""

    codes: np.ndarray
    """uint32[total + sequences + 1]: symbols + 1, and 0 between sequences."""
    starts: np.ndarray
    """int32[sequences]: where each begins."""
    weights: np.ndarray
    """int64[sequences]: how often each occurs."""
    longest: int
    """Symbols of the longest sequence."""


class _Fitted(NamedTuple):
    """A model after EM, and the best segmentation of the text by it."""

    model: UnigramModel
    trie: Trie
    ids: np.ndarray
    """int32[tokens]."""
    begins: np.ndarray
    """int64[sequences + 1]."""


def unigram_sweep(
    symbols: np.ndarray,
    offsets: np.ndarray,
    alphabet: int,
    sizes: Sequence[int],
    seed_size: int | None = None,
    weights: np.ndarray | None = None,
) -> UnigramSweep:
    """Train unigram models of all sizes along one path of pruning; tokens and bigram bits of the text at every size.

    Args:
        symbols: int32[total], 0..alphabet-1.
        offsets: int64[sequences + 1], where sequences begin.
        alphabet: number of symbols; each is a piece at every size, used or not.
        sizes: ascending vocabulary sizes, not below the alphabet. A size for which the text has too few repeated
            substrings gets no row.
        seed_size: number of seed pieces, at least the largest size; default: 40 times the largest size. Many frequent
            substrings are shifts of each other: four times gives 25% more tokens at 1,200 pieces (English Bible).
        weights: as of `bpe_sweep`; `bits` are NaN with weights.

    Raises:
        InputError: symbols and offsets are not sequences over the alphabet; wrong weights, as of `bpe_sweep`.
        ParameterError: no sizes, or sizes out of order or below the alphabet, or fewer seed pieces than a size.
    """
    wanted = check_sizes(sizes, alphabet)
    seed_size = _SEEDS * int(wanted[-1]) if seed_size is None else seed_size
    if seed_size < wanted[-1]:
        raise ParameterError(f"seed_size is {seed_size}; use at least the largest size, {wanted[-1]}")
    symbols, offsets = check_sequences(symbols, offsets, alphabet)
    text = _lay_out(symbols, offsets, check_weights(weights, np.diff(offsets)))
    model = _seed_model(text, alphabet, seed_size)
    seeds = model.log_probabilities.size
    wanted = wanted[wanted <= seeds]
    tokens, bits = np.empty(wanted.size, np.int64), np.empty(wanted.size, np.float64)
    models: list[UnigramModel] = []
    if not wanted.size:
        return UnigramSweep(wanted, tokens, bits, models, seeds)
    fitted = _fit(text, model, alphabet, int(wanted[-1]), _SEED_STEPS)
    for row in range(wanted.size - 1, -1, -1):
        size = int(wanted[row])
        while fitted.model.log_probabilities.size > size:
            fitted = _fit(text, _prune(text, fitted, size), alphabet, size, 1 if models else _SEED_STEPS)
        tokens[row] = (np.diff(fitted.begins) * text.weights).sum()
        bits[row] = bigram_bits(fitted.ids, fitted.begins) if weights is None else np.nan
        models.append(fitted.model)
    return UnigramSweep(wanted, tokens, bits, models[::-1], seeds)


def unigram_tokenize(
    symbols: np.ndarray, offsets: np.ndarray, alphabet: int, model: UnigramModel
) -> tuple[np.ndarray, np.ndarray]:
    """The ids of the pieces of the best segmentation (int32) and the offsets of the sequences among them (int64).

    Of equally good segmentations it takes the one with the longest last piece at each position, as Hugging Face does.
    Raises InputError where symbols and offsets are not sequences over the alphabet.
    """
    symbols, offsets = check_sequences(symbols, offsets, alphabet)
    ids, begins = _segment(_lay_out(symbols, offsets), model, _trie(model, alphabet))
    sequences = np.zeros(offsets.size, np.int64)
    sequences[1:] = np.cumsum(np.diff(offsets) > 0)
    return ids, begins[sequences]


def unigram_counts(
    symbols: np.ndarray, offsets: np.ndarray, alphabet: int, model: UnigramModel
) -> tuple[np.ndarray, float]:
    """The expected count of each piece over all segmentations (float64[pieces]), and the log-likelihood in nats.

    Raises InputError where symbols and offsets are not sequences over the alphabet.
    """
    return _expect(_lay_out(*check_sequences(symbols, offsets, alphabet)), model, _trie(model, alphabet))


def _lay_out(symbols: np.ndarray, offsets: np.ndarray, weights: np.ndarray | None = None) -> _Text:
    if symbols.size + offsets.size > LARGEST_TOTAL:
        raise InputError(f"{symbols.size:,} symbols are too many at once; {LARGEST_TOTAL:,} are possible")
    cells, starts = lay_out(symbols, offsets, np.empty(0, np.int32))
    repeated = np.ones(starts.size, np.int64) if weights is None or not weights.size else weights
    return _Text((cells + 1).view(np.uint32), starts, repeated, int(np.diff(offsets).max(initial=0)))


def _seed_model(text: _Text, alphabet: int, size: int) -> UnigramModel:
    """The single symbols, and the repeated substrings with the highest frequency times length; ties by their order."""
    remaining = units_to_separator(text.codes, LONGEST + 1)
    padded = np.concatenate([text.codes.view(np.int32), np.zeros(LONGEST + 1, np.int32)])
    order = sort_positions(padded, remaining, LONGEST + 1, alphabet)
    lengths, shared = common_prefixes(padded, remaining, order)
    weights = text.weights[np.searchsorted(text.starts, order, "right") - 1]
    firsts, lengths, counts = repeated_substrings(shared, lengths, weights, LONGEST)
    values = counts * lengths
    several = min(size - alphabet, values.size)
    least = np.partition(values, values.size - several)[values.size - several] if several else 0
    chosen = np.flatnonzero(values >= least) if several else np.empty(0, np.int64)
    chosen = chosen[np.lexsort((lengths[chosen], firsts[chosen], -values[chosen]))][:several]
    frequencies = np.zeros(alphabet, np.int64)
    np.add.at(frequencies, text.codes[order] - 1, weights)
    pieces = {(symbol,): float(frequency) for symbol, frequency in enumerate(frequencies.tolist())}
    for i in chosen.tolist():
        begin = order[firsts[i]]
        pieces[tuple((text.codes[begin : begin + lengths[i]] - 1).tolist())] = float(values[i])
    spelled = sorted(pieces)
    masses = np.maximum([pieces[piece] for piece in spelled], _LEAST_COUNT)
    return UnigramModel(
        np.array([symbol for piece in spelled for symbol in piece], np.int32),
        np.cumsum([0] + [len(piece) for piece in spelled], dtype=np.int64),
        np.log(masses / masses.sum()),
    )


def _fit(text: _Text, model: UnigramModel, alphabet: int, size: int, steps: int) -> _Fitted:
    """The model after steps of EM, which keep at least `size` pieces, and the best segmentation."""
    for _ in range(steps):
        counts, _ = _expect(text, model, _trie(model, alphabet))
        model = _maximised(model, counts, size)
    trie = _trie(model, alphabet)
    return _Fitted(model, trie, *_segment(text, model, trie))


def _maximised(model: UnigramModel, counts: np.ndarray, size: int) -> UnigramModel:
    """M-step: the model of the expected counts without pieces of a small count, but with at least `size` pieces."""
    single = np.diff(model.offsets) == 1
    kept = single | (counts >= _LEAST_COUNT)
    missing = size - np.count_nonzero(kept)
    if missing > 0:
        rare = np.flatnonzero(~kept)
        kept[rare[np.argsort(-counts[rare], kind="stable")][:missing]] = True
    return _only(model._replace(log_probabilities=log_probabilities(counts, kept, _LEAST_COUNT)), kept)


def _prune(text: _Text, fitted: _Fitted, size: int) -> UnigramModel:
    """The 75% of the pieces with the largest losses, without pieces of no loss, but at least `size` pieces.

    Of equal losses the more probable pieces stay.
    """
    model, trie = fitted.model, fitted.trie
    counts = np.zeros(model.log_probabilities.size, np.int64)
    np.add.at(counts, fitted.ids, np.repeat(text.weights, np.diff(fitted.begins)))
    score = _by_node(trie, model.log_probabilities, -np.inf)
    losses = pruning_losses(model.symbols, model.offsets, trie, score, counts)
    size = max(size, min(int(_KEPT * losses.size), int(np.count_nonzero(losses > -np.inf))))
    kept = np.zeros(losses.size, bool)
    kept[np.lexsort((-model.log_probabilities, -losses))[:size]] = True
    return _only(model, kept)


def _only(model: UnigramModel, kept: np.ndarray) -> UnigramModel:
    """The pieces where `kept` (bool[pieces]) is true, with unchanged probabilities."""
    lengths = np.diff(model.offsets)
    return UnigramModel(
        model.symbols[np.repeat(kept, lengths)],
        np.concatenate([[0], np.cumsum(lengths[kept])]),
        model.log_probabilities[kept],
    )


def _expect(text: _Text, model: UnigramModel, trie: Trie) -> tuple[np.ndarray, float]:
    probability = _by_node(trie, np.exp(model.log_probabilities), 0.0)
    expected, likelihood = expected_counts(text.codes, text.starts, text.weights, text.longest, trie, probability)
    counts = np.zeros(model.log_probabilities.size, np.float64)
    nodes = np.flatnonzero(trie.piece >= 0)
    counts[trie.piece[nodes]] = expected[nodes]
    return counts, likelihood


def _segment(text: _Text, model: UnigramModel, trie: Trie) -> tuple[np.ndarray, np.ndarray]:
    score = _by_node(trie, model.log_probabilities, -np.inf)
    widths = np.diff(model.offsets).astype(np.int32)
    return best_segmentation(text.codes, text.starts, text.longest, trie, score, widths)


def _trie(model: UnigramModel, alphabet: int) -> Trie:
    return build_trie(model.symbols, model.offsets, alphabet)


def _by_node(trie: Trie, values: np.ndarray, other: float) -> np.ndarray:
    """Values of pieces as values of the trie's nodes."""
    return np.where(trie.piece >= 0, values[trie.piece], other)
