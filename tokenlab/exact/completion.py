"""Completion of a prompt that may end inside a word, in three ways side by side.

- exact: from P(text | prompt), the sum over all covers of the prompt.
- plain: the prompt is encoded as it is, and tokens are added. Where the prompt ends inside a token, the model is asked
  about a token sequence that it never saw.
- healing: token healing. The last tokens of the encoding are dropped, and the next token has to begin with their text.
  It repairs prompts that end inside one token; not those whose dropped text the right tokens would divide elsewhere.

Each way has its own probability of what it chose, and the exact one, by which the ways can be compared.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from tokenlab.core.errors import InputError
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.interface import Cost
from tokenlab.exact.options import CompletionOptions, SamplingOptions
from tokenlab.exact.sampling import sample
from tokenlab.exact.token_walk import Place, Walk, check_sums, from_covers, from_encoding, no_way_on
from tokenlab.exact.utf8 import as_bytes, open_character


class Completion(NamedTuple):
    """What one way makes of a prompt."""

    way: str
    """exact, plain or healing"""
    text: str
    """after the prompt; if that ends inside a character, with this character as a whole"""
    ended: bool
    """whether the text ended before the number of characters asked for"""
    log_probability: float
    """of what was chosen, by the way itself, given what it starts from; in nats"""
    exact: float
    """log P(text | prompt), with the end if `ended`; in nats"""
    tokens: tuple[bytes, ...]
    """the tokens chosen, of which the first may begin inside the prompt; none where characters are chosen (exact and
    greedy)"""
    cost: Cost
    """without that of `exact`"""


class Completions(NamedTuple):
    """The three ways side by side."""

    exact: Completion
    plain: Completion
    healing: Completion


def complete(model: CharacterModel, prompt: bytes | str, options: CompletionOptions | None = None) -> Completions:
    """Complete a prompt in three ways.

    With `greedy`, the exact way takes the most probable character each time, the others the most probable token. With
    `sample`, all sample tokens; of the exact way the text is a sample of P(text | prompt). With `beam`, each keeps the
    most probable token sequences, the exact way beginning with all covers.

    Raises:
        ParameterError: probabilities that are not truncated; the estimator `naive`; more covers than max_contexts.
        InputError: a prompt that is not UTF-8, cannot be encoded, or has probability zero.
    """
    check_sums(model, "completion")
    chosen, text = options or CompletionOptions(), as_bytes(prompt)
    opened = open_character(text)
    before = model.log_probability(text)
    return Completions(
        *(
            _judged(model, text, opened, before.log_probability, completion)
            for completion in (
                _exact(model, text, opened, chosen),
                _from_tokens("plain", partial(from_encoding, model.model, model.automaton, text), opened, chosen),
                _from_tokens(
                    "healing", partial(from_encoding, model.model, model.automaton, text, chosen.healed), opened, chosen
                ),
            )
        )
    )


def _exact(model: CharacterModel, text: bytes, opened: bytes, options: CompletionOptions) -> Completion:
    if options.method == "greedy":
        found = sample(model, text, options.length, SamplingOptions(temperature=0))
        return Completion("exact", found.text, found.ended, found.log_probability, np.nan, (), found.cost)
    begin = partial(from_covers, model.model, model.automaton, text, model.options.max_contexts)
    return _from_tokens("exact", begin, opened, options)


def _from_tokens(
    way: str, begin: Callable[[], tuple[Walk, list[Place]]], opened: bytes, options: CompletionOptions
) -> Completion:
    walk, places = begin()
    masses = np.array([walk.log_mass(place) for place in places])
    if not masses.max() > -np.inf:
        raise InputError(f"{way} completion: no token can follow this prompt; give another")
    choose = _sampled if options.method == "sample" else _beam
    chosen = choose(walk, places, opened, options)
    text = _cut(opened, chosen, options.length)
    ended = chosen.ended and len(text) < options.length
    own = chosen.log_probability - float(np.logaddexp.reduce(masses))
    return Completion(way, text, ended, own, np.nan, chosen.tokens, walk.evaluator.cost())


def _judged(model: CharacterModel, prompt: bytes, opened: bytes, before: float, completion: Completion) -> Completion:
    """The completion with its exact probability."""
    found = model.log_probability(prompt[: len(prompt) - len(opened)] + completion.text.encode())
    end = found.end if completion.ended else 0.0
    return completion._replace(exact=found.log_probability + end - before)


def _sampled(walk: Walk, places: list[Place], opened: bytes, options: CompletionOptions) -> Place:
    """A cover by its probability, and token after token."""
    walked = walk.sampled(places, np.random.default_rng(options.seed))
    return next(place for place in walked if _is_done(place, opened, options.length))


def _beam(walk: Walk, places: list[Place], opened: bytes, options: CompletionOptions) -> Place:
    """The most probable of the token sequences that were kept: at each step the best `beams`, done or not.

    `greedy` keeps one: the most probable token each time.
    """
    beams = 1 if options.method == "greedy" else options.beams
    done: list[Place] = []
    while places:
        following = [after for place in places for after in islice(_likeliest(walk, place), beams)]
        best = sorted([*done, *following], key=lambda place: -place.log_probability)[:beams]
        done = [place for place in best if _is_done(place, opened, options.length)]
        places = [place for place in best if not _is_done(place, opened, options.length)]
        walk.evaluate(places)
    if not done:
        raise no_way_on()
    return done[0]


def _likeliest(walk: Walk, place: Place) -> Iterator[Place]:
    """The places after a place, in descending order of probability."""
    p = walk.outcomes(place)
    for outcome in np.argsort(-p, kind="stable").tolist():
        if p[outcome] > 0 and (after := walk.follow(place, outcome, float(np.log(p[outcome])))) is not None:
            yield after


def _is_done(place: Place, opened: bytes, length: int) -> bool:
    return place.ended or len((opened + place.text).decode(errors="ignore")) >= length


def _cut(opened: bytes, place: Place, length: int) -> str:
    return (opened + place.text).decode(errors="ignore")[:length]
