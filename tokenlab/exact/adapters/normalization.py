"""What a tokenizer does to a text before it looks for tokens: exact, or several texts become one.

What SentencePiece does with spaces is exact: one before the text, and U+2581 for each. After a normaliser that
makes two texts equal there are no exact character probabilities: the tokens do not say which text they stand for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokenlab.exact.adapters.real import UnsupportedTokenizer
from tokenlab.formats.pieces import SPACE

if TYPE_CHECKING:
    from tokenizers.normalizers import Normalizer

PAIRS = (
    ("e\u0301", "\u00e9"),
    ("A", "a"),
    ("\u00e9", "e"),
    ("\uff21", "A"),
    ("\u2460", "1"),
    (" a", "a"),
    ("a ", "a"),
    ("a  b", "a b"),
    ("a\n", "a"),
    ("a\nb", "a b"),
    ("a\tb", "a b"),
    ("a\u00a0b", "a b"),
    ("a\u200db", "ab"),
    ("a\u0000b", "ab"),
    ("``", '"'),
    ("''", '"'),
)
"""Two texts each that usual normalisers make equal."""

HOW_TO_IGNORE = "leave it out with --ignore-normalizer if all texts are normalised already"
"""What to do about a normaliser that is refused; in Python, the option is `ignore_normalizer`."""


@dataclass
class Preparation:
    """What is done to a text, and what of it is kept.

    Attributes:
        prefix: bytes put before a text.
        spaces: whether a space becomes U+2581, so that no text holds that character.
        kept: the entries of the normaliser that are kept.
        ignored: names of the entries that are left out.
    """

    prefix: bytes = b""
    spaces: bool = False
    kept: list[dict[str, Any]] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


def preparation(normalizer: dict[str, Any] | None, *, ignore: bool, example: str) -> Preparation:
    """Sort the entries of a normaliser (as in tokenizer.json) into exact ones and others.

    Raises UnsupportedTokenizer with `example` for others, unless they are to be ignored.
    """
    result = Preparation()
    for entry in _entries(normalizer):
        kind = entry.get("type")
        if kind == "Prepend" and entry.get("prepend") == SPACE and not result.prefix:
            result.prefix = b" "
        elif kind == "Replace" and entry.get("pattern") == {"String": " "} and entry.get("content") == SPACE:
            result.spaces = True
        elif not ignore:
            raise UnsupportedTokenizer(f"the normaliser {kind} changes the text: {example}; {HOW_TO_IGNORE}")
        else:
            result.ignored.append(str(kind))
            continue
        result.kept.append(entry)
    if result.prefix and not result.spaces:
        raise UnsupportedTokenizer(
            f"the normaliser puts {SPACE} before a text but keeps spaces: {SPACE}a stands for two"
        )
    return result


def collision(normalizer: "Normalizer | None", pairs: Sequence[tuple[str, str]] = PAIRS) -> str:
    """Two texts that a normaliser makes equal, in words; "" without a normaliser."""
    if normalizer is None:
        return ""
    for one, other in pairs:
        result = normalizer.normalize_str(one)
        if result == normalizer.normalize_str(other):
            return f"{one!a} and {other!a} both become {result!a}"
    return "no two equal results were found, but this normaliser is not known to keep texts apart"


def _entries(normalizer: dict[str, Any] | None) -> list[dict[str, Any]]:
    if normalizer is None:
        return []
    if normalizer.get("type") == "Sequence":
        return [entry for part in normalizer.get("normalizers", []) for entry in _entries(part)]
    return [normalizer]
