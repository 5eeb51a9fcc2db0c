"""Added tokens that are ordinary text: found before the splits, the longest first, from left to right.

The runs of spaces of GPT-NeoX are such tokens. Special tokens (BOS, EOS) are none: text that looks like one is text.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tokenlab.core.errors import InputError
from tokenlab.exact.splits.regex_syntax import SetSource


@dataclass(frozen=True)
class AddedTokens:
    """Added tokens that text can contain.

    texts: the text of each token, by id, in the order of the ids.
    earlier: ids of those that are found before all others: Hugging Face looks for tokens in the raw text first, and for
        those with the option `normalized` in what is left.
    """

    texts: tuple[tuple[int, str], ...]
    earlier: frozenset[int] = frozenset()

    @classmethod
    def from_mapping(cls, texts: Mapping[int, str], earlier: Iterable[int] = ()) -> "AddedTokens":
        """Raises InputError for two ids with the same text, or an empty one."""
        if len(set(texts.values())) < len(texts) or "" in texts.values():
            raise InputError("two added tokens have the same text, or one is empty; remove it")
        return cls(tuple(sorted(texts.items())), frozenset(earlier) & texts.keys())

    def rounds(self) -> list[list[str]]:
        """The texts that are searched for together, in the order of the searches."""
        first = [text for id, text in self.texts if id in self.earlier]
        second = [text for id, text in self.texts if id not in self.earlier]
        return [texts for texts in (first, second) if texts]

    def sources(self) -> list[SetSource]:
        """Sets of characters: each character of an added token is a class of its own."""
        return [SetSource("characters", c) for c in sorted({c for _, text in self.texts for c in text})]


def read_added_tokens(entries: Iterable[Mapping[str, Any]]) -> AddedTokens | None:
    """The `added_tokens` of a tokenizer.json that text can contain, those that are not special; None if there are none.

    Raises InputError for tokens that strip the spaces around them or match whole words only, and for tokens that the
    text of a special token can hide.
    """
    entries = list(entries)
    ordinary = [entry for entry in entries if not entry.get("special")]
    for entry in ordinary:
        for option in ("single_word", "lstrip", "rstrip"):
            if entry.get(option):
                raise InputError(
                    f"the added token {entry['content']!r} has the option {option}: it takes spaces with it, or "
                    "depends on its neighbours; such tokens are not supported"
                )
        for other in entries:
            same_round = bool(other.get("normalized")) == bool(entry.get("normalized"))
            if other.get("special") and same_round and _hides(other["content"], entry["content"]):
                raise InputError(
                    f"the text of the special token {other['content']!r} hides the added token {entry['content']!r}; "
                    "such tokens are not supported"
                )
    earlier = [int(entry["id"]) for entry in ordinary if not entry.get("normalized")]
    return AddedTokens.from_mapping({int(e["id"]): str(e["content"]) for e in ordinary}, earlier) if ordinary else None


def _hides(special: str, text: str) -> bool:
    """Whether a match of `special` can begin before a match of `text`, or with it, and overlap with it."""
    return text in special or any(special.endswith(text[:length]) for length in range(1, len(text)))
