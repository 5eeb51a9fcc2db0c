"""Token sequences that go on from a prompt, in the tree of a model: what sampling by tokens and completion share.

A walk begins at covers: contexts that spell the prompt or a beginning of it, each with the range of tokens that may
come next. There are three ways to begin: at all covers of the prompt (exact), at its encoding (plain prompting), or
before the last tokens of its encoding, with the text of these to be spelled again (token healing).
"""

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.options import check_least
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.covers import Cover, Covers, Evaluator
from tokenlab.exact.encoders.every import EveryEncoding
from tokenlab.exact.interface import ContextTooLong, TokenAutomaton, TokenModel
from tokenlab.exact.sampling import draw, later_half
from tokenlab.exact.utf8 import as_bytes, open_character


@dataclass(frozen=True)
class Place:
    """A place that a walk has reached."""

    cover: Cover
    """the context, and the tokens that may follow"""
    text: bytes
    """what the tokens spell beyond the prompt"""
    ended: bool = False
    """whether EOS was chosen"""
    log_probability: float = 0.0
    """of the tokens, and of EOS if `ended`, in nats; without those of the prompt for plain prompting and healing"""
    tokens: tuple[bytes, ...] = ()
    """the tokens chosen on the walk"""


class Walk:
    """Places in one tree of a model.

    prompt: with the prefix of the automaton, if it has one.
    """

    def __init__(self, evaluator: Evaluator, prompt: bytes) -> None:
        self.evaluator, self.prompt = evaluator, prompt
        self._vocabulary = evaluator.automaton.vocabulary
        self._opened = open_character(prompt)

    def evaluate(self, places: Sequence[Place]) -> None:
        """Ask the model about places that it was not asked about, in one pass, and forget all others."""
        contexts = [place.cover.context for place in places if not place.ended]
        self.evaluator.evaluate(contexts)
        self.evaluator.tree.keep([context.number for context in contexts if context.number is not None])

    def outcomes(self, place: Place) -> NDArray[np.float64]:
        """[tokens of the range + 1] probabilities of the tokens that may follow, and of the end; not renormalised."""
        cover = place.cover
        assert cover.tokens is not None
        tokens = cover.tokens[cover.low - cover.offset : cover.high - cover.offset]
        may_end = cover.context.length >= len(self.prompt) or cover.low == cover.high
        return np.append(tokens, cover.end if may_end else 0.0)

    def log_mass(self, place: Place) -> float:
        """log P(the tokens of the place, and one that may follow), in nats."""
        share = float(self.outcomes(place).sum())
        return place.log_probability + log(share) if share > 0 else -inf

    def follow(self, place: Place, outcome: int, log_p: float) -> Place | None:
        """The place after an outcome, None where the text would not be UTF-8 any more.

        log_p: logarithm of the outcome's probability.
        """
        cover, context = place.cover, place.cover.context
        position = cover.low + outcome
        log_p += place.log_probability
        if position == cover.high:
            is_open = bool(open_character(self._opened + place.text))
            return None if is_open else Place(cover, place.text, True, log_p, place.tokens)
        token, spelled = int(self._vocabulary.ids[position]), self._vocabulary.spelling(position)
        text = place.text + spelled[max(0, len(self.prompt) - context.length) :]
        child = context.child(self.evaluator.automaton, token)
        if child is None or not _begins_utf8(self._opened + text):
            return None
        child.log_probability = log_p
        return Place(Cover(child, len(self._vocabulary)), text, False, log_p, (*place.tokens, spelled))

    def sampled(self, places: Sequence[Place], generator: np.random.Generator) -> Iterator[Place]:
        """Draw one of the places by its mass, and yield the places after each further token, until the text ends."""
        masses = np.array([self.log_mass(place) for place in places])
        place = places[draw(np.exp(masses - masses.max()), generator)]
        while not place.ended:
            place = self._drawn(place, generator)
            yield place
            self.evaluate([place])

    def _drawn(self, place: Place, generator: np.random.Generator) -> Place:
        """Draw a token or the end. What would break UTF-8 is left out, and the others are renormalised."""
        p = self.outcomes(place)
        while p.any():
            drawn = draw(p, generator)
            if (after := self.follow(place, drawn, float(np.log(p[drawn])))) is not None:
                return after
            p[drawn] = 0
        raise no_way_on()


def no_way_on() -> InputError:
    """The error for a walk that cannot go on."""
    return InputError("no token goes on in valid UTF-8 here; use `encodings: valid`")


def check_sums(model: CharacterModel, what: str) -> None:
    """Raise ParameterError for a model that does not sum truncated probabilities over the covers."""
    if model.options.estimator == "naive":
        raise ParameterError(f"estimator is naive, but {what} sums over covers; use incremental")
    if not model.options.truncate:
        raise ParameterError(f"truncate: {what} needs truncated probabilities; leave it out")


