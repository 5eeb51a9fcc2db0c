"""Language models behind the interface of lm-evaluation-harness, which scores them as it scores all others.

A context and its continuation are coded together, as one text: that is how the model reads text. Their bytes are told
apart afterwards. A symbol with a byte of the continuation counts for the continuation, so a token that straddles the
border does as a whole; a marker counts where the last byte of its patch does. Without a context all symbols count. lm-
evaluation-harness does the same with tokens: it codes the whole and leaves out as many tokens as the context alone
would have.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.language.coding import Coder
from tokenlab.language.evaluation import similar_batches
from tokenlab.language.passages import cut_passages
from tokenlab.language.stored import LanguageModel
from tokenlab.networks.interface import CodedPassage

ROW_BYTES = 16_384
"""Bytes of the texts scored at once, padding included."""


class HarnessModel(LM):
    """A language model for `lm_eval.evaluate`.

    Args:
        model: on the device where it computes, in evaluation mode.
        row_bytes: bytes scored at once, padding included.
    """

    def __init__(self, model: LanguageModel, row_bytes: int = ROW_BYTES) -> None:
        super().__init__()
        self.model = model
        self.row_bytes = row_bytes

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """The log-probability of each continuation after its context, in nats, and whether it is the greedy one.

        Raises InputError for a text that the model's coder cannot code.
        """
        pairs = [(request.args[0].encode(), request.args[1].encode()) for request in requests]
        scores = score_continuations(self.model, pairs, self.row_bytes)
        return self._kept("loglikelihood", requests, [(-score.nats, score.greedy) for score in scores])

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        """The log-probability of each text, in nats, in passages of the model's context.

        Raises InputError for a text that the model's coder cannot code.
        """
        nats = score_texts(self.model, [request.args[0].encode() for request in requests], self.row_bytes)
        return self._kept("loglikelihood_rolling", requests, [-value for value in nats])

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """Raises NotImplementedError: `TASKS` compare log-probabilities, so nothing generates."""
        raise NotImplementedError("only log-likelihood tasks are supported, none that generates text")

    def _kept(self, kind: str, requests: Sequence[Instance], answers: list[Any]) -> list[Any]:
        """The answers, also for the library's own cache."""
        for request, answer in zip(requests, answers, strict=True):
            self.cache_hook.add_partial(kind, request.args, answer)
        return answers


class Continuation(NamedTuple):
    """The score of a continuation."""

    nats: float
    """Minus its log-probability after the context, in nats."""
    greedy: bool
    """Whether each of its symbols is the most probable one after the symbols before it."""


def score_continuations(
    model: LanguageModel, requests: Sequence[tuple[bytes, bytes]], row_bytes: int = ROW_BYTES
) -> list[Continuation]:
    """The score of each continuation after its context.

    A text longer than the model's context loses its beginning, at most as far as the continuation, which is always
    read whole.

    Args:
        model: on the device where it computes, in evaluation mode.
        requests: contexts, which may be empty, and continuations, both in UTF-8.
        row_bytes: bytes scored at once, padding included.

    Raises InputError for a text that the model's coder cannot code.
    """
    cut = [_within(model.context, context, continuation) for context, continuation in requests]
    sizes = [len(context) + len(continuation) for context, continuation in cut]
    found = [Continuation(0.0, True)] * len(cut)
    for numbers in similar_batches(sizes, sizes, row_bytes):
        texts = [b"".join(cut[number]) for number in numbers]
        passages = model.coder.code(texts)
        nats, best = _scores(model, passages)
        first = 0
        for number, text, passage in zip(numbers, texts, passages, strict=True):
            last = first + len(passage.ids)
            context = cut[number][0]
            # Without a context all symbols count: a space that the tokenizer puts first ends at 0, before the text.
            counts = symbol_ends(model.coder, passage, text) > (len(context) if context else -1)
            found[number] = Continuation(float(nats[first:last][counts].sum()), bool(best[first:last][counts].all()))
            first = last
    return found


def score_texts(model: LanguageModel, texts: Sequence[bytes], row_bytes: int = ROW_BYTES) -> list[float]:
    """Minus the log-probability of each text, in nats, by the passages in which the model was trained on long
    documents: divided by bytes and ln 2, it is the bits per byte of `evaluation`.

    Args and Raises: as `score_continuations`.
    """
    passages = [cut_passages(text, model.context) for text in texts]
    scores = iter(score_continuations(model, [(b"", passage) for parts in passages for passage in parts], row_bytes))
    return [float(sum(next(scores).nats for _ in parts)) for parts in passages]


def symbol_ends(coder: Coder, passage: CodedPassage, text: bytes) -> NDArray[np.int64]:
    """int64[symbols]: the offset in the text behind each symbol's last byte; a marker's is that of the byte before it.

    Raises InputError where the symbols do not spell the text.
    """
    sizes = np.array([len(coder.spellings[id]) for id in passage.ids.tolist()], np.int64)
    # Some tokenizers put a space before a text.
    more = int(sizes.sum()) - len(text)
    if not 0 <= more <= 1:
        raise InputError(
            f"the coder's symbols spell {int(sizes.sum())} bytes of a text of {len(text)}; use another one"
        )
    return np.cumsum(sizes) - more


def _within(longest: int, context: bytes, continuation: bytes) -> tuple[bytes, bytes]:
    """A context cut at its beginning, between characters, so that the whole has at most `longest` bytes."""
    first = max(0, len(context) + len(continuation) - longest)
    while first < len(context) and context[first] & 0xC0 == 0x80:
        first += 1
    return context[first:], continuation


def _scores(model: LanguageModel, passages: Sequence[CodedPassage]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Nats and whether it is the most probable one, of each symbol of the passages end to end."""
    device = next(model.network.parameters()).device
    with torch.no_grad():
        scores = model.network.symbol_scores(model.network.collate([[passage] for passage in passages]).to(device))
    return scores.nats.double().cpu().numpy(), scores.best.cpu().numpy()
