"""Kinds of characters, by the Unicode of Oniguruma, which cuts text in a `tokenizer.json`."""

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, pre_tokenizers

from tokenlab.tokenizers.piece_kernels import LETTER, MARK, NUMBER, SIGN, SPACE, WORD

# What stands inside the brackets of a set.
RUNS = (
    r"\p{Han}\p{Hiragana}\p{Katakana}ーｰ○",
    *(rf"\p{{{script}}}" for script in ("Thai", "Lao", "Khmer", "Myanmar", "Tibetan")),
)
"""The scripts without spaces."""
IN_WORDS = r"\p{L}\p{M}○\x{0F0B}\x{0F0C}"
"""Of the characters of a script without spaces: the two marks between syllables of Tibetan are in words."""
IN_SPACED_WORDS = rf"\p{{L}}\p{{M}}&&[^{''.join(RUNS)}]"
NO_SIGN = r"\s\p{L}\p{M}\p{N}"

_MEMBERS = {
    **{f"{run}&&[{IN_WORDS}]": number for number, run in enumerate(RUNS, 1)},
    r"\p{M}": MARK,
    IN_SPACED_WORDS: WORD,
    r"\p{L}": LETTER,
    r"\p{N}": NUMBER,
    r"\s": SPACE,
    f"^{NO_SIGN}": SIGN,
}
KINDS = np.zeros(0x110000, np.uint16)
"""The flags of `tokenlab.tokenizers.piece_kernels` by code point; 0 until `learn_kinds`: every character has one."""


def learn_kinds(points: NDArray[np.uint32]) -> None:
    """Fill in the flags of these characters, no surrogates."""
    distinct = np.unique(points[KINDS[points] == 0])
    if distinct.size:
        text = distinct.tobytes().decode("utf-32-le")
        KINDS[distinct] = sum(flag * _among(text, members) for members, flag in _MEMBERS.items())


def _among(text: str, members: str) -> NDArray[np.uint16]:
    """1 for each character of the text that a set contains, else 0."""
    found = np.ones(len(text), np.uint16)
    for _, (start, end) in pre_tokenizers.Split(Regex(f"[{members}]"), "removed").pre_tokenize_str(text):
        found[start:end] = 0
    return found
