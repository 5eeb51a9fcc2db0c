"""Tokenizers over atoms as Hugging Face tokenizers, in which an atom is one character, such as a private-use one.

Ids are those of this package; [UNK] follows them. Text is neither normalised nor split.
"""

from collections.abc import Sequence

import numpy as np
from tokenizers import Tokenizer, decoders, models

from tokenlab.core.errors import ParameterError
from tokenlab.tokenizers.bpe import UNKNOWN
from tokenlab.tokenizers.merges import check_merges
from tokenlab.tokenizers.unigram import UnigramModel


def bpe_tokenizer(merges: np.ndarray, alphabet_characters: Sequence[str]) -> Tokenizer:
    """The BPE tokenizer that encodes a string as `tokenize` does its atoms.

    Args:
        merges: int32[merges, 2] of `bpe_sweep`, or the first of them.
        alphabet_characters: the character of each symbol.

    Raises ParameterError where the merges are not over this alphabet, an entry is not one character or is there twice,
    or a token spells [UNK].
    """
    spelled = _alphabet(alphabet_characters)
    pairs = []
    for left, right in check_merges(merges, len(spelled)).tolist():
        pairs.append((spelled[left], spelled[right]))
        spelled.append(spelled[left] + spelled[right])
    vocabulary = {token: i for i, token in enumerate(_with_unknown(spelled))}
    tokenizer = Tokenizer(models.BPE(vocabulary, pairs, unk_token=UNKNOWN))
    tokenizer.decoder = decoders.Fuse()
    return tokenizer


def unigram_tokenizer(model: UnigramModel, alphabet_characters: Sequence[str]) -> Tokenizer:
    """The unigram tokenizer that encodes a string as `unigram_tokenize` does its atoms.

    Args:
        model: one of the models of `unigram_sweep`.
        alphabet_characters: the character of each symbol.

    Raises ParameterError where a piece has a symbol beyond the alphabet, an entry is not one character or is there
    twice, or a piece spells [UNK].
    """
    alphabet = _alphabet(alphabet_characters)
    if model.symbols.max(initial=-1) >= len(alphabet):
        raise ParameterError(f"alphabet_characters: {len(alphabet)} for pieces with symbol {model.symbols.max()}")
    spelled = _with_unknown(["".join(alphabet[symbol] for symbol in piece) for piece in model.pieces()])
    scores = model.log_probabilities.tolist()
    pieces = list(zip(spelled, [*scores, min(scores)], strict=True))
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=len(scores)))
    tokenizer.decoder = decoders.Fuse()
    return tokenizer


def _alphabet(characters: Sequence[str]) -> list[str]:
    wrong = [character for character in characters if len(character) != 1]
    if wrong:
        raise ParameterError(f"alphabet_characters: {wrong[0]!r} is not one character; name one for each symbol")
    if len(set(characters)) < len(characters):
        raise ParameterError("alphabet_characters: a character stands for two symbols; name a different one for each")
    return list(characters)


def _with_unknown(tokens: list[str]) -> list[str]:
    if len(set(tokens)) < len(tokens):
        raise ParameterError("two tokens are spelled the same, which a sweep never does; pass the result of a sweep")
    if UNKNOWN in tokens:
        raise ParameterError(f"a token spells {UNKNOWN}, the name of the unknown token; use other characters for it")
    return [*tokens, UNKNOWN]
