"""Speed of generation, made comparable between tokenizers (Bit-level BPE, section 5).

A tokenizer that needs fewer tokens for the same text may give fewer tokens a second and still be faster. Times are
given by the caller. The functions take numbers or NumPy arrays of equal shape.
"""

from typing import TypeVar

import numpy as np

Numbers = TypeVar("Numbers", float, np.ndarray)


def tokens_per_second(tokens: Numbers, seconds: Numbers) -> Numbers:
    """TPS: generated tokens, special tokens included, divided by the seconds of generating them."""
    return tokens / seconds


def relative_gain(baseline_tokens: Numbers, tokens: Numbers) -> Numbers:
    """Tokens of the baseline divided by tokens of this tokenizer on the same text; above 1 where this is shorter."""
    return baseline_tokens / tokens


def perceived_tps(tps: Numbers, baseline_tokens: Numbers, tokens: Numbers) -> Numbers:
    """Perceived TPS = TPS x tokens(baseline) / tokens(this) on the same text: speed in tokens of the baseline."""
    return tps * relative_gain(baseline_tokens, tokens)
