"""Characters that no set of the expressions tells apart, as classes.

1. `members`: each set over all of Unicode, evaluated by the engine of the tokenizer itself.
2. `CharacterClasses`: the partition of the code points by all sets; a set becomes a bit mask over classes, and the end
   of the text is one more bit.
3. Incomplete characters: the classes that the first bytes of a character leave open.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.exact.splits.regex_syntax import SetSource
from tokenlab.exact.utf8 import CODE_POINTS, SURROGATES, code_points_beginning_with

# Planes 4-13 are unassigned and 15-16 private: all code points of such a plane but its last two are alike, in every
# version of Unicode, unless an expression names one of them. Leaving them out makes a set 4 times as fast (0.14 s).
_SPARSE = (*range(0x4, 0xE), 0xF, 0x10)
_SETS_KEPT = 64
_CONTROLS = {r"\n": "\n", r"\r": "\r", r"\t": "\t"}
_PLAIN = r"[^\\\[\]-]|\\[nrt]|\\[^\w\s]"
_ITEM = re.compile(rf"(?P<property>\\s|\\p\{{[LMNPS]\}})|(?P<low>{_PLAIN})(?:-(?P<high>{_PLAIN}))?")


def members(source: SetSource) -> NDArray[np.bool_]:
    """bool[0x110000] the code points of a set; surrogates are in none. Raises InputError for what does not parse."""
    if source.kind == "characters":
        found = np.zeros(CODE_POINTS, np.bool_)
        found[[ord(character) for character in source.text]] = True
        return found
    if source.kind == "end":
        return np.zeros(CODE_POINTS, np.bool_)
    if source.kind.startswith("not "):
        return _others(members(SetSource(source.kind.removeprefix("not "), source.text)))
    return _evaluated(source)


def _others(found: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """bool[0x110000] the code points that are not in a set; surrogates are in none."""
    others = ~found
    others[slice(*SURROGATES)] = False
    return others


@lru_cache(maxsize=_SETS_KEPT)
def _evaluated(source: SetSource) -> NDArray[np.bool_]:
    negated = {"\\S": "\\s", "\\D": "\\d", "\\W": "\\w"}.get(source.text)
    if negated is None and source.text.startswith("\\P{") and not source.text.startswith("\\P{^"):
        negated = "\\p{" + source.text[3:]
    if source.kind == "regex" and negated:
        return _others(_evaluated(SetSource("regex", negated)))
    combined = _combined(source.text) if source.kind == "regex" and source.text.startswith("[") else None
    if combined is not None:
        return combined
    everything = any(ord(character) >= 0x40000 for character in source.text) or "\\x{" in source.text
    points = _all_points() if everything else _dense_points()
    if source.kind == "regex" and source.text.startswith("(?i:") and not source.text.startswith("(?i:["):
        points = np.flatnonzero(_with_case())
    found = np.zeros(CODE_POINTS, np.bool_)
    found[points] = _matched(source, points)
    if not everything:
        for plane in _SPARSE:
            found[plane << 16 : (plane + 1 << 16) - 2] = found[plane << 16]
    found.setflags(write=False)
    return found


def _combined(text: str) -> NDArray[np.bool_] | None:
    """The members of a set in brackets that has nothing but characters, ranges and usual properties; None for others.

    Sets of real tokenizers share a few properties, and the engine is slow.
    """
    negative, rest = text.startswith("[^"), text[:-1].removeprefix("[").removeprefix("^")
    if not rest or "&&" in rest:
        return None
    found = np.zeros(CODE_POINTS, np.bool_)
    while rest:
        item = _ITEM.match(rest)
        if item is None:
            return None
        rest = rest[item.end() :]
        if item["property"]:
            found |= _evaluated(SetSource("regex", item["property"]))
            continue
        low = ord(_CONTROLS.get(item["low"], item["low"][-1]))
        high = ord(_CONTROLS.get(item["high"], item["high"][-1])) if item["high"] else low
        if high < low:
            return None
        found[low : high + 1] = True
    found[slice(*SURROGATES)] = False
    return _others(found) if negative else found


@lru_cache(maxsize=1)
def _with_case() -> NDArray[np.bool_]:
    """bool[0x110000] the code points that can equal another one, or that are ASCII: (?i:x) need look no further."""
    found = _evaluated(SetSource("regex", "[\\p{L}\\p{M}\\p{N}\\p{S}]")).copy()
    found[:128] = True
    return found


@lru_cache(maxsize=1)
def _all_points() -> NDArray[np.int64]:
    points = np.arange(CODE_POINTS)
    return points[(points < SURROGATES[0]) | (points >= SURROGATES[1])]


@lru_cache(maxsize=1)
def _dense_points() -> NDArray[np.int64]:
    points = _all_points()
    low = points & 0xFFFF
    return points[~np.isin(points >> 16, _SPARSE) | (low == 0) | (low >= 0xFFFE)]


def _matched(source: SetSource, points: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[points]: those that the tokenizer's engine finds in the set."""
    from tokenizers import Regex, pre_tokenizers

    splitter: pre_tokenizers.PreTokenizer
    if source.kind == "digits":
        splitter = pre_tokenizers.Digits(individual_digits=False)
    elif source.kind == "punctuation":
        splitter = pre_tokenizers.Punctuation("contiguous")
    else:
        try:
            splitter = pre_tokenizers.Split(Regex(f"(?:{source.text})+"), "removed")
        except Exception as error:
            raise InputError(f"the set of characters {source.text!r} is not valid: {error}") from None
    text = points.astype("<u4").tobytes().decode("utf-32-le")
    found = np.ones(len(points), np.bool_)
    pieces = splitter.pre_tokenize_str(text)
    if source.kind == "regex":
        for _, (start, end) in pieces:
            found[start:end] = False
        return found
    for piece, (start, end) in pieces:
        # Runs that match and runs that do not alternate; a piece is one or the other.
        found[start:end] = bool(splitter.pre_tokenize_str(f"{piece[0]}\x00")[0][0] == piece[0])
    return found


