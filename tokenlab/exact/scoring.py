"""Bits per character and per byte of texts: of the texts themselves, and of the one encoding of each.

- exact: -log P(text), the sum over all covers: what a character-level model would have to beat.
- naive: -log P(encoding) of the encoding that the tokenizer gives, with the model's probabilities as they are. This is
  what is usually reported. It leaves out every other encoding, and pays for tokens that cannot follow.

A text longer than the model's context is divided into windows, each from the model's BOS on. Of the first window
x_1..e all counts. A later one, x_a..e, counts from where the one before it ended, x_m, on:

    log P(x_m..e | x_a..m) = log P(x_a..e) - log P(x_a..m)

with at least half of the window before x_m. Texts that fit are exact; of longer ones, the model does not see what comes
before a, and takes x_a as the beginning of a text.

The encoding of a text is one of its covers, so its contexts are evaluated where P(text) is, and are asked there for the
log-probabilities that the naive number needs (`Context.plain`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.combining import Combination
from tokenlab.exact.covers import NODES, Context, Evaluator, check_bytes, log_softmax, unevaluated
from tokenlab.exact.incremental import Incremental
from tokenlab.exact.interface import ContextTooLong, Cost, TextProbability, TokenModel
from tokenlab.exact.naive import rows_along
from tokenlab.exact.utf8 import as_bytes, open_character

_UNDEFINED = (float("nan"), float("nan"))
"""What a text that ends inside a character has in place of an encoding."""


class TextScore(NamedTuple):
    """The information of one text, or of several together, in nats."""

    texts: int = 0
    characters: int = 0
    bytes: int = 0
    exact: float = 0.0
    """-log P(text); infinite where its probability is zero, NaN where it is undefined (estimator naive)"""
    end: float = 0.0
    """-log P(the text ends | text)"""
    naive: float = 0.0
    """-log P(encoding of the text), of untruncated probabilities; NaN for a text that ends inside a character"""
    naive_end: float = 0.0
    """-log P(EOS | encoding of the text); NaN where the model has no EOS"""
    tokens: int = 0
    """of the encoding"""
    windows: int = 0
    pruned: float = 0.0
    """largest share of the probability that pruning dropped"""
    cost: Cost = Cost()
    """of the exact score"""

    @property
    def exact_bits(self) -> float:
        """Bits of the text without its end."""
        return self.exact / np.log(2)

    @property
    def exact_bits_with_end(self) -> float:
        """Bits of the text and its end."""
        return (self.exact + self.end) / np.log(2)

    @property
    def naive_bits(self) -> float:
        """Bits of the encoding without EOS."""
        return self.naive / np.log(2)

    @property
    def naive_bits_with_end(self) -> float:
        """Bits of the encoding and EOS."""
        return (self.naive + self.naive_end) / np.log(2)

    def per_character(self, bits: float) -> float:
        """Bits over characters, NaN for an empty text."""
        return bits / self.characters if self.characters else float("nan")

    def per_byte(self, bits: float) -> float:
        """Bits over bytes, NaN for an empty text."""
        return bits / self.bytes if self.bytes else float("nan")


def score_texts(
    model: CharacterModel | Combination, texts: Iterable[bytes | str], *, where: str = "text "
) -> Iterator[TextScore]:
    """The scores of texts, one after the other; memory does not depend on their number.

    With the estimator `incremental`, short texts share a tree of contexts, and the passes over it: as many texts at a
    time as fill a pass. Of passes, and of tokens beyond one for each context, the cost is that of the first of them.

    Args:
        where: goes before the number of a text, from 1, in errors.

    Raises InputError as `score_text`, ParameterError for more contexts than max_contexts; after the scores before.
    """
    pack = _empty_pack(model)
    for number, text in enumerate(texts, 1):
        try:
            read = _read(model, text)
            alone = None if pack and pack.add(read) else _alone(model, read)
        except (InputError, ParameterError) as error:
            yield from pack.scores() if pack else ()
            raise type(error)(f"{where}{number}: {error}") from None
        if pack and (alone or pack.full):
            yield from pack.scores()
            pack = _empty_pack(model)
        if alone:
            yield alone
    yield from pack.scores() if pack else ()


def total(scores: Iterable[TextScore]) -> TextScore:
    """The sum of scores: all texts, each by itself."""
    found = TextScore()
    for score in scores:
        pairs: Iterable[tuple[Any, Any]] = zip(found, score, strict=True)
        found = TextScore(*(a + b for a, b in pairs))._replace(pruned=max(found.pruned, score.pruned))
    return found


def score_text(model: CharacterModel | Combination, text: bytes | str) -> TextScore:
    """The information of a text.

    Args:
        model: of a combination `naive` is NaN and `tokens` and `windows` are 0: it has no encoding of its own.
        text: str, or UTF-8 that may end inside a character, which then counts as one.

    Raises InputError for a text that has no UTF-8 or that the tokenizer cannot encode.
    """
    read, pack = _read(model, text), _empty_pack(model)
    return next(pack.scores()) if pack and pack.add(read) else _alone(model, read)


class _Text(NamedTuple):
    """A text to score."""

    data: bytes
    characters: int
    tokens: list[int]
    """its encoding, without a character that is incomplete at its end"""
    complete: bool
    """whether the text ends with a character"""

    def score(self, exact: TextProbability, windows: int, naive: tuple[float, float]) -> TextScore:
        return TextScore(
            1,
            self.characters,
            len(self.data),
            0.0 - exact.log_probability,  # 0 - 0 is 0; -0 would be printed as -0.0.
            0.0 - exact.end,
            0.0 - naive[0],
            0.0 - naive[1],
            len(self.tokens),
            windows,
            exact.pruned,
            exact.cost,
        )


def _read(model: CharacterModel | Combination, text: bytes | str) -> _Text:
    data = as_bytes(text)
    opened = open_character(data)
    complete, tokens = data[: len(data) - len(opened)], list[int]()
    if not isinstance(model, Combination):
        check_bytes(model.automaton.vocabulary, data)
        tokens = model.automaton.encode(complete)
    return _Text(data, len(complete.decode()) + bool(opened), tokens, not opened)


def _alone(model: CharacterModel | Combination, text: _Text) -> TextScore:
    if isinstance(model, Combination):
        return text.score(model.log_probability(text.data), 0, _UNDEFINED)
    naive = encoding_log_probability(model.model, text.tokens) if text.complete else _UNDEFINED
    return text.score(*_exact(model, text.data, text.tokens), naive)


def _fits(model: CharacterModel, text: bytes) -> bool:
    """Whether the model sees the whole text: no encoding has more tokens than bytes."""
    return model.model.limit is None or len(model.automaton.prefix) + len(text) <= model.model.limit


def _empty_pack(model: CharacterModel | Combination) -> "_Pack | None":
    """A pack for texts of a model whose texts can share contexts."""
    if isinstance(model, Combination) or model.options.estimator != "incremental" or model.options.prune:
        return None
    return _Pack(model)


class _Pack:
    """Short texts whose contexts are one tree, the encodings among them."""

    def __init__(self, model: CharacterModel) -> None:
        self._model = model
        self._evaluator = Evaluator(model.model, model.automaton, truncate=model.options.truncate)
        self._texts: list[tuple[_Text, Incremental, list[Context], list[Context]]] = []
        self._number_of: dict[tuple[int, int], int] = {}  # of each context of the pack, by its parent's and its token
        self._numbers: dict[int, int] = {}  # the same by the object

    @property
    def full(self) -> bool:
        """Whether the texts fill a pass; empty ones add nothing to it."""
        return max(len(self._number_of), len(self._texts)) >= NODES

    def add(self, text: _Text) -> bool:
        """Add a text, unless it is too long and has to be scored alone."""
        if not _fits(self._model, text.data):
            return False
        grown = Incremental(self._model.model, self._model.automaton, self._model.options, evaluator=self._evaluator)
        grown.extend(text.data)
        path = _path(grown, text.tokens)
        for context, token in zip(path, [*text.tokens, self._model.model.end], strict=False):
            context.plain = {**(context.plain or {}), **({} if token is None else {token: np.nan})}
        self._texts.append((text, grown, self._first_met(grown), path))
        return True

    def scores(self) -> Iterator[TextScore]:
        """Score the texts, in one pass where they are short."""
        if not self._texts:
            return
        self._evaluator.evaluate([context for _, grown, _, _ in self._texts for context in grown.wanted()])
        self._evaluator.log_prefix()
        # What the contexts do not explain, such as the start of the model, is the first text's.
        own = [Cost(len(new), 0, len(new), sum(context.undefined for context in new)) for _, _, new, _ in self._texts]
        own[0] += self._evaluator.cost() - sum(own, Cost())
        for (text, grown, _, path), cost in zip(self._texts, own, strict=True):
            exact = TextProbability(grown.log_probability(), grown.log_end(), 0.0, cost)
            yield text.score(exact, 1, self._naive(text, path))
        self._texts = []

    def _naive(self, text: _Text, path: list[Context]) -> tuple[float, float]:
        """log P of the encoding and of the end after it, from the contexts of its path."""
        if not text.complete:
            return _UNDEFINED
        model = self._model.model
        if not path:
            return encoding_log_probability(model, text.tokens)
        plain = [context.plain or {} for context in path]
        found = sum((log_p[token] for log_p, token in zip(plain, text.tokens, strict=False)), 0.0)
        end = np.nan if model.end is None else plain[-1][model.end]
        return (found, end) if found > -np.inf else (-np.inf, np.nan)

    def _first_met(self, text: Incremental) -> list[Context]:
        """The contexts of a text that no text before it has."""
        new = []
        for context in unevaluated(text.wanted()):
            pair = (self._numbers[id(context.parent)] if context.parent else -1, context.token)
            if pair not in self._number_of:
                self._number_of[pair] = len(self._number_of)
                new.append(context)
            self._numbers[id(context)] = self._number_of[pair]
        return new


def _path(text: Incremental, tokens: list[int]) -> list[Context]:
    """The contexts of an encoding, from the root on; none where it is no cover of the text."""
    for cover in reversed(text.covers):
        path = [cover.context]
        while path[-1].parent is not None:
            path.append(path[-1].parent)
        if [context.token for context in path[-2::-1]] == tokens:
            return path[::-1]
    return []


def encoding_log_probability(model: TokenModel, tokens: list[int]) -> tuple[float, float]:
    """log P(tokens) and log P(EOS | tokens) in nats, by the model's probabilities as they are.

    Encodings longer than the context go through windows of tokens, with at least half a window before what counts. The
    second is NaN for a model without EOS; both are -inf and NaN after a context of probability zero.
    """
    room = max(1, len(tokens) if model.limit is None else model.limit)
    log_probability, end = 0.0, float("nan")
    for window in windows(len(tokens), room) if tokens else [Window(0, 0, 0)]:
        part = tokens[window.first : window.end]
        rows = rows_along(model.tree(), part if model.end is not None else part[:-1])
        log_p = [float(log_softmax(next(rows))[token]) for token in part]
        if model.end is not None:
            end = float(log_softmax(next(rows))[model.end])
        log_probability += sum(log_p[window.scored - window.first :])
        if not log_probability > -np.inf:
            return -np.inf, float("nan")
    return log_probability, end


def _exact(model: CharacterModel, text: bytes, tokens: list[int]) -> tuple[TextProbability, int]:
    """The exact probability of a text and of its end, and the number of windows."""
    automaton, limit = model.automaton, model.model.limit
    if limit is None or _fits(model, text):
        return model.log_probability(text), 1
    if model.options.encodings == "all":
        lengths = [1] * (len(automaton.prefix) + len(text))
    else:
        lengths = [len(automaton.vocabulary.tokens[token] or b"") for token in tokens]
    room, least = max(1, limit), max(1, limit // 2)
    while True:
        try:
            return _in_windows(model, text, character_starts(text, lengths, len(automaton.prefix)), room)
        except ContextTooLong:  # Some context of a window has more tokens than the encoding of the window.
            if room <= least:
                raise
            room = max(least, room - max(1, room // 8))


def _in_windows(model: CharacterModel, text: bytes, places: list[int], room: int) -> tuple[TextProbability, int]:
    log_probability, end, pruned, cost, count = 0.0, float("nan"), 0.0, Cost(), 0
    for window in windows(len(places) - 1, room):
        first, scored, last = (places[place] for place in window)
        for sign, part in ((-1, text[first:scored]), (1, text[first:last])):
            if part:
                found = model.log_probability(part)
                log_probability += sign * found.log_probability
                end, pruned, cost = found.end, max(pruned, found.pruned), cost + found.cost
        count += 1
    return TextProbability(log_probability, end, pruned, cost), count


class Window(NamedTuple):
    """A range [first, end) that a model sees at once; [scored, end) is what it is asked about."""

    first: int
    scored: int
    end: int


def windows(length: int, room: int) -> Iterator[Window]:
    """Windows of at most `room` units that score each of `length` units once.

    The first begins at 0 and scores all it sees. Each later one scores what follows the one before, with at least half
    a window before it (none in windows of one unit). Yields nothing for an empty text.
    """
    before = min((room + 1) // 2, room - 1)
    scored = 0
    while scored < length:
        first = max(0, scored - before)
        end = min(length, first + room)
        yield Window(first, scored, end)
        scored = end


def character_starts(text: bytes, lengths: Sequence[int], prefix: int) -> list[int]:
    """Where tokens of a text begin, moved back to the beginning of a character.

    Args:
        lengths: bytes of each token of `prefix` and text; the text may go on by a character that is incomplete.
        prefix: bytes before the text, which belong to no place of it.

    Returns:
        places in the text in ascending order, the first 0 and the last its length: one more than tokens.
    """
    places, at = [0], -prefix
    for length in lengths:
        at += length
        start = min(max(0, at), len(text))
        while 0 < start < len(text) and text[start] & 0xC0 == 0x80:
            start -= 1
        places.append(start)
    if places[-1] != len(text):
        places.append(len(text))
    return places
