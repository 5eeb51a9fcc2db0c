"""Tokenizers trained from counts of pieces, several sizes from one training: BPE and unigram.

The merges of BPE are those of Hugging Face's `BpeTrainer` for the same pieces; with bytes as alphabet, the files are
equal. Special tokens have the first ids, then come the 256 byte tokens (`fallback` only), the alphabet in the order of
code points, and the merges; or the pieces of the unigram model (`unigram_sweep`) from probable to improbable.

Two deviations, both where that trainer goes wrong. Its counts of pairs are int32; here they are int64. And characters
outside of the alphabet end a sequence; it joins what stands around them, and so learns pairs that are nowhere in the
text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.formats.byte_level import byte_characters, spelled_bytes
from tokenlab.formats.pieces import BYTE_PIECES
from tokenlab.text.code_points import code_points
from tokenlab.tokenizers.bpe import save_with_special_tokens
from tokenlab.tokenizers.cuts import Cut
from tokenlab.tokenizers.kinds import KINDS, learn_kinds
from tokenlab.tokenizers.merges import Progress, bpe_sweep
from tokenlab.tokenizers.options import BYTE_LIKE, TrainOptions, role_special_tokens
from tokenlab.tokenizers.piece_counts import PieceCounts
from tokenlab.tokenizers.piece_kernels import RUN, SPACE
from tokenlab.tokenizers.unigram import unigram_sweep

_MARGIN = 10.0
"""Nats by which a character of a reserved token is worse than any piece; as Unigram's own of unknown characters."""


class Sequences(NamedTuple):
    """Pieces as sequences of symbols, the places of their characters in the alphabet."""

    symbols: NDArray[np.int32]
    offsets: NDArray[np.int64]
    """int64[sequences + 1]: sequence i is symbols[offsets[i]:offsets[i + 1]]."""
    weights: NDArray[np.int64]
    """int64[sequences]: how often each occurs."""
    alphabet: list[str]
    """In the order of code points."""


def train_tokenizers(counts: PieceCounts, options: TrainOptions, progress: Progress | None = None) -> list[Tokenizer]:
    """Tokenizers of the sizes of `options.vocabulary`; those of BPE are smaller where no pair is left to merge.

    Pieces that hold the text of a special token are left out: a tokenizer never sees them, since special tokens are
    found first.

    progress: of BPE, as of `bpe_sweep`.

    Raises:
        InputError: no piece; a lone surrogate; the cut of the counts is not known.
        ParameterError: a size below what special tokens, bytes and alphabet need, or, for unigram, above what the text
            has pieces for; a special token that is decoded to bytes.
    """
    if counts.cut is None:
        raise InputError("the counts do not say how the text was cut; name the cut")
    options = with_alphabet(options, counts)
    special = role_special_tokens(options.special_tokens).tokens
    if options.byte_tokens == "level":
        _check_no_bytes(special)
    reserved = [*special, *(BYTE_PIECES if options.byte_tokens == "fallback" else ())]
    sequences = _sequences(_without_reserved(counts, special, options.byte_tokens == "fallback"), options, reserved)
    smallest = len(reserved) + len(sequences.alphabet)
    if options.vocabulary[0] < smallest:
        raise ParameterError(
            f"vocabulary is {options.vocabulary[0]}, but {len(sequences.alphabet)} letters of the alphabet and "
            f"{len(reserved)} special and byte tokens need {smallest}; use at least that"
            + ("" if options.byte_tokens == "level" else ", or a lower coverage")
        )
    sizes = [size - len(reserved) for size in options.vocabulary]
    learn = partial(_bpe, progress=progress) if options.model == "bpe" else _unigram
    return [_complete(Tokenizer(model), counts.cut, special, options) for model in learn(sequences, sizes, reserved)]


def with_alphabet(options: TrainOptions, counts: PieceCounts) -> TrainOptions:
    """The options with `byte_tokens` chosen for a text, where they leave it open.

    Characters are the alphabet (`fallback`) where the cut is `auto`, the model is unigram or more than half of the text
    is of scripts without spaces, and they, byte tokens and special tokens take at most half of the smallest vocabulary;
    else bytes are. Small language models need fewer bits for a text then (docs/benchmarks.md, Small models by cut).

    Raises InputError for a lone surrogate.
    """
    if options.byte_tokens != "auto":
        return options
    is_auto = counts.cut is not None and counts.cut.name == "auto"
    if is_auto and (options.model == "unigram" or _is_mostly_unspaced(counts)):
        alphabet = _covering(*_points(counts), options.coverage)
        special = role_special_tokens(options.special_tokens).tokens
        if 2 * (len(special) + len(BYTE_PIECES) + len(alphabet)) <= options.vocabulary[0]:
            return replace(options, byte_tokens="fallback")
    return replace(options, byte_tokens="level")


