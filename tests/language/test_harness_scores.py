"""Scores of continuations: which symbols count for a continuation, batches, texts longer than the context.

The network of these tests gives each symbol a score that follows from the symbols before it in its passage by a hash,
so the expected values are sums over the symbols that count, written down here.
"""

import hashlib
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tokenlab.core.errors import InputError
from tokenlab.language.coding import ByteCoder
from tokenlab.language.harness.adapter import score_continuations, score_texts
from tokenlab.language.stored import LanguageModel
from tokenlab.networks.interface import CodedPassage, Scores


def score(before: list[int], symbol: int) -> tuple[float, bool]:
    """Nats of a symbol, and whether it is the best one."""
    digest = hashlib.sha256(bytes([number % 251 for number in [*before, symbol]])).digest()
    return digest[0] / 16, digest[1] < 160


class HashedNetwork(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.batches: list[list[int]] = []

    def collate(self, rows):
        self.batches.append([passage.size for row in rows for passage in row])
        passages = [passage for row in rows for passage in row]
        return SimpleNamespace(to=lambda _device: passages)

    def symbol_scores(self, passages):
        found = [score(passage.ids[:i].tolist(), int(id)) for passage in passages for i, id in enumerate(passage.ids)]
        return Scores(torch.tensor([nats for nats, _ in found]), torch.tensor([best for _, best in found]))


@dataclass
class PairCoder:
    """Tokens of two bytes; with a marker, patches of two bytes. A `prefix` token stands before a text."""

    marker: bool = False
    prefix: bool = False
    patcher = None
    hierarchical = None

    def __post_init__(self):
        pairs = [bytes([first, second]) for first in b"abc " for second in b"abc "]
        self.spellings = [*(bytes([byte]) for byte in range(256)), b"", *([] if self.marker else pairs)]
        self._ids = {pair: 257 + number for number, pair in enumerate(pairs)}

    def code(self, texts, starts=None):
        return [CodedPassage(np.array(self.ids(text), np.int32), np.empty(0, np.int32), len(text)) for text in texts]

    def ids(self, text):
        ids = [ord(" ")] if self.prefix else []
        for first in range(0, len(text), 2):
            pair = text[first : first + 2]
            ids += [*pair, 256] if self.marker else [self._ids.get(pair, pair[0])]
        return ids


def expected(ids, counted):
    scores = [score(ids[:i], id) for i, id in enumerate(ids)]
    return sum(scores[i][0] for i in counted), all(scores[i][1] for i in counted)


def model(coder, context=1000):
    return LanguageModel(HashedNetwork(), coder, context)


@pytest.mark.parametrize(("context", "continuation"), [(b"abc", b" abcd"), (b"", b"ab"), ("é".encode(), "ü".encode())])
def test_bytes(context, continuation):
    (found,) = score_continuations(model(ByteCoder()), [(context, continuation)])
    assert found == expected([*context, *continuation], range(len(context), len(context + continuation)))


@pytest.mark.parametrize(
    ("context", "continuation", "counted"),
    [
        (b"abca", b"bc", [2]),
        (b"abc", b"abc", [1, 2]),  # The token "ca" straddles the border, and counts as a whole.
        (b"", b"abca", [0, 1]),
    ],
)
@pytest.mark.parametrize("prefix", [False, True])
def test_tokens(context, continuation, counted, prefix):
    coder = PairCoder(prefix=prefix)
    (found,) = score_continuations(model(coder), [(context, continuation)])
    # The space that the tokenizer puts before a text belongs to the context; without one, it is a symbol of the text.
    first = [0] if prefix and not context else []
    assert found == expected(coder.ids(context + continuation), first + [i + prefix for i in counted])


def test_a_marker_counts_where_the_last_byte_of_its_patch_does():
    # Symbols: a b | c a | b c |
    coder = PairCoder(marker=True)
    (found,) = score_continuations(model(coder), [(b"abca", b"bc")])
    assert found == expected(coder.ids(b"abcabc"), [6, 7, 8])
    (found,) = score_continuations(model(coder), [(b"abc", b"abc")])
    assert found == expected(coder.ids(b"abcabc"), [4, 5, 6, 7, 8])


def test_batches_do_not_matter_and_keep_their_size():
    requests = [(b"abc" * n, b"cab" * (7 - n)) for n in range(8)] + [(b"x" * n, b"y") for n in range(40)]
    whole = model(ByteCoder())
    together = score_continuations(whole, requests)
    assert together == [score_continuations(model(ByteCoder()), [request])[0] for request in requests]
    small = model(ByteCoder())
    assert score_continuations(small, requests, row_bytes=64) == together
    assert sorted(size for sizes in small.network.batches for size in sizes) == sorted(
        map(len, map(b"".join, requests))
    )
    assert all(max(sizes) * len(sizes) <= 64 for sizes in small.network.batches)
    assert len(small.network.batches) < 24


def test_a_context_is_cut_at_its_beginning_between_characters():
    text = "äöü".encode()  # Six bytes; the limit falls inside ö.
    (found,) = score_continuations(model(ByteCoder(), context=5), [(text, b"xy")])
    kept = [*"ü".encode(), *b"xy"]
    assert found == expected(kept, [2, 3])


def test_a_continuation_longer_than_the_context_is_read_whole():
    (found,) = score_continuations(model(ByteCoder(), context=4), [(b"abc", b"abcabc")])
    assert found == expected([*b"abcabc"], range(6))


def test_nothing_to_score():
    found = score_continuations(model(ByteCoder()), [(b"", b""), (b"ab", b"")])
    assert found == [(0.0, True), (0.0, True)]


def test_texts_are_scored_in_passages_of_the_context():
    text = b"abcdefghij"
    wanted = sum(expected([*part], range(len(part)))[0] for part in (b"abcd", b"efgh", b"ij"))
    assert score_texts(model(ByteCoder(), context=4), [text, b"", text[:4]]) == pytest.approx(
        [wanted, 0.0, expected([*b"abcd"], range(4))[0]]
    )


def test_a_coder_that_changes_texts():
    class Lower(ByteCoder):
        def code(self, texts, starts=None):
            return super().code([text.replace(b"  ", b" ") for text in texts])

    with pytest.raises(InputError, match="spell 3 bytes of a text of 4"):
        score_continuations(model(Lower()), [(b"a ", b" b")])
