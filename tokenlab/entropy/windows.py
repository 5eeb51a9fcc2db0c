"""What a language model is given: long texts by overlapping windows, windows of like length in batches.

A window is the prefix (the special tokens that stand before every text, such as [CLS]) and up to q = context - prefix
tokens of the text. From its tokens before t it predicts token t, and the one behind its last. The window at 0 gives all
that it can: tokens up to q. Each later one begins `stride` tokens further and gives only what is new: the next `stride`
tokens. So every token is predicted from the window in which it has the most left context, which is all of the text
before it up to token q, and at least context - stride tokens (prefix included) from there on.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from tokenlab.errors import ParameterError

Item = TypeVar("Item")


class Window(NamedTuple):
    """The tokens [first, end) of a text behind the prefix; it gives the values of tokens [target, end]."""

    text: int
    first: int
    end: int
    target: int


def plan_windows(text: int, tokens: int, prefix: int, context: int, stride: int) -> Iterator[Window]:
    """The windows of a text of so many tokens, from left to right.

    The last token of a text is never given, as nothing follows it. Without a prefix nothing predicts token 0.

    Raises:
        ParameterError: `context` has no room for a token of text, or `stride` leaves tokens out.
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
    """The windows in batches, long ones first, so that those of a batch are about equally long.

    A batch has at most `batch_tokens` tokens, padding included, or one window. It ends early where the next window
    would make more than a sixteenth of it padding, but not below a quarter of `batch_tokens`, where products get slow.
    The order depends on lengths alone.
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


def text_blocks(items: Iterable[Item], size: Callable[[Item], int], limit: int) -> Iterator[list[Item]]:
    """The items in lists that end where their sizes, and one for each, reach `limit`."""
    block: list[Item] = []
    total = 0
    for item in items:
        block.append(item)
        total += size(item) + 1
        if total >= limit:
            yield block
            block, total = [], 0
    if block:
        yield block