def _is_mostly_unspaced(counts: PieceCounts) -> bool:
    """Whether runs of scripts without spaces are more than half of the characters of all pieces, whitespace aside.
    Pieces are those of the cut `auto`: a run has no other characters but a space before it."""
    last = code_points("".join(piece[-1:] for piece in counts.pieces))
    learn_kinds(last)
    kinds = KINDS[last]
    characters = counts.counts * np.fromiter(map(len, counts.pieces), np.float64, len(counts.pieces))
    of_runs = characters[kinds & RUN != 0].sum()
    return bool(2 * of_runs > characters[kinds & SPACE == 0].sum())


def _bpe(
    sequences: Sequences, sizes: Sequence[int], reserved: Sequence[str], progress: Progress | None
) -> Iterator[models.Model]:
    merges = bpe_sweep(*sequences[:2], len(sequences.alphabet), sizes, sequences.weights, progress).merges.tolist()
    tokens, pairs = list(sequences.alphabet), []
    for left, right in merges:
        pairs.append((tokens[left], tokens[right]))
        tokens.append(tokens[left] + tokens[right])
    for size in sizes:
        ids = {token: number for number, token in enumerate((*reserved, *tokens[:size]))}
        yield models.BPE(ids, pairs[: size - len(sequences.alphabet)], byte_fallback=BYTE_PIECES[0] in ids)


def _unigram(sequences: Sequences, sizes: Sequence[int], reserved: Sequence[str]) -> Iterator[models.Model]:
    """Pieces from probable to improbable; reserved tokens are worth less than any spelling of theirs."""
    sweep = unigram_sweep(*sequences[:2], len(sequences.alphabet), sizes, weights=sequences.weights)
    if len(sweep.sizes) < len(sizes):
        size = sizes[len(sweep.sizes)] + len(reserved)
        largest = sweep.seeds + len(reserved)
        raise ParameterError(f"vocabulary is {size}, but the text has repeated pieces for {largest}; use at most that")
    for model in sweep.models:
        scores = model.log_probabilities.tolist()
        pieces = ["".join(map(sequences.alphabet.__getitem__, piece)) for piece in model.pieces()]
        learned = sorted(zip(pieces, scores, strict=True), key=lambda one: (-one[1], one[0]))
        unused = [(token, len(token.encode()) * (min(scores) - _MARGIN)) for token in reserved]
        # An unknown character becomes bytes where they are pieces; with bytes as alphabet there is none.
        unknown = 0 if BYTE_PIECES[0] in reserved else None
        yield models.Unigram([*unused, *learned], unk_id=unknown, byte_fallback=BYTE_PIECES[0] in reserved)


def _check_no_bytes(special: Sequence[str]) -> None:
    for token in special:
        if spelled_bytes(token) not in (None, token.encode()):
            raise ParameterError(f"special_tokens has {token!r}, which is read as other bytes when decoded; use ASCII")


def _complete(tokenizer: Tokenizer, cut: Cut, special: Sequence[str], options: TrainOptions) -> Tokenizer:
    """The tokenizer with everything but its model."""
    fallback = options.byte_tokens == "fallback"
    steps = [step for step in (cut.split(), None if fallback else _byte_level()) if step is not None]
    if steps:
        tokenizer.pre_tokenizer = steps[0] if len(steps) == 1 else pre_tokenizers.Sequence(steps)
    fused = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.decoder = fused if fallback else decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
    return tokenizer


def _byte_level() -> pre_tokenizers.ByteLevel:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def _without_reserved(counts: PieceCounts, special: tuple[str, ...], fallback: bool) -> PieceCounts:
    """The pieces without the text of special tokens and, with byte fallback, of what is decoded to a byte."""
    patterns = [*map(re.escape, special), *([BYTE_LIKE.pattern] if fallback else [])]
    holds = re.compile("|".join(patterns)).search
    kept = [number for number, piece in enumerate(counts.pieces) if not (patterns and holds(piece))]
    if not kept:
        raise InputError("there is no text to train a tokenizer on")
    return counts._replace(pieces=[counts.pieces[number] for number in kept], counts=counts.counts[kept])


