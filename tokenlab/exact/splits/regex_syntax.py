"""Parser for the regular expressions of pre-tokenizers (Oniguruma's Ruby syntax, which `tokenizers` uses).

1. `parse` reads an expression into nodes: sets of characters, sequences, choices, repetitions, look-ahead.
2. `Refusal` lists what cannot be handled: look-behind, anchors but `$` and `\\z`, back-references, atomic groups, and
   possessive repetition or look-ahead of more than one character.

A set of characters keeps its source: the engine of the tokenizer evaluates it (`character_classes`), so that both agree
on the version of Unicode and on the syntax inside brackets.
"""

from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from tokenlab.core.errors import InputError

_PLAIN_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b"}
_SET_ESCAPES = "sSdDwWhH"
_MOST_COPIES = 1000


class SetSource(NamedTuple):
    """A set of characters: `kind` says how `text` is read."""

    kind: str
    """`characters`: those of `text`; `regex`: an expression that matches one character; `digits`, `punctuation`: the
    pre-tokenizer of that name; `not ...`: all others; `end`: no character, but the end of the text"""
    text: str


class Set(NamedTuple):
    """One character of a set."""

    source: SetSource


class Sequence(NamedTuple):
    parts: tuple["Node", ...]


class Choice(NamedTuple):
    """The first of the options that leads to a match."""

    options: tuple["Node", ...]


class Repeat(NamedTuple):
    body: "Node"
    least: int
    most: int | None
    kind: str
    """`greedy`, `lazy` or `possessive` (the body is then a single set)"""


class Look(NamedTuple):
    """The next character is in one of the sets, or not (then the end of the text fits too)."""

    sets: tuple[SetSource, ...]
    negative: bool


Node = Set | Sequence | Choice | Repeat | Look


def parse(expression: str) -> Node:
    """The nodes of an expression. Raises InputError, with the place, for what is not supported."""
    parser = _Parser(expression)
    try:
        node = parser.choice(ignore_case=False)
    except RecursionError:
        raise parser.refusal("groups in too many others") from None
    if parser.position < len(expression):
        raise parser.refusal("a closing bracket without an opening one")
    if nullable(node):
        raise InputError(f"the expression {expression!r} matches the empty text; such splits are not supported")
    return node


def sets_of(node: Node) -> Iterator[SetSource]:
    """The sets of characters in an expression, repeated ones too."""
    match node:
        case Set(source):
            yield source
        case Look(sets, _):
            yield from sets
        case Repeat(body, _, _, _):
            yield from sets_of(body)
        case Sequence(children) | Choice(children):
            for child in children:
                yield from sets_of(child)


def nullable(node: Node) -> bool:
    """Whether an expression can match the empty text."""
    match node:
        case Set():
            return False
        case Look():
            return True
        case Repeat(body, least, _, _):
            return least == 0 or nullable(body)
        case Sequence(parts):
            return all(map(nullable, parts))
        case Choice(options):
            return any(map(nullable, options))


