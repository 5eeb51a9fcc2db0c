"""Texts sampled character by character from a tokenized model.

Every byte is drawn from P(byte | text before it), the sum over all covers, so the text has exactly the distribution
that the model gives to texts. Bytes that would break UTF-8 are never drawn; where the model gives them probability, the
others are renormalised at each byte. If nothing is warped, `token_walk.sample_by_tokens` draws from the same
distribution with one model call a token.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError
from tokenlab.core.options import check_least
from tokenlab.exact.interface import ByteModel, ContextTooLong, Cost
from tokenlab.exact.options import SamplingOptions
from tokenlab.exact.utf8 import as_bytes, character_status, open_character, utf8_following

_END = 256
"""The outcome after all bytes: the text ends."""
_FIRST_SEARCH = 16
"""Characters searched first for top_p; twice as many each time that they are not enough."""


class Drawn(NamedTuple):
    """One step of sampling."""

    character: str
    """a character; "" where the text ends"""
    log_probability: float
    """log P(character | text before it) of the model, before temperature, top_k and top_p"""
    cost: Cost


class Sample(NamedTuple):
    """A sampled continuation of a prompt."""

    text: str
    """without the prompt; if that ends inside a character, with this character as a whole"""
    log_probability: float
    """log P(text | prompt) of the model, with the end if `ended`"""
    ended: bool
    """whether the text ended before the number of characters asked for"""
    cost: Cost


def sample(
    model: ByteModel,
    prompt: bytes | str,
    n: int,
    options: SamplingOptions | None = None,
    *,
    seed: int | np.random.Generator = 0,
) -> Sample:
    """Sample a continuation of at most n characters.

    Raises what `sample_stream` raises.
    """
    text, log_probability, ended, cost = [], 0.0, False, Cost()
    for drawn in sample_stream(model, prompt, n, options, seed=seed):
        text.append(drawn.character)
        log_probability += drawn.log_probability
        ended = not drawn.character
        cost += drawn.cost
    return Sample("".join(text), log_probability, ended, cost)


def sample_stream(
    model: ByteModel,
    prompt: bytes | str,
    n: int,
    options: SamplingOptions | None = None,
    *,
    seed: int | np.random.Generator = 0,
) -> Iterator[Drawn]:
    """Sample characters one by one, at most n, until the text ends.

    Where the text becomes longer than the model's context, the model sees its later half from there on, behind BOS.

    Args:
        prompt: UTF-8; bytes may end inside a character, which is then drawn first, as a whole.
        seed: a seed or a generator of NumPy.

    Raises:
        ParameterError: n is negative.
        InputError: a prompt that is not UTF-8, or one after which the model defines nothing.
    """
    check_least("n", n, 0)
    text = as_bytes(prompt)
    opened = open_character(text)
    return _drawn(model, text, opened, n, options or SamplingOptions(), np.random.default_rng(seed))


def warped(log_p: NDArray[np.float64], options: SamplingOptions, rest: float = 0.0) -> NDArray[np.float64]:
    """The probabilities from which an outcome is drawn: top_k, then top_p, then temperature.

    Args:
        log_p: [outcomes] logarithms, -inf for impossible outcomes, not all; they need not sum to 1.
        rest: probability of outcomes that are not listed; all of them are less probable than those that are. It counts
            in the share of top_p.

    Returns:
        float64[outcomes] with sum 1.
    """
    order = np.argsort(-log_p, kind="stable")
    p = np.exp(log_p[order])
    if options.top_k is not None:
        p, rest = p[: options.top_k], 0.0
    if options.top_p is not None:
        enough = np.searchsorted(np.cumsum(p), options.top_p * (p.sum() + rest) * (1 - 1e-12)) + 1
        p = p[:enough]
    kept = order[: len(p)]
    if options.temperature == 0:
        weight = np.zeros(len(p))
        weight[0] = 1
    else:
        weight = np.exp((log_p[kept] - log_p[kept[0]]) / options.temperature)
    found = np.zeros(len(log_p))
    found[kept] = weight / weight.sum()
    return found


def _drawn(
    model: ByteModel, text: bytes, opened: bytes, n: int, options: SamplingOptions, generator: np.random.Generator
) -> Iterator[Drawn]:
    complete = text[: len(text) - len(opened)]
    while n:
        try:
            drawn = _next(model, complete, opened, options, generator)
        except ContextTooLong:
            if not complete:
                raise
            complete = later_half(complete)
            continue
        yield drawn
        if not drawn.character:
            return
        complete, opened, n = complete + drawn.character.encode(), b"", n - 1


def later_half(text: bytes) -> bytes:
    """The later half of the characters of a text."""
    characters = text.decode()
    return characters[(len(characters) + 1) // 2 :].encode()


def _next(
    model: ByteModel, complete: bytes, opened: bytes, options: SamplingOptions, generator: np.random.Generator
) -> Drawn:
    if not options.warps or options.unit == "bytes":
        return _by_bytes(model, complete, opened, options, generator)[0]
    if options.top_k is None and options.top_p is None and options.temperature > 0:
        return _tempered(model, complete, opened, options, generator)
    return _among_most_probable(model, complete, opened, options, generator)


def _by_bytes(
    model: ByteModel, complete: bytes, opened: bytes, options: SamplingOptions, generator: np.random.Generator
) -> tuple[Drawn, float]:
    """A character byte by byte, and the logarithm of the probability with which it was drawn."""
    log_probability, log_drawn, cost = 0.0, 0.0, Cost()
    while True:
        following = model.next_byte(complete + opened)
        cost += following.cost
        outcomes = np.append(following.log_probability, following.end)
        log_p = np.where(np.append(utf8_following(opened), not opened), outcomes, -np.inf)
        p = warped(_checked(log_p, complete + opened), options)
        drawn = draw(p, generator)
        log_probability += float(outcomes[drawn])
        log_drawn += float(np.log(p[drawn]))
        if drawn == _END:
            return Drawn("", log_probability, cost), log_drawn
        opened += bytes([drawn])
        if character_status(opened) == "whole":
            return Drawn(opened.decode(), log_probability, cost), log_drawn


def _tempered(
    model: ByteModel, complete: bytes, opened: bytes, options: SamplingOptions, generator: np.random.Generator
) -> Drawn:
    """A character c with a probability in proportion to P(c)^(1/T), for T below 1, by rejection.

    Characters are drawn byte by byte with probability Q >= P and kept with P(c)^(1/T) / Q(c) over its largest possible
    value, P(c*)^(1/T - 1) of the most probable character c*. No other characters have to be searched.
    """
    exponent = 1 / options.temperature
    best = model.next_character(complete + opened, 1)
    largest = max([*best.log_probability.tolist(), -np.inf if opened else best.end])
    cost = best.cost
    while True:
        drawn, log_drawn = _by_bytes(model, complete, opened, SamplingOptions(), generator)
        cost += drawn.cost
        log_kept = exponent * drawn.log_probability - log_drawn - (exponent - 1) * largest
        if np.log1p(-generator.random()) < log_kept:
            return drawn._replace(cost=cost)


def _among_most_probable(
    model: ByteModel, complete: bytes, opened: bytes, options: SamplingOptions, generator: np.random.Generator
) -> Drawn:
    """A character of those that top_k and top_p leave."""
    wanted, cost = options.top_k or (1 if options.temperature == 0 else _FIRST_SEARCH), Cost()
    while True:
        found = model.next_character(complete + opened, wanted)
        cost += found.cost
        log_p, rest = np.append(found.log_probability, -np.inf if opened else found.end), float(np.exp(found.rest))
        if len(found.characters) == wanted and not options.top_k and log_p[-1] < log_p[-2]:
            # Characters that were not searched may come before the end.
            rest += float(np.exp(log_p[-1]))
            log_p[-1] = -np.inf
        listed = np.exp(log_p).sum()
        if options.top_p is None or options.top_k or len(found.characters) < wanted:
            break
        if listed >= options.top_p * (listed + rest):
            break
        wanted *= 2
    drawn = draw(warped(_checked(log_p, complete + opened), options, rest), generator)
    character = found.characters[drawn] if drawn < len(found.characters) else ""
    return Drawn(character, float(log_p[drawn]), cost)


def draw(p: NDArray[np.float64], generator: np.random.Generator) -> int:
    """An outcome in proportion to p, float64[outcomes]; never one of 0."""
    total = np.cumsum(p)
    drawn = int(np.searchsorted(total, generator.random() * total[-1], side="right"))
    return min(drawn, int(np.flatnonzero(p)[-1]))  # The product can round up to the total.


def _checked(log_p: NDArray[np.float64], text: bytes) -> NDArray[np.float64]:
    shown = text[-30:].decode(errors="replace")
    if np.isnan(log_p).any():
        raise InputError(
            f"nothing is defined after {shown!r}: its encoding has probability zero; use another estimator"
        )
    if not (log_p > -np.inf).any():
        raise InputError(f"the model gives every character after {shown!r} probability zero; give another prompt")
    return log_p
