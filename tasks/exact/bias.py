"""The bias of plain prompting at one place of a text: exact and naive distributions of the next byte, compared.

Naive is what a tokenized model is asked in practice: the tokenizer's encoding of the prompt, and all tokens that may
follow by the model. Outcomes are the 256 bytes and the end of the text.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.interface import NextBytes, TokenAutomaton, TokenModel
from tokenlab.exact.vocabulary import Vocabulary

ALL, INSIDE, END = "all prompts", "inside a token", "at the end of a token"
"""Where sentences are cut. The prompt alone does not say it: that a token ends here tells of what follows. Naive takes
it for granted everywhere, so it may be better than exact where it is true, and is worse where it is not."""


class Models(NamedTuple):
    """One model, asked in three ways."""

    exact: CharacterModel
    naive: CharacterModel
    """all token strings, so that every token may follow; the encoding is that of the tokenizer"""
    untruncated: CharacterModel
    """exact without truncation: what the model gives to impossible tokens is missing from its sums"""


class Prompt(NamedTuple):
    """The beginning of a sentence."""

    text: str
    true: str
    """the character that follows"""
    depth: int
    """bytes of the prompt since the last end of a token of the encoded sentence; 0 at an end"""

    @property
    def place(self) -> str:
        """Where the sentence is cut."""
        return INSIDE if self.depth else END


def cuts(sentence: str, automaton: TokenAutomaton) -> Iterator[Prompt]:
    """The sentence cut after each character but the last."""
    tokens = automaton.encode(sentence.encode())
    lengths = [len(automaton.vocabulary.tokens[token] or b"") for token in tokens]
    ends = np.cumsum(lengths) - len(automaton.prefix)
    place = 0
    for number, character in enumerate(sentence[:-1], 1):
        place += len(character.encode())
        last = int(np.searchsorted(ends, place, side="right"))
        yield Prompt(sentence[:number], sentence[number], place - (int(ends[last - 1]) if last else 0))


def compare(models: Models, prompt: Prompt) -> dict[str, Any]:
    """Exact and naive after one prompt: a row of the table of prompts.

    kl: KL(exact || naive) in bits; total_variation, differs (whether the most probable outcomes differ): None where
    naive is undefined. exact, naive: log2 P(true next byte). calls, tokens: of the exact distribution.
    missing: what the sums fall short of 1 without truncation.
    """
    exact, naive = models.exact.next_byte(prompt.text), models.naive.next_byte(prompt.text)
    row: dict[str, Any] = {
        "place": prompt.place,
        "depth": prompt.depth,
        "bytes": len(prompt.text.encode()),
        "undefined": bool(np.isnan(naive.log_probability).all()),
        "calls": exact.cost.contexts,
        "tokens": exact.cost.tokens,
        "naive_calls": naive.cost.contexts,
        "missing": max(0.0, -float(np.expm1(models.untruncated.next_byte(prompt.text).total))),
    }
    byte = prompt.true.encode()[0]
    row |= {"exact": _log2(exact, byte), "naive": None if row["undefined"] else _log2(naive, byte)}
    return row | (dict.fromkeys(("kl", "total_variation", "differs")) if row["undefined"] else distances(exact, naive))


def _log2(found: NextBytes, byte: int) -> float:
    return float(found.log_probability[byte] / np.log(2))


def distances(exact: NextBytes, naive: NextBytes) -> dict[str, Any]:
    """How far the naive distribution is from the exact one."""
    p, q = _outcomes(exact), _outcomes(naive)
    possible = p > -np.inf
    kl = float((np.exp(p[possible]) * (p[possible] - q[possible])).sum() / np.log(2))
    return {
        "kl": max(kl, 0.0),  # rounding
        "total_variation": float(np.abs(np.exp(p) - np.exp(q)).sum() / 2),
        "differs": bool(p.argmax() != q.argmax()),
    }


def _outcomes(found: NextBytes) -> NDArray[np.float64]:
    """[257] log P of each byte and of the end, normalised."""
    return np.append(found.log_probability, found.end) - found.total


def example(models: Models, prompt: Prompt, best: int = 5) -> dict[str, Any]:
    """A prompt with its tokens and the most probable characters by both, for the report."""
    vocabulary = models.exact.automaton.vocabulary
    tokens = models.exact.automaton.encode(prompt.text.encode())
    found = models.exact.next_character(prompt.text, best)
    return {
        "prompt": prompt.text,
        "tokens": [(vocabulary.tokens[token] or b"").decode("utf-8", "replace") for token in tokens],
        "true": prompt.true,
        "exact": list(zip(found.characters, np.exp(found.log_probability).tolist(), strict=True)),
        "naive": naive_characters(models.naive.model, vocabulary, tokens, best),
    }


def naive_characters(
    model: TokenModel, vocabulary: Vocabulary, tokens: Sequence[int], best: int
) -> list[tuple[str, float]]:
    """The most probable characters after an encoding, best first: sums over all tokens that begin with a character.

    Tokens that begin with a part of a character count for none.
    """
    tree = model.tree()
    logits = tree.root()
    if tokens:
        logits = tree.extend(range(len(tokens)), tokens)[-1]
    exponents = np.exp(logits.astype(np.float64) - logits.max())
    sums: dict[str, float] = defaultdict(float)
    for token, spelled in enumerate(vocabulary.tokens):
        character = (spelled or b"").decode("utf-8", "replace")[:1]
        if spelled and spelled.startswith(character.encode()):
            sums[character] += float(exponents[token] / exponents.sum())
    return sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:best]


def summary(rows: Sequence[dict[str, Any]], of_all: int) -> dict[str, Any]:
    """Means over prompts; those of comparisons over the prompts where naive is defined.

    of_all: prompts of all places together.
    """
    numbers = {name: [row[name] for row in rows if row[name] is not None] for name in rows[0]} if rows else {}

    def mean(name: str) -> float | None:
        return float(np.mean(numbers[name])) if numbers.get(name) else None

    total = sum(numbers.get("bytes", []))
    return {
        "texts": len(rows),
        "share": len(rows) / of_all,
        "kl": mean("kl"),
        "total_variation": mean("total_variation"),
        "differs": mean("differs"),
        "undefined": mean("undefined"),
        "exact_next_bits": _negative(mean("exact")),
        "naive_next_bits": _negative(mean("naive")),
        "exact_next_probability": _mean_power(numbers.get("exact", [])),
        "naive_next_probability": _mean_power(numbers.get("naive", [])),
        "missing": mean("missing"),
        "missing_max": max(numbers.get("missing", []), default=None),
        "calls": mean("calls"),
        "naive_calls": mean("naive_calls"),
        "calls_per_byte": sum(numbers["calls"]) / total if total else None,
        "tokens_per_byte": sum(numbers["tokens"]) / total if total else None,
    }


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def _mean_power(logs: list[float]) -> float | None:
    """The mean of probabilities that are given as log2."""
    return float(np.exp2(logs).mean()) if logs else None