def from_covers(
    model: TokenModel, automaton: TokenAutomaton, prompt: bytes, max_contexts: int
) -> tuple[Walk, list[Place]]:
    """A walk from all covers of a prompt, with truncated probabilities, evaluated.

    Raises InputError for a prompt of probability zero, ParameterError for more covers than `max_contexts`.
    """
    evaluator = Evaluator(model, automaton, truncate=True)
    covers = Covers(automaton, evaluator.root, max_contexts=max_contexts)
    for byte in automaton.prefix + prompt:
        covers.advance(byte)
        covers.check(prunable=False)
    walk, begun = Walk(evaluator, automaton.prefix + prompt), covers.covers
    if automaton.prefix and not prompt:
        # An empty text may have no tokens at all, not even those of the prefix: no token, only the end.
        begun = [*begun, Cover(evaluator.root, 0)]
    evaluator.evaluate([cover.context for cover in begun])
    places = [Place(cover, b"", log_probability=cover.context.log_probability or 0.0) for cover in begun]
    possible = [place for place in places if walk.log_mass(place) > -inf]
    if not possible:
        shown = prompt[-30:].decode(errors="replace")
        raise InputError(f"the model gives the prompt ...{shown!r} probability zero; give another prompt")
    return walk, possible


def from_encoding(
    model: TokenModel, automaton: TokenAutomaton, prompt: bytes, dropped: int = 0
) -> tuple[Walk, list[Place]]:
    """A walk from the encoding of a prompt, evaluated; nothing is known of which tokens can follow which.

    Args:
        prompt: of a character that is incomplete at its end, the bytes are what the next token has to begin with.
        dropped: tokens at the end of the encoding whose text the next token has to begin with; fewer where there are
            not so many, or where no token begins with their text. 0 is plain prompting, more is token healing.

    Raises InputError for a prompt that cannot be encoded, or that no token completes.
    """
    every = EveryEncoding(automaton.vocabulary, automaton.encode)
    evaluator = Evaluator(model, every, truncate=True)
    vocabulary, text = automaton.vocabulary, automaton.prefix + prompt
    tokens = automaton.encode(prompt[: len(prompt) - len(open_character(prompt))])
    spelled = [vocabulary.tokens[token] or b"" for token in tokens]
    for kept in range(max(0, len(tokens) - dropped), len(tokens) + 1):
        rest = text[sum(map(len, spelled[:kept])) :]
        low, high = vocabulary.beginning_with(rest) if rest else (0, len(vocabulary))
        if low < high:
            break
    else:
        shown = "".join(f"{byte:02X}" for byte in open_character(prompt))
        raise InputError(f"no token begins with the bytes {shown} at the end of the prompt; complete the character")
    context = evaluator.root
    for token in tokens[:kept]:
        following = context.child(every, token)
        assert following is not None
        context = following
    cover = Cover(context, len(vocabulary))
    evaluator.evaluate([context])
    cover.low, cover.high = low, high
    return Walk(evaluator, text), [Place(cover, b"")]


def _begins_utf8(text: bytes) -> bool:
    try:
        open_character(text)
    except InputError:
        return False
    return True


def sample_by_tokens(
    model: CharacterModel, prompt: bytes | str, n: int, *, seed: int | np.random.Generator = 0
) -> Iterator[str]:
    """Sample a continuation of at most n characters, and yield it in pieces as tokens complete characters.

    P(text | it starts with the prompt) is a mixture over the covers of the prompt. So a cover is drawn by its
    probability given the prompt, and then token after token from the truncated distributions, one model call a token:
    the texts have exactly the distribution of those of `sampling.sample`. The same seed gives another text.
    Temperature, top_k and top_p need the distribution of the next character, which is never computed here.

    The text has ended if fewer come. If the prompt ends inside a character, the first piece begins with it as a whole.
    Where the text becomes longer than the model's context, the model sees its later half from there on, behind BOS.

    Args:
        model: its estimator does not matter, except that `naive` sums over no covers and is refused.
        prompt: UTF-8; bytes may end inside a character.
        seed: a seed or a generator of NumPy.

    Raises:
        ParameterError: n is negative; the estimator `naive`, or probabilities that are not truncated.
        InputError: a prompt that is not UTF-8, or has probability zero.
    """
    check_least("n", n, 0)
    check_sums(model, "sampling by tokens")
    text = as_bytes(prompt)
    opened = open_character(text)
    return _pieces(model, text[: len(text) - len(opened)], opened, n, np.random.default_rng(seed))


def _pieces(
    model: CharacterModel, complete: bytes, opened: bytes, n: int, generator: np.random.Generator
) -> Iterator[str]:
    while n:
        begun, spelled = complete + opened, 0
        decoder = codecs.getincrementaldecoder("utf-8")()
        decoder.decode(opened)
        try:
            walk, places = from_covers(model.model, model.automaton, begun, model.options.max_contexts)
            for place in walk.sampled(places, generator):
                if place.ended:
                    return
                piece = decoder.decode(place.text[spelled:])[:n]
                spelled, n = len(place.text), n - len(piece)
                complete, opened = complete + piece.encode(), decoder.getstate()[0]
                if piece:
                    yield piece
                if not n:
                    return
        except ContextTooLong:
            if not complete:
                raise
            complete = later_half(complete)
