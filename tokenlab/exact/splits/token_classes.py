"""Tokens as classes of characters, grouped, so that the splits read each string of classes once.

1. `TokenClasses`: each token is a *head* (bytes that finish a character begun before), whole characters, and a *tail*
   (the first bytes of a character). Tokens with the same classes and the same tail are a group; the strings of classes
   form a trie.
2. `after`: the set of split states after each string, the trie level by level.
"""

import sys
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.exact.splits.character_classes import CharacterClasses, code_points_beginning_with
from tokenlab.exact.splits.split_states import CONTINUE, SplitSets
from tokenlab.exact.vocabulary import Vocabulary


class Parts(NamedTuple):
    """A token divided at the borders of characters."""

    head: bytes
    classes: tuple[int, ...]
    tail: bytes


class TokenClasses:
    """The tokens of a vocabulary as classes of characters.

    Attributes:
        group: int32[positions] the group of each token; group 0 holds those that no text has.
        node: int32[groups] the string of classes of a group, as a node of the trie.
        characters: int64[groups] number of whole characters.
        tails: the tail of each group.
        headed: int64[] positions of the tokens with a head.
        heads: their heads.
    """

    def __init__(self, vocabulary: Vocabulary, classes: CharacterClasses) -> None:
        self.classes = classes
        self._trie: dict[tuple[int, int], int] = {}
        self._parent, self._class, self._depth = [0], [0], [0]
        groups: dict[tuple[int, bytes], int] = {(0, b"\xff"): 0}
        self._node_of_text: dict[bytes, int] = {b"": 0}
        self.group = np.zeros(len(vocabulary), np.int32)
        headed, heads = [], []
        cuts = [_cut(vocabulary.spelling(position)) for position in range(len(vocabulary))]
        strings = self._class_strings([cut[1] if cut else "" for cut in cuts])
        for position, (cut, string) in enumerate(zip(cuts, strings, strict=True)):
            node = self._plant(string) if cut else -1
            if cut is None or node < 0 or (cut[2] and not classes.pending(cut[2])):
                continue
            key = (node, cut[2])
            self.group[position] = groups.setdefault(key, len(groups))
            if cut[0]:
                headed.append(position)
                heads.append(cut[0])
        self.node = np.array([node for node, _ in groups], np.int32)
        self.tails = [tail for _, tail in groups]
        self.tails[0] = b""
        self.tailed = np.array([bool(tail) for tail in self.tails])
        self.headed, self.heads = np.array(headed, np.int64), heads
        self.without_head = np.ones(len(vocabulary), np.bool_)
        self.without_head[self.headed] = False
        self._parents, self._last = np.array(self._parent), np.array(self._class, np.uint16)
        depth = np.array(self._depth)
        self.characters = depth[self.node]
        self._levels = [np.flatnonzero(depth == d) for d in range(1, int(depth.max()) + 1)]

    def parts(self, token: bytes) -> Parts | None:
        """A token divided; None for bytes that no text has."""
        cut = _cut(token)
        if cut is None:
            return None
        classes = tuple(self.classes.of(cut[1]))
        if 0 in classes or (cut[2] and not self.classes.pending(cut[2])):
            return None
        return Parts(cut[0], classes, cut[2])

    def after(self, sets: SplitSets, start: int, kind: int) -> NDArray[np.int32]:
        """int32[groups] the set of split states after the whole characters of each group, 0 where there is none.

        The first character is read as `kind` says. For groups of a tail alone: `start`.
        """
        reached = np.zeros(len(self._parents), np.int32)
        reached[0] = start
        for depth, nodes in enumerate(self._levels):
            before = reached[self._parents[nodes]]
            reached[nodes] = sets.next_all(before, self._last[nodes], CONTINUE if depth else kind)
        found = reached[self.node]
        found[0] = 0
        return found

    def _class_strings(self, texts: list[str]) -> list[bytes]:
        """The classes of the characters of each text, two bytes for each."""
        points = np.frombuffer("".join(texts).encode("utf-32-le"), "<u4")
        joined = self.classes.table[points].tobytes()
        ends = np.cumsum([2 * len(text) for text in texts]).tolist()
        return [joined[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def _plant(self, string: bytes) -> int:
        """The node of a string of classes, -1 where a class cannot occur."""
        known = self._node_of_text.get(string)
        if known is not None:
            return known
        parent = self._plant(string[:-2])
        last = int.from_bytes(string[-2:], sys.byteorder)
        node = -1
        if parent >= 0 and last:
            node = len(self._parent)
            self._parent.append(parent)
            self._class.append(last)
            self._depth.append(self._depth[parent] + 1)
        self._node_of_text[string] = node
        return node


def _cut(token: bytes) -> tuple[bytes, str, bytes] | None:
    """Head, whole characters and tail of a token; None where it is part of no UTF-8."""
    try:
        return b"", token.decode(), b""
    except UnicodeDecodeError:
        pass
    start = 0
    while start < len(token) and token[start] & 0xC0 == 0x80:
        start += 1
    if start > 3:
        return None
    end = next((i for i in range(len(token) - 1, start - 1, -1) if token[i] >= 0xC0), len(token))
    tail = token[end:]
    if tail and not is_incomplete(tail):
        end, tail = len(token), b""
    try:
        return token[:start], token[start:end].decode(), tail
    except UnicodeDecodeError:
        return None


@lru_cache(maxsize=4096)
def is_incomplete(first: bytes) -> bool:
    """Whether some bytes are the beginning of a character, not all of it."""
    low, high = code_points_beginning_with(first)
    return high - low > 1 or (high > low and len(chr(low).encode("utf-8", "surrogatepass")) > len(first))
