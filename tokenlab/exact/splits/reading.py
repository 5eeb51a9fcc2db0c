"""Pre-tokenizers of `tokenizer.json` as expressions whose matches, and the text between them, are the pieces.

Before the splits, added tokens that are ordinary text are found, the longest first, from left to right. The runs of
spaces of GPT-NeoX are such tokens. Special tokens (BOS, EOS) are none: text that looks like one is text.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tokenlab.core.errors import InputError
from tokenlab.exact.splits.character_classes import CharacterClasses
from tokenlab.exact.splits.regex_machine import BREAK, GAP, Level, SplitMachine, compile_expression
from tokenlab.exact.splits.regex_syntax import Choice, Node, Repeat, Sequence, Set, SetSource, parse, sets_of
from tokenlab.formats.hugging_face import steps
from tokenlab.formats.ranks import GPT2

Splits = tuple[Node, ...]
"""The splits of a pre-tokenizer, in their order: each divides the pieces of the one before."""


def read_splits(pre_tokenizer: dict[str, Any] | None) -> Splits:
    """The splits of the `pre_tokenizer` of a tokenizer.json.

    Raises InputError, with the reason and if possible an example, for what cannot be handled exactly.
    """
    if pre_tokenizer is None:
        return ()
    kind = pre_tokenizer.get("type")
    if kind == "Sequence":
        parts = pre_tokenizer["pretokenizers"]
        if any(step.get("type") == "ByteLevel" for part in parts[:-1] for step in steps(part)):
            raise InputError(
                "the pre-tokenizer ByteLevel comes before others, which then see bytes in place of the text"
            )
        return tuple(node for part in parts for node in read_splits(part))
    readers: dict[str, Callable[[dict[str, Any]], Splits]] = {
        "Split": _split,
        "ByteLevel": _byte_level,
        "Digits": _digits,
        "Punctuation": _punctuation,
        "Metaspace": _metaspace,
    }
    if kind in readers:
        return readers[kind](pre_tokenizer)
    if kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "CharDelimiterSplit"):
        raise InputError(
            f"the pre-tokenizer {kind} drops white space: 'a b' and 'a  b' have the same tokens, so no sequence of "
            "tokens has the probability of a text"
        )
    raise InputError(f"the pre-tokenizer {kind!r} is not supported")


def _split(settings: dict[str, Any]) -> Splits:
    pattern, behavior = settings["pattern"], settings["behavior"]
    if "String" in pattern:
        if not pattern["String"]:
            raise InputError("the pre-tokenizer splits at an empty string; such splits are not supported")
        expression = re.escape(pattern["String"])
        characters = [Set(SetSource("characters", character)) for character in pattern["String"]]
        node: Node = characters[0] if len(characters) == 1 else Sequence(tuple(characters))
    else:
        expression = pattern["Regex"]
        node = parse(expression)
    if behavior == "Removed" and settings.get("invert"):
        _check_covers(node, expression)
        return (node,)
    return (_divided(node, behavior, f"the split by {expression!r}", bool(settings.get("invert"))),)


def _divided(node: Node, behavior: str, name: str, invert: bool = False) -> Node:
    """An expression whose matches and gaps are the pieces of a split with this behaviour."""
    if behavior == "Isolated":
        return node
    if behavior == "Removed":
        raise InputError(f"{name} removes text, so several texts have the same tokens")
    body = node.body if isinstance(node, Repeat) and node.least == 1 and node.most is None else node
    if not isinstance(body, Set) or invert:
        raise InputError(f"{name} has the behaviour {behavior}, which is supported for single characters only")
    if behavior == "Contiguous":
        return Repeat(body, 1, None, "greedy")
    if isinstance(node, Repeat):
        raise InputError(f"{name} has the behaviour {behavior}, which is supported for single characters only")
    others = _complement(body)
    if behavior == "MergedWithPrevious":
        return Choice((Sequence((Repeat(others, 0, None, "greedy"), body)), Repeat(others, 1, None, "greedy")))
    if behavior == "MergedWithNext":
        return Choice((Sequence((body, Repeat(others, 0, None, "greedy"))), Repeat(others, 1, None, "greedy")))
    raise InputError(f"{name} has the behaviour {behavior!r}, which is not supported")


def _complement(characters: Set) -> Set:
    kind, text = characters.source
    return Set(SetSource(kind[4:] if kind.startswith("not ") else f"not {kind}", text))


_SPACE_BEFORE = (
    "'a' and ' a' have the same tokens; leave it out with --ignore-normalizer if all texts have their space already"
)


def _byte_level(settings: dict[str, Any]) -> Splits:
    """It has the expression of GPT-2 built in."""
    if settings.get("add_prefix_space", True):
        raise InputError(f"the pre-tokenizer adds a space before the text: {_SPACE_BEFORE}")
    return (parse(GPT2),) if settings.get("use_regex", True) else ()


def _digits(settings: dict[str, Any]) -> Splits:
    digit = Set(SetSource("digits", ""))
    return (digit if settings.get("individual_digits") else Repeat(digit, 1, None, "greedy"),)


def _punctuation(settings: dict[str, Any]) -> Splits:
    behavior = settings.get("behavior", "Isolated")
    return (_divided(Set(SetSource("punctuation", "")), behavior, "the pre-tokenizer Punctuation"),)


def _metaspace(settings: dict[str, Any]) -> Splits:
    """The replacement of the space stands for a space, as it does in the bytes of the tokens."""
    if settings.get("prepend_scheme", "always") != "never":
        raise InputError(f"the pre-tokenizer Metaspace adds a space before the text: {_SPACE_BEFORE}")
    if not settings.get("split", True):
        return ()
    return (_divided(Set(SetSource("characters", " ")), "MergedWithNext", "the pre-tokenizer Metaspace"),)


def _check_covers(node: Node, expression: str) -> None:
    """Raise InputError where some text has a part that no match covers: such parts are dropped."""
    classes = CharacterClasses(sets_of(node))
    machine = SplitMachine([Level(compile_expression(node, classes), classes.end)], classes.count)
    for c in machine.classes:
        if any(machine.level_states(state)[0].kind == GAP for state in machine.next(machine.start, c, BREAK)):
            raise InputError(
                f"the expression {expression!r} does not match all text, and the rest is dropped: for example a text "
                f"that begins with {classes.example(c)!r}"
            )


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
