"""Options of a tokenizer that is trained, and its special tokens."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, option
from tokenlab.tokenizers.export.options import ROLES, SpecialTokens, parse_special_tokens

TrainModel = Literal["bpe", "unigram"]
Bytes = Literal["auto", "level", "fallback"]
CUTS = ("auto", "words", "statistics", "gpt2", "llama3", "whitespace", "none")
LEARNED_CUTS = ("words", "statistics")
WORDS_FILE = ".words"
"""End of the name of a word model's file, as a cut."""
LARGEST_VOCABULARY = 10_000_000
BYTE_LIKE = re.compile(r"<0x(?:[0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>")
"""What the decoder of byte fallback reads as a byte, in whatever case, and with a sign."""


@dataclass(frozen=True)
class TrainOptions:
    """What is trained.

    vocabulary: several sizes come from one training; special tokens, bytes and alphabet are included.

    bytes: `level`: the alphabet is the 256 bytes, under their names of GPT-2; `fallback`: it is the most frequent
    characters, which are `coverage` of the text, and 256 byte tokens spell all others; `auto`: as `with_alphabet`
    chooses.

    Raises ParameterError for sizes that do not ascend or are out of range, and for special tokens as
    `role_special_tokens`.
    """

    vocabulary: tuple[int, ...] = option("entries of the vocabulary; one training gives several sizes", (32_000,))
    model: TrainModel = option("byte-pair encoding, or a unigram model, whose pieces are up to 16 symbols long", "bpe")
    byte_tokens: Bytes = option(
        "level: tokens are made of bytes; fallback: of characters, and rare characters are spelled as bytes; auto: "
        "fallback with --cut auto for a unigram model, and for text that is mostly of scripts without spaces, if the "
        "vocabulary is large enough; else level",
        "auto",
        flag="--bytes",
    )
    coverage: float = option(
        "with characters as alphabet: the share of the text whose characters are in it", 0.9995, metavar="X"
    )
    special_tokens: tuple[str, ...] = option(
        f"special tokens: ROLE=TOKEN (roles: {', '.join(ROLES)}), or a token without a role",
        ("pad=<|pad|>", "eos=<|endoftext|>"),
        metavar="TOKEN",
    )

    def __post_init__(self) -> None:
        check_choice("model", self.model, TrainModel)
        check_choice("byte_tokens", self.byte_tokens, Bytes)
        sizes = self.vocabulary
        if not sizes or list(sizes) != sorted(set(sizes)) or not 1 <= sizes[0] <= sizes[-1] <= LARGEST_VOCABULARY:
            named = " ".join(map(str, sizes)) or "empty"
            raise ParameterError(f"vocabulary is {named}; name ascending sizes from 1 to {LARGEST_VOCABULARY:,}")
        if not 0 < self.coverage <= 1:
            raise ParameterError(f"coverage is {self.coverage:g}; it must be above 0 and at most 1")
        role_special_tokens(self.special_tokens)


def role_special_tokens(given: Sequence[str]) -> SpecialTokens:
    """Read ROLE=TOKEN and TOKEN; unlike in an export, there is an unknown token only where one is named.

    Raises ParameterError as `parse_special_tokens`, for a role that is none, and for a token that looks like a byte:
    <0x41>, <0x4a>, or a single character.
    """
    special = parse_special_tokens(given)
    for item in given:
        role, equals, _ = item.partition("=")
        if equals and role.isidentifier() and role not in ROLES:
            raise ParameterError(f"special_tokens has {item!r}, but {role!r} is no role; use one of {', '.join(ROLES)}")
    tokens = special.tokens if "unk" in special.roles else special.tokens[1:]
    for token in tokens:
        if len(token) == 1 or BYTE_LIKE.fullmatch(token):
            raise ParameterError(f"special_tokens has {token!r}, which looks like a byte or a character; name another")
    return SpecialTokens(tokens, special.roles)