class CharacterClasses:
    """The partition of all code points by some sets.

    Attributes:
        table: uint16[0x110000] the class of each code point.
        count: number of classes; class 0 holds what cannot occur.
        end: the bit of the end of the text.
        everything: the bits of all classes that can occur, and of the end.
    """

    def __init__(self, sources: Iterable[SetSource], tokens: Iterable[bytes | None] | None = None) -> None:
        """tokens: the characters of texts are those that are a token, and those whose bytes are; all by default."""
        self.sources = tuple(dict.fromkeys(sources))
        sets = [members(source) for source in self.sources]
        possible = _encodable(bytes([byte]) for byte in range(256)) if tokens is None else _encodable(tokens)
        signature = np.zeros(CODE_POINTS, np.int64)
        classes = possible.astype(np.int64)
        for start in range(0, len(sets), 40):
            signature[:] = classes
            for found in sets[start : start + 40]:
                signature = signature << 1 | found
            signature[~possible] = 0
            distinct, classes = np.unique(signature, return_inverse=True)
            if distinct[0] != 0:
                classes = classes + 1
        self.table = classes.reshape(-1).astype(np.uint16)
        self.count = int(self.table.max()) + 1
        self.end = 1 << self.count
        self.everything = self.end | (self.end - 2)
        self._masks: dict[SetSource, int] = {}
        for source, found in zip(self.sources, sets, strict=True):
            self._masks[source] = sum(1 << c for c in np.unique(self.table[found]).tolist() if c)
            if source.kind == "end":
                self._masks[source] = self.end
        self.pending = lru_cache(maxsize=4096)(self._pending)

    def mask(self, source: SetSource) -> int:
        """The classes of a set as bits."""
        return self._masks[source]

    def of(self, text: str) -> list[int]:
        """The class of each character."""
        return [int(self.table[ord(character)]) for character in text]

    def _pending(self, first: bytes) -> int:
        """The classes, as bits, of the characters whose encoding begins with `first` and is longer; 0 for none."""
        low, high = code_points_beginning_with(first)
        return sum(1 << c for c in np.unique(self.table[low:high]).tolist() if c)

    def example(self, character_class: int) -> str:
        """The first character of a class, a printable one if the class has one."""
        points = np.flatnonzero(self.table == character_class)[:1000].tolist()
        return next((chr(point) for point in points if chr(point).isprintable()), chr(points[0]))


def _encodable(tokens: Iterable[bytes | None]) -> NDArray[np.bool_]:
    """bool[0x110000]: the code points that are a token, or whose bytes all are; no surrogates."""
    short = {token for token in tokens if token is not None and len(token) <= 4}
    available = np.array([bytes([byte]) in short for byte in range(256)])
    points = np.arange(CODE_POINTS)
    found = np.zeros(CODE_POINTS, np.bool_)
    for length, low, high in ((1, 0, 0x80), (2, 0x80, 0x800), (3, 0x800, 0x10000), (4, 0x10000, CODE_POINTS)):
        some = points[low:high]
        lead = (0, 0xC0, 0xE0, 0xF0)[length - 1] | some >> 6 * (length - 1)
        fits = available[lead]
        for place in range(length - 1):
            fits = fits & available[0x80 | some >> 6 * place & 0x3F]
        found[low:high] = fits
    for token in short:
        low, high = code_points_beginning_with(token)
        if high - low == 1 and chr(low).encode("utf-8", "surrogatepass") == token:
            found[low] = True
    found[slice(*SURROGATES)] = False
    return found
