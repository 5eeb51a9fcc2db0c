"""Tokenizers of the library `tokenizers`: BPE of characters that it trains, and its form of tokenizers over atoms.

`train_bpe`: BPE on raw or pre-segmented text (Entropy-driven pre-tokenization, section 4.2). In pre-segmented training
text, a space marks each boundary, and no merge crosses it; the tokenizer is then applied to raw text.
`train_byte_level`: BPE of bytes, as GPT-2's.

`bpe_tokenizer` and `unigram_tokenizer`: an atom is one character, such as a private-use one. Ids are those of this
package; [UNK] follows them. Text is neither normalised nor split.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.files import atomic_folder
from tokenlab.core.options import check_choice, option
from tokenlab.tokenizers.alphabet import UNKNOWN, write_tokenizer
from tokenlab.tokenizers.merges import check_merges
from tokenlab.tokenizers.unigram import UnigramModel

PreTokenizer = Literal["whitespace", "punctuation"]
"""`whitespace` splits at whitespace only; `punctuation` also splits punctuation off."""

_WHITESPACE = [chr(point) for point in range(0x3001) if chr(point).isspace()]
_LARGEST_VOCABULARY = 10_000_000


@dataclass(frozen=True)
class BpeOptions:
    """How BPE is trained. Raises ParameterError for a vocabulary of less than 2 or more than ten million entries.

    vocabulary_size: including the alphabet and [UNK]; smaller where no pair is left to merge.
    """

    vocabulary_size: int = option("entries of the vocabulary, the alphabet and [UNK] included", metavar="N")
    pre_tokenizer: PreTokenizer = option("split at whitespace only, or also at punctuation", "whitespace")

    def __post_init__(self) -> None:
        check_choice("pre_tokenizer", self.pre_tokenizer, PreTokenizer)
        if not 2 <= self.vocabulary_size <= _LARGEST_VOCABULARY:
            raise ParameterError(
                f"vocabulary_size is {self.vocabulary_size}; it must be from 2 to {_LARGEST_VOCABULARY:,}"
            )


def train_bpe(texts: Iterable[str], options: BpeOptions) -> Tokenizer:
    """Train BPE on texts in which spaces, if any, are boundaries that no merge may cross.

    Whitespace characters are added after the vocabulary as additional tokens, so that decoding restores every text of
    known characters.

    Raises ParameterError where the vocabulary is smaller than the alphabet, InputError where there is no text.
    """
    splitters = {"whitespace": pre_tokenizers.WhitespaceSplit, "punctuation": pre_tokenizers.Whitespace}
    vocabulary_size = options.vocabulary_size
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = splitters[options.pre_tokenizer]()
    tokenizer.decoder = decoders.Fuse()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary_size, special_tokens=[UNKNOWN], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    smallest = len({character for token in tokenizer.get_vocab() if token != UNKNOWN for character in token}) + 1
    if smallest == 1:
        raise InputError("there is no text to train BPE on")
    if vocabulary_size < smallest:
        raise ParameterError(
            f"vocabulary_size is {vocabulary_size}, smaller than the alphabet with [UNK], {smallest}; use at least that"
        )
    tokenizer.add_tokens([AddedToken(character, normalized=False) for character in _WHITESPACE])
    return tokenizer


def train_byte_level(texts: Iterable[str], vocabulary_size: int, special_tokens: Sequence[str] = ()) -> Tokenizer:
    """Train BPE over all bytes inside the pieces of GPT-2's regular expression.

    vocabulary_size: with the special tokens, which come first, and the bytes; smaller where no pair is left to merge.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=[*special_tokens],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def token_spans(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """For each text the character offsets [start, end) of its tokens, without tokens of whitespace.

    Unknown characters have a span too, so no character is lost.
    """
    return [
        [(start, end) for start, end in encoding.offsets if not text[start:end].isspace()]
        for text, encoding in zip(texts, tokenizer.encode_batch(list(texts), add_special_tokens=False), strict=True)
    ]


def save_tokenizer(
    tokenizer: Tokenizer, folder: str | Path, config: Mapping[str, Any] = MappingProxyType({"unk_token": UNKNOWN})
) -> None:
    """Write a folder that `transformers.AutoTokenizer.from_pretrained` reads without this library, atomically.

    config: as of `write_tokenizer`.
    """
    with atomic_folder(folder) as temporary:
        write_tokenizer(tokenizer, temporary, config)


def save_with_special_tokens(
    tokenizer: Tokenizer, tokens: Sequence[str], roles: Mapping[str, str], folder: str | Path
) -> None:
    """As `save_tokenizer`, with special tokens and the roles of some, such as `eos`; none is put around a text."""
    config: dict[str, object] = {"add_bos_token": False, "add_eos_token": False}
    config |= {f"{role}_token": token for role, token in roles.items()}
    if others := [token for token in tokens if token not in roles.values()]:
        config |= {"additional_special_tokens": others}
    save_tokenizer(tokenizer, folder, config)


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
