"""Texts as careless writers, other keyboards and other programs leave them, with the place of every character.

Eight kinds, in the manner of TokSuite (Altintaş et al. 2025); a reader understands each of them:

    typos       letters swapped with their neighbours, doubled or left out
    homoglyphs  letters replaced by others that look alike: Cyrillic for Latin, radicals for Han characters
    full-width  ASCII in the forms of East Asian keyboards
    diacritics  accents, tone marks, vowel points and voicing marks left out
    nfd         Unicode's normal form D
    spacing     spaces doubled, left out, and put between letters
    case        capitals
    digits      digits of another script: of the text's own where it has some, otherwise Arabic-Indic ones

`typos`, `homoglyphs` and `spacing` change a share of the places, drawn by a seed; the others change all of them.
"""

import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import ParameterError
from tokenlab.metrics.segmentation import Counts

_TYPOS, _HOMOGLYPHS, _SPACING = 0.05, 0.2, 0.2
"""Shares of the letters, of the letters with a homoglyph, and of the spaces."""
_SPLIT = 0.02
"""Share of the places between two letters that get a space."""
_LATIN = "aceijopsxyABCEHIJKMOPSTXY"
_CYRILLIC = "асеіјорѕхуАВСЕНІЈКМОРЅТХУ"
_ALIKE = {**dict(zip(_LATIN, _CYRILLIC, strict=True)), "แ": "เเ", "ำ": "ํา", "へ": "ヘ", "ロ": "口", "ー": "一"}
_KANGXI = range(0x2F00, 0x2FD6)
_LETTER_MARKS = frozenset((9, 84, 91, 103, 118, 129, 130, 132))
"""Combining classes of viramas and vowels, without which a word is another one."""
_HAN = "〇一二三四五六七八九"
_DIGITS = {"CJK": _HAN, "HIRAGANA": _HAN, "KATAKANA": _HAN, "THAI": "๐๑๒๓๔๕๖๗๘๙", "DEVANAGARI": "०१२३४५६७८९"}
"""By the first word of the names of a script's letters."""
_ARABIC_INDIC = "٠١٢٣٤٥٦٧٨٩"


class Perturbed(NamedTuple):
    """A perturbed text."""

    text: str
    offsets: NDArray[np.int64]
    """int64[characters + 1]: where in it each character of the original begins, and the end; ascending."""


def perturb(text: str, kind: str, seed: int = 0) -> Perturbed:
    """A perturbed text; equal arguments give equal texts.

    Args:
        kind: of `KINDS`.
        seed: of the places that are changed.

    Raises ParameterError for another kind.
    """
    if kind not in KINDS:
        raise ParameterError(f"kind is {kind!r}; use one of {', '.join(KINDS)}")
    pieces = KINDS[kind](text, np.random.default_rng([seed, len(text)]))
    offsets = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    return Perturbed("".join(pieces), offsets)


def boundary_counts(
    cuts: Sequence[int] | NDArray[np.integer], perturbed_cuts: Sequence[int] | NDArray[np.integer], changed: Perturbed
) -> Counts:
    """The boundaries inside a text at their places in the perturbed one (`gold`), those of the perturbed text
    (`predicted`), and those that are both. Boundaries that meet, since nothing is left between them, are one.

    Args:
        cuts: offsets in characters of the original text.
        perturbed_cuts: offsets in characters of the perturbed text.
    """
    before, after = (
        places[(places > 0) & (places < len(changed.text))]
        for places in (np.unique(changed.offsets[np.asarray(cuts, np.int64)]), np.unique(perturbed_cuts))
    )
    return Counts(len(before), len(after), len(np.intersect1d(before, after)))


def _typos(text: str, draws: np.random.Generator) -> list[str]:
    """A letter that was swapped is not changed again."""
    pieces = [*text]
    chosen, ways = draws.random(len(text)) < _TYPOS, draws.integers(3, size=len(text))
    place = 0
    while place < len(text):
        letter, following = text[place], text[place + 1 : place + 2]
        if chosen[place] and letter.isalpha():
            if ways[place] == 0 and following.isalpha():
                pieces[place], pieces[place + 1] = following, letter
                place += 1
            else:
                pieces[place] = "" if ways[place] == 1 else letter * 2
        place += 1
    return pieces


def _homoglyphs(text: str, draws: np.random.Generator) -> list[str]:
    alike = _homoglyphs_of()
    chosen = draws.random(len(text)) < _HOMOGLYPHS
    return [alike.get(one, one) if taken else one for one, taken in zip(text, chosen.tolist(), strict=True)]


@cache
def _homoglyphs_of() -> dict[str, str]:
    return {unicodedata.normalize("NFKC", chr(radical)): chr(radical) for radical in _KANGXI} | _ALIKE


def _full_width(text: str, _: np.random.Generator) -> list[str]:
    return ["\u3000" if one == " " else chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text]


def _diacritics(text: str, _: np.random.Generator) -> list[str]:
    return [_without_marks(one) for one in text]


@cache
def _without_marks(character: str) -> str:
    kept = [one for one in unicodedata.normalize("NFD", character) if not _is_diacritic(one)]
    return unicodedata.normalize("NFC", "".join(kept))


def _is_diacritic(character: str) -> bool:
    kind = unicodedata.combining(character)
    return kind > 0 and kind not in _LETTER_MARKS


def _nfd(text: str, _: np.random.Generator) -> list[str]:
    """Marks may change places, so what they stand on and they are one piece, at the place of the first of them."""
    pieces = [""] * len(text)
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or not unicodedata.combining(unicodedata.normalize("NFD", text[place])[0]):
            pieces[start] = unicodedata.normalize("NFD", text[start:place])
            start = place
    return pieces


def _spacing(text: str, draws: np.random.Generator) -> list[str]:
    pieces = [*text]
    drawn = draws.random(len(text))
    for place, (one, following) in enumerate(zip(text, f"{text[1:]}\n", strict=False)):
        if one == " " and drawn[place] < _SPACING:
            pieces[place] = "" if drawn[place] < _SPACING / 2 else "  "
        elif one.isalpha() and following.isalpha() and drawn[place] < _SPLIT:
            pieces[place] = one + " "
    return pieces


def _case(text: str, _: np.random.Generator) -> list[str]:
    return [one.upper() for one in text]


def _digits(text: str, _: np.random.Generator) -> list[str]:
    """ASCII digits become those of the script of most letters, other decimal digits become ASCII."""
    names = [unicodedata.name(one, "").split(" ")[0] for one in text if one.isalpha()]
    scripts = sorted(set(names), key=lambda name: (names.count(name), name))
    digits = _DIGITS.get(scripts[-1], _ARABIC_INDIC) if scripts else _ARABIC_INDIC
    return [digits[int(one)] if "0" <= one <= "9" else str(int(one)) if one.isdecimal() else one for one in text]


KINDS: dict[str, Callable[[str, np.random.Generator], list[str]]] = {
    "typos": _typos,
    "homoglyphs": _homoglyphs,
    "full-width": _full_width,
    "diacritics": _diacritics,
    "nfd": _nfd,
    "spacing": _spacing,
    "case": _case,
    "digits": _digits,
}
"""What each character of a text becomes, by the name of the kind."""
