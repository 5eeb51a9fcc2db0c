"""The rules for digits, Latin letters and punctuation under which the segmental language model is scored.

Sun and Deng, "Unsupervised Neural Word Segmentation for Chinese via Segmental Language Modeling" (EMNLP 2018), as
their tokenizer has them (Edward-Sun/SLM, codes/tokenization.py): everything but Han characters is segmented by rule.
"""

import re
from collections.abc import Iterable

_NUMBERS = "0-9０-９\u2160-\u2179％．＋＞∶‰+㈨℃."
_LETTERS = "A-Za-zＡ-Ｚａ-ｚ\u03b1-\u03d0＆"
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002ceaf\U0002f800-\U0002fa1f○"
_JOINED = re.compile(rf"[{_NUMBERS}]+|[{_LETTERS}]+|([^{_NUMBERS}{_LETTERS}{_HAN}])\1*")


def apply_slm_rules(text: str, boundaries: Iterable[int]) -> list[int]:
    """The boundaries inside a text, with these changed: a run of digits and signs of numbers is one segment, a run of
    Latin or Greek letters is one, and a run of the same punctuation mark is one.

    Args:
        text: without whitespace.
        boundaries: offsets in code points at which the second and later segments begin.
    """
    kept = set(boundaries)
    for run in _JOINED.finditer(text):
        kept.difference_update(range(run.start() + 1, run.end()))
        kept.update(run.span())
    return sorted(kept - {0, len(text)})
