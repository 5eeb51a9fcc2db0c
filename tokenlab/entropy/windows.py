"""Inputs of a language model: overlapping windows over long texts, and batches of windows of similar length.

A window is the prefix (the special tokens before every text, such as [CLS]) and up to q = context - prefix tokens of
the text. Its outputs predict each of its tokens, and the token after its last. The first window predicts the tokens up
to q. Each later window begins `stride` tokens further and predicts only the next `stride` tokens. So every token is
predicted with the most left context of all windows: the whole text before it up to token q, and at least context -
stride tokens (prefix included) from there on.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tokenlab.core.errors import ParameterError


class Window(NamedTuple):
    """The tokens [first, end) of a text after the prefix; they predict tokens [target, end]."""

    text: int
    first: int
    end: int
    target: int


def plan_windows(text: int, tokens: int, prefix: int, context: int, stride: int) -> Iterator[Window]:
    """The windows of a text with this number of tokens, from left to right.

    The last token of a text is never an input, since nothing follows it. Without a prefix, token 0 is not predicted.

    Raises:
        ParameterError: `context` leaves no room for text, or `stride` skips tokens.
    """
    room = context - prefix
    if room < 1:
        raise ParameterError(
            f"context is {context}; it must be at least {prefix + 1}, as texts have a prefix of {prefix}"
        )
    if not 1 <= stride <= room:
        raise ParameterError(f"stride is {stride}; it must be from 1 to {room}, the tokens of text in a window")
    first, target = 0, 0 if prefix else 1
    while target < tokens:
        end = min(first + room, tokens - 1)
        yield Window(text, first, end, target)
        first, target = first + stride, end + 1


def plan_batches(windows: Sequence[Window], prefix: int, batch_tokens: int) -> Iterator[list[Window]]:
    """The windows in batches, long windows first, so that windows in a batch have similar lengths.

    A batch has at most `batch_tokens` tokens, padding included, or one window. It ends early where the next window
    would raise the share of padding above a sixteenth, but not below a quarter of `batch_tokens`, where matrix products
    get slow. The order depends only on the lengths.
    """
    batch: list[Window] = []
    inside = 0  # tokens without padding
    for window in sorted(windows, key=lambda window: window.first - window.end):
        tokens = prefix + window.end - window.first
        if batch:
            longest = prefix + batch[0].end - batch[0].first
            padded = (len(batch) + 1) * longest
            is_wasteful = 16 * (padded - inside - tokens) > padded and 4 * len(batch) * longest >= batch_tokens
            if padded > batch_tokens or is_wasteful:
                yield batch
                batch, inside = [], 0
        batch.append(window)
        inside += tokens
    if batch:
        yield batch