def _sequences(counts: PieceCounts, options: TrainOptions, reserved: Sequence[str]) -> Sequences:
    if options.byte_tokens == "level":
        characters = sorted(byte_characters())
        symbol_of = np.empty(256, np.int32)
        for byte, character in enumerate(byte_characters()):
            symbol_of[byte] = characters.index(character)
        code_points("".join(counts.pieces))  # refuses a lone surrogate
        symbols = symbol_of[np.frombuffer("".join(counts.pieces).encode(), np.uint8)]
        lengths = np.fromiter((len(piece.encode()) for piece in counts.pieces), np.int64, len(counts.pieces))
        return Sequences(symbols, _offsets(lengths), counts.counts, characters)
    points, weights = _points(counts)
    offsets = _offsets([len(piece) for piece in counts.pieces])
    alphabet = _covering(points, weights, options.coverage)
    if options.model == "unigram":  # Text that looks like a reserved token has a spelling, which is worth more.
        alphabet = np.union1d(alphabet, [ord(character) for token in reserved for character in token])
    places = np.full(0x110000, -1, np.int32)
    places[alphabet] = np.arange(len(alphabet))
    symbols = places[points]
    # A character outside of the alphabet ends a sequence, and the next one begins after it.
    begins = symbols < 0
    begins[offsets[:-1]] = True
    sequence, first = np.cumsum(begins) - 1, np.flatnonzero(begins)
    inside = symbols >= 0
    lengths = np.bincount(sequence[inside], minlength=len(first))
    return Sequences(symbols[inside], _offsets(lengths), weights[first], list(map(chr, alphabet.tolist())))


def _points(counts: PieceCounts) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The code points of all pieces, one after the other, and how often each occurs. InputError for a surrogate."""
    lengths = np.fromiter(map(len, counts.pieces), np.int64, len(counts.pieces))
    return code_points("".join(counts.pieces)), np.repeat(counts.counts, lengths)


def _covering(points: NDArray[np.uint32], weights: NDArray[np.int64], coverage: float) -> NDArray[np.int64]:
    """The fewest, most frequent characters that are a share of the text, in the order of code points."""
    counts = np.zeros(0x110000, np.int64)
    np.add.at(counts, points, weights)
    found = np.flatnonzero(counts)
    found = found[np.argsort(-counts[found], kind="stable")]
    total = np.cumsum(counts[found])
    needed = len(found) if coverage == 1 else int(np.searchsorted(total, coverage * float(total[-1]))) + 1
    return np.sort(found[:needed])


def _offsets(lengths: list[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(np.asarray(lengths, np.int64))))


def unreached_tokens(tokenizer: Tokenizer, pieces: Sequence[str] = ()) -> list[str]:
    """The learned tokens that neither they themselves nor any of `pieces` are encoded with: hardly any text has them.

    A token may be two pieces alone and one after other letters, such as `'s` with the cut `auto`. Tokens that are no
    whole characters are left out, since they are no text of their own.
    """
    ids = tokenizer.get_vocab()
    others = {*tokenizer.get_added_tokens_decoder(), *(ids.get(byte) for byte in BYTE_PIECES)}
    found = []
    for number in sorted(set(ids.values()) - others):
        text = tokenizer.decode([number])
        if "\ufffd" in text or tokenizer.encode(text).ids == [number]:
            continue
        if not any(number in tokenizer.encode(piece).ids for piece in pieces if text in piece):
            found.append(text)
    return found


def cut_differently(tokenizer: Tokenizer, cut: Cut, texts: Sequence[str]) -> int:
    """The number of texts whose tokens cross a boundary of the cut, or would without it: what the file cannot say."""
    pieces = cut.pieces(texts)
    alone = iter(tokenizer.encode_batch([piece for of_text in pieces for piece in of_text]))
    whole = tokenizer.encode_batch(list(texts))
    return sum(
        encoding.ids != [number for piece in islice(alone, len(of_text)) for number in piece.ids]
        for encoding, of_text in zip(whole, pieces, strict=True)
    )


def save_trained(tokenizer: Tokenizer, given: Sequence[str], folder: str | Path) -> None:
    """Write a folder that `transformers.AutoTokenizer` reads without this library, atomically.

    given: the special tokens, as in `TrainOptions`.
    """
    special = role_special_tokens(given)
    save_with_special_tokens(tokenizer, special.tokens, special.roles, folder)
