"""Options of the export, its special tokens, and what it cannot express."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import check_choice, check_least, option

if TYPE_CHECKING:
    from tokenlab.segment.options import SegmentOptions


ROLES = ("unk", "bos", "eos", "pad", "sep", "cls", "mask")
UNKNOWN = "<|unk|>"
ExportModel = Literal["unigram", "bpe"]
ExportFormat = Literal["tokenizer.json", "sentencepiece"]
SPECIAL_TOKENS = ("unk=<|unk|>", "pad=<|pad|>", "eos=<|endoftext|>")
BPE_SIZE = 30_000
"""Entries of a BPE vocabulary where no number is given."""


class SpecialTokens(NamedTuple):
    """The unknown token first, then the others in the order given; ids are the places in this order."""

    tokens: tuple[str, ...]
    roles: dict[str, str]
    """Role -> token, for the roles that were given."""


def parse_special_tokens(given: Sequence[str]) -> SpecialTokens:
    """Read ROLE=TOKEN and TOKEN; one token may have several roles.

    Raises ParameterError for an empty token, a token with whitespace at an end, a role given twice, and a token given
    twice without a role.
    """
    if isinstance(given, str):
        raise ParameterError("special_tokens is one string; name each token on its own")
    tokens: dict[str, None] = {}
    roles: dict[str, str] = {}
    for item in given:
        role, equals, named = item.partition("=")
        token = named if equals and role in ROLES else item
        if not token or token != token.strip():
            raise ParameterError(f"special_tokens has {item!r}; a token is not empty and has no whitespace at its ends")
        if token == item and token in tokens:
            raise ParameterError(f"special_tokens has {token!r} twice; name it once")
        if token != item:
            if role in roles:
                raise ParameterError(f"special_tokens has two tokens for {role}; name one")
            roles[role] = token
        tokens[token] = None
    unknown = roles.get("unk", UNKNOWN)
    return SpecialTokens((unknown, *(token for token in tokens if token != unknown)), roles)


@dataclass(frozen=True)
class ExportOptions:
    """What is exported, and in which format.

    model: `unigram` segments as the segmenter does; `bpe` has merges trained on the segmenter's words.

    vocabulary_size: special tokens, bytes and alphabet included. Without it, a unigram vocabulary has every segment
    of the training text, and a BPE vocabulary 30,000 entries.

    special_tokens: ROLE=TOKEN, with a role of `unk`, `bos`, `eos`, `pad`, `sep`, `cls`, `mask`, or a token without a
    role. The ids are in this order, after that of the unknown token, which is <|unk|> where none is named. The default
    tokens do not look like markup, so that no text of a user contains one by accident.
    """

    to: ExportFormat = option(
        "a folder with a tokenizer.json for tokenizers and transformers, or a file for sentencepiece", "tokenizer.json"
    )
    model: ExportModel = option(
        "unigram: the segmenter's words with scores, which segments as it does; bpe: BPE trained on its words",
        "unigram",
    )
    vocabulary_size: int | None = option(
        "entries of the vocabulary; the most frequent segments are kept (default: all segments; 30000 for bpe)",
        None,
        metavar="N",
        aliases=("--vocabulary",),
    )
    special_tokens: tuple[str, ...] = option(
        "special tokens: ROLE=TOKEN (roles: unk, bos, eos, pad, sep, cls, mask), or a token without a role. No text "
        "gets one by itself",
        SPECIAL_TOKENS,
        metavar="TOKEN",
    )

    def __post_init__(self) -> None:
        check_choice("to", self.to, ExportFormat)
        check_choice("model", self.model, ExportModel)
        check_least("vocabulary_size", self.vocabulary_size, 1)
        parse_special_tokens(self.special_tokens)
        if self.to == "sentencepiece" and self.model == "bpe":
            raise ParameterError(
                "model is 'bpe'; only unigram is exported to sentencepiece, so use it, or tokenizer.json"
            )


def check_expressible(options: "SegmentOptions") -> None:
    """Check that a sum of scores of pieces can express the segmenter.

    Raises ParameterError naming the option that prevents it.
    """
    if options.single_character == "fallback":
        raise ParameterError(
            "single_character is 'fallback', which is no score of a piece; export with `literal`, `self` or a number"
        )
    if options.decoder != "viterbi":
        raise ParameterError(
            f"decoder is {options.decoder!r}; a tokenizer maximises a sum of scores, so export with decoder `viterbi`"
        )