class _Parser:
    """Recursive descent over one expression."""

    def __init__(self, expression: str) -> None:
        self.text = expression
        self.position = 0

    def refusal(self, reason: str) -> InputError:
        return InputError(
            f"the expression {self.text!r} has {reason} (at character {self.position}); such splits are not supported"
        )

    def choice(self, ignore_case: bool) -> Node:
        options = [self.sequence(ignore_case)]
        while self.take("|"):
            options.append(self.sequence(ignore_case))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def sequence(self, ignore_case: bool) -> Node:
        parts: list[Node] = []
        run = ""
        while self.position < len(self.text) and self.text[self.position] not in "|)":
            if self.take("(?i)"):
                if ignore_case:
                    continue
                parts.append(self.choice(ignore_case=True))  # `a(?i)b|c` is `a(?i:b|c)` in Oniguruma
                break
            atom = self.atom(ignore_case)
            if ignore_case and isinstance(atom, Set):
                self.check_folding(atom.source.text)
            node = self.repetition(atom)
            folded = node.source.text.removeprefix("(?i:") if ignore_case and isinstance(node, Set) else None
            run = run + folded[:-1][-1:] if folded is not None and len(folded) <= 3 else ""
            if _folds_to_one(run):
                raise self.refusal(f"{run!r} without regard to case, which matches a single character too")
            parts.append(node)
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def check_folding(self, source: str) -> None:
        """Refuse a set without regard to case that has a character which equals several, alone or in a range."""
        ranges = [(low, high) for low, dash, high in zip(source, source[1:], source[2:], strict=False) if dash == "-"]
        if any(c in source or any(low <= c <= high for low, high in ranges) for c in _foldings()):
            raise self.refusal(f"{source!r}, which matches several characters too")
        if "\\x" in source or "\\u" in source:
            raise self.refusal(f"code points in {source!r}, a set without regard to case")

    def take(self, word: str) -> bool:
        if self.text.startswith(word, self.position):
            self.position += len(word)
            return True
        return False

    def atom(self, ignore_case: bool) -> Node:
        start, character = self.position, self.text[self.position]
        self.position += 1
        if character == "(":
            return self.group(ignore_case)
        if character == "[":
            self.skip_brackets()
            return _set(self.text[start : self.position], ignore_case)
        if character == "\\":
            return self.escape(ignore_case)
        if character == ".":
            return Set(SetSource("regex", "."))
        if character == "$":
            return Look((SetSource("characters", "\n"), SetSource("end", "")), negative=False)
        if character in "*+?^":
            self.position = start
            raise self.refusal("an anchor" if character == "^" else "a quantifier without anything before it")
        return _literal(character, ignore_case)

    def group(self, ignore_case: bool) -> Node:
        if self.take("?=") or self.take("?!"):
            negative = self.text[self.position - 1] == "!"
            look = self.look(self.choice(ignore_case), negative)
            return self.closed(look)
        if self.take("?i:"):
            return self.closed(self.choice(ignore_case=True))
        if self.take("?-i:"):
            return self.closed(self.choice(ignore_case=False))
        if not self.take("?:") and self.text.startswith("?", self.position):
            raise self.refusal(f"the group ({self.text[self.position : self.position + 3]}")
        return self.closed(self.choice(ignore_case))

    def closed(self, node: Node) -> Node:
        if not self.take(")"):
            raise self.refusal("an opening bracket without a closing one")
        return node

    def look(self, node: Node, negative: bool) -> Look:
        options = node.options if isinstance(node, Choice) else (node,)
        sets: list[SetSource] = []
        for option in options:
            if isinstance(option, Set):
                sets.append(option.source)
            elif isinstance(option, Look) and not option.negative:
                sets.extend(option.sets)
            else:
                raise self.refusal("look-ahead of more than one character")
        return Look(tuple(sets), negative)

    def escape(self, ignore_case: bool) -> Node:
        if self.position == len(self.text):
            raise self.refusal("a backslash at its end")
        start, character = self.position - 1, self.text[self.position]
        self.position += 1
        if character in "pP" and self.take("{"):
            self.position = self.text.find("}", self.position) + 1 or len(self.text)
            return _set(self.text[start : self.position], ignore_case=False)
        if character in _SET_ESCAPES:
            return _set(self.text[start : self.position], ignore_case=False)
        if character == "z":
            return Look((SetSource("end", ""),), negative=False)
        if character in "xu":
            return self.code_point(start, character, ignore_case)
        if character in _PLAIN_ESCAPES:
            return _literal(_PLAIN_ESCAPES[character], ignore_case)
        if character.isascii() and character.isalnum():
            raise self.refusal(f"the escape \\{character}")
        return _literal(character, ignore_case)

    def code_point(self, start: int, character: str, ignore_case: bool) -> Node:
        """The escapes \\xHH, \\x{H...} and \\uHHHH."""
        if character == "x" and self.take("{"):
            end = self.text.find("}", self.position)
            digits, self.position = self.text[self.position : end], end + 1
        else:
            width = 2 if character == "x" else 4
            digits, self.position = self.text[self.position : self.position + width], self.position + width
        try:
            return _literal(chr(int(digits, 16)), ignore_case)
        except ValueError:
            self.position = start
            raise self.refusal("a broken code point") from None

    def skip_brackets(self) -> None:
        """Move behind the bracket that closes a set, over nested ones."""
        depth, first = 1, True
        self.take("^")
        while depth:
            if self.position >= len(self.text):
                raise self.refusal("a set without its closing bracket")
            character = self.text[self.position]
            self.position += 2 if character == "\\" else 1
            if character == "[":
                depth += 1
            elif character == "]" and not first:
                depth -= 1
            first = False

    def repetition(self, node: Node) -> Node:
        while self.position < len(self.text):
            bounds = self.bounds()
            if bounds is None:
                return node
            least, most, written = bounds
            # In Ruby's syntax X{1,3}+ is not possessive but (X{1,3})+, and X{2}? not lazy but (X{2})?: the loop reads
            # the second sign next.
            kind = "lazy" if written != "count" and self.take("?") else "greedy"
            if kind == "greedy" and written == "sign" and self.take("+"):
                kind = "possessive"
            if kind == "possessive" and not isinstance(node, Set):
                raise self.refusal("possessive repetition of more than a set of characters")
            if isinstance(node, Look) or nullable(node):
                raise self.refusal("repetition of what can be empty")
            if most is not None and most < least:
                raise self.refusal(f"a repetition of at least {least} and at most {most} times")
            if max(least, most or 0) > _MOST_COPIES:
                raise self.refusal(f"a repetition of more than {_MOST_COPIES} times")
            node = Repeat(node, least, most, kind)
        return node

    def bounds(self) -> tuple[int, int | None, Literal["sign", "range", "count"]] | None:
        """(least, most, how it is written) of a quantifier here, None where there is none."""
        for sign, least, most in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self.take(sign):
                return least, most, "sign"
        end = self.text.find("}", self.position)
        if not self.text.startswith("{", self.position) or end < 0:
            return None
        low, comma, high = self.text[self.position + 1 : end].partition(",")
        if not (low + high).isdecimal() or not (low + high).isascii():
            return None
        self.position = end + 1
        least = int(low or 0)
        return (least, int(high) if high else None, "range") if comma else (least, least, "count")


def _set(source: str, ignore_case: bool) -> Set:
    return Set(SetSource("regex", f"(?i:{source})" if ignore_case else source))


def _literal(character: str, ignore_case: bool) -> Set:
    if not ignore_case:
        return Set(SetSource("characters", character))
    escaped = "\\" + character if character.isascii() and not character.isalnum() else character
    return Set(SetSource("regex", f"(?i:{escaped})"))


def _folds_to_one(run: str) -> bool:
    """Whether a single character equals the last characters of `run` without regard to case, as 'ß' equals 'ss'."""
    return any(len(run) >= n and run[-n:].casefold() in _foldings().values() for n in (2, 3))


@cache
def _foldings() -> dict[str, str]:
    """The characters that fold to several, and what they fold to."""
    return {c: folded for c in map(chr, range(0x20000)) if len(folded := c.casefold()) > 1}
