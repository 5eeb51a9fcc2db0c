"""Text in cells: characters as readers see them, in the direction of their script, and what no font can draw.

A cell holds one extended grapheme cluster, such as a Thai consonant with its vowel and tone, a Burmese or Devanagari
syllable, or a family of emoji; a boundary inside a cluster stands inside the cell. Arabic letters keep the forms that
they have beside their neighbours. Matplotlib shapes each cell with HarfBuzz.
"""

import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import manimgx_fonts
import mplfonts
import regex
from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

_CLUSTER = regex.compile(r"\X\p{M}*")
_JOINER = "\N{ZERO WIDTH JOINER}"
_ARABIC_FORMS = (range(0xFB50, 0xFE00), range(0xFE70, 0xFF00))
_VISIBLE = {"\n": "⏎", "\t": "⇥"}
_INVISIBLE = ("Cc", "Cf", "Zs", "Zl", "Zp")
"""Categories of characters that need no font."""

_LISTED = 6
"""Characters without a font that a note names; it counts the others."""


class Line(NamedTuple):
    """A line of text in cells of width 1, from 0 on in reading order."""

    cells: list[str]
    positions: list[float]
    """offset of a code point -> where it begins; the last is the end of the line"""
    right_to_left: bool

    def spans(self, words: Iterable[str]) -> list[tuple[float, float]]:
        """Where the words, which together are the text, begin and end."""
        found, offset = [], 0
        for word in words:
            found.append((self.positions[offset], self.positions[offset + len(word)]))
            offset += len(word)
        return found

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of a horizontal axis: the line begins on the right where its script does."""
        return (self.positions[-1], 0.0) if self.right_to_left else (0.0, self.positions[-1])


def in_cells(text: str) -> Line:
    """Place a text."""
    clusters = _CLUSTER.findall(text)
    positions = [
        number + place / len(cluster) for number, cluster in enumerate(clusters) for place in range(len(cluster))
    ]
    strong = (unicodedata.bidirectional(character) for character in text)
    direction = next((kind for kind in strong if kind in ("L", "R", "AL")), "L")
    return Line(_joined(clusters), [*positions, float(len(clusters))], direction != "L")


def _joined(clusters: list[str]) -> list[str]:
    """The clusters as shown; between two that are written joined stands a joiner on both sides."""
    to_next, to_previous = _joining()
    shown = [_VISIBLE.get(cluster, cluster) for cluster in clusters]
    for number, (one, other) in enumerate(pairwise(clusters)):
        if one[0] in to_next and other[0] in to_previous:
            shown[number] += _JOINER
            shown[number + 1] = _JOINER + shown[number + 1]
    return shown


@cache
def _joining() -> tuple[frozenset[str], frozenset[str]]:
    """The letters that join to the next and to the previous one: Unicode's decompositions of joined Arabic forms."""
    to_next, to_previous = set(), set()
    for number in (number for block in _ARABIC_FORMS for number in block):
        form, *letters = unicodedata.decomposition(chr(number)).split() or [""]
        if len(letters) == 1:
            letter = chr(int(letters[0], 16))
            to_next |= {letter} if form in ("<initial>", "<medial>") else set()
            to_previous |= {letter} if form in ("<final>", "<medial>") else set()
    return frozenset(to_next), frozenset(to_previous)


@cache
def _fonts() -> dict[str, frozenset[int]]:
    """Family -> the code points that it has, in the order in which fonts are tried; registers them with Matplotlib.

    They come from packages, never from the system: a picture has the same bytes on every machine.
    """
    han = Path(mplfonts.__file__).parent / "fonts" / "NotoSansCJKsc-Regular.otf"
    others = sorted(path for path in Path(manimgx_fonts.__file__).parent.glob("*.ttf") if "Italic" not in path.name)
    last = ("NotoSansSymbols", "NotoEmoji")  # Both have letters and digits of their own.
    found = {}
    for path in (han, *sorted(others, key=lambda path: path.name.startswith(last))):
        font_manager.fontManager.addfont(str(path))
        family = font_manager.FontProperties(fname=str(path)).get_name()
        found[family] = frozenset(FT2Font(str(path)).get_charmap())
    return found


def main_family() -> str:
    """The font of all text that it has: Latin, Greek, Cyrillic, Han, Kana and Hangul."""
    return next(iter(_fonts()))


def families_for(text: str) -> list[str]:
    """The families that a text needs, the main one first; each further one makes Matplotlib slower."""
    main, *others = _fonts()
    left = {ord(character) for character in text} - _fonts()[main]
    needed = [main]
    for family in others:
        if left & _fonts()[family]:
            needed.append(family)
            left -= _fonts()[family]
    return needed


def missing_note(texts: Iterable[str]) -> str:
    """Which characters of the texts no font has; empty where all can be drawn. Invisible ones do not count."""
    drawable = frozenset().union(*_fonts().values())
    missing = [
        character
        for character in sorted(set().union(*texts))
        if ord(character) not in drawable
        and unicodedata.category(character) not in _INVISIBLE
        and not 0xFE00 <= ord(character) <= 0xFE0F  # Selectors of variants.
    ]
    if not missing:
        return ""
    names = [f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip() for character in missing[:_LISTED]]
    more = f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
    return f"no font for {', '.join(names)}{more}; shown as boxes"
