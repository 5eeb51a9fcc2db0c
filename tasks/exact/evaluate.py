"""Stage `evaluate_exact`: what a causal language model says of characters, exactly and by plain prompting.

On sentences that are held out from the training: bits per character of the text (the sum over its covers) and of the
tokenizer's encoding of it; the bias after prompts that end inside a token, and at the end of one; and how much
probability lies on encodings that the tokenizer never makes. A row for each, in one table. Beside the bits of the text
stand those of n-grams of the training sentences.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tasks.exact.held_out import HeldOut, held_out_texts, training_texts
from tasks.runtime.stage import Parameters, Stage, run, write_json
from tasks.runtime.tables import nested, write_table
from tokenlab.core.errors import InputError
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.interface import NextBytes, TokenAutomaton, TokenModel
from tokenlab.exact.loading import load
from tokenlab.exact.options import ExactOptions
from tokenlab.exact.scoring import score_texts, total
from tokenlab.exact.vocabulary import Vocabulary
from tokenlab.language.ngrams import fewest_nats

_Rows = list[dict[str, Any]]
ALL, INSIDE, END = "all prompts", "inside a token", "at the end of a token"
"""Where sentences are cut. The prompt alone does not say it: that a token ends here tells of what follows. Naive takes
it for granted everywhere, so it may be better than exact where it is true, and is worse where it is not."""

_SPARE = 8
"""Tokens that a cover may have more than the encoding of a sentence."""

_EXAMPLES = (1.0, 0.99, 0.95, 0.9, 0.75, 0.5)
"""Quantiles of KL(exact || naive) inside tokens at which the prompts of the examples lie."""

_SHORTEST_EXAMPLE = 12
"""Characters of the prompt of an example."""


class ShortTexts(Parameters):
    """Beginnings of sentences of at most `bytes` bytes; the number of their token strings grows as 2^bytes."""

    texts: int = Field(ge=1, le=10**5)
    bytes: int = Field(ge=1, le=13)


class Evaluated(Parameters):
    """A model and the sentences on which it is evaluated: the numbers of sentences that are scored and of prompts."""

    model: str
    corpus: str
    scored: int = Field(ge=1, le=10**6)
    prompts: int = Field(ge=1, le=10**6)
    short: ShortTexts
    seed: int = Field(ge=0)
    threads: int = Field(ge=1)
    device: str
    dtype: Literal["float32", "bfloat16"]


def evaluate(stage: Stage) -> None:
    """Write the table, the prompts one by one, and examples."""
    parameters = stage.parameters(f"exact.evaluated.{stage.variant}", Evaluated)
    held_out = stage.parameters("exact.held_out", HeldOut)
    token_model, real = load(parameters.model, parameters.threads, parameters.device, parameters.dtype)
    models = Models.of(token_model, real.automaton)
    corpus = stage.data("corpora", parameters.corpus)
    texts = held_out_texts(corpus, held_out)
    sentences = usable(texts, models)
    if not sentences:
        raise InputError(f"{parameters.corpus}: no held-out sentence that the model can read; hold out more of them")
    counted = list(training_texts(corpus, held_out))
    scored, compared, examples = measure(models, sentences, counted, parameters)
    reports = stage.reports("exact", stage.variant)
    rows = [{"name": stage.variant, "corpus": parameters.corpus, **row} for row in scored]
    write_table(reports / "scores.parquet", rows)
    write_table(reports / "prompts.parquet", compared)
    facts = {
        "model": parameters.model,
        "corpus": parameters.corpus,
        "vocabulary": len(real.automaton.vocabulary),
        "sentences": len(sentences),
        "left_out": len(texts) - len(sentences),
        "examples": examples,
    }
    write_json(reports / "examples.json", facts)
    write_json(reports / "metrics.json", nested(scored, "place"))


class Models(NamedTuple):
    """One model, asked in three ways."""

    exact: CharacterModel
    naive: CharacterModel
    """all token strings, so that every token may follow; the encoding is that of the tokenizer"""
    untruncated: CharacterModel
    """exact without truncation: what the model gives to impossible tokens is missing from its sums"""

    @classmethod
    def of(cls, model: TokenModel, automaton: TokenAutomaton) -> "Models":
        """The three models over one token model."""
        return cls(
            CharacterModel(model, automaton),
            CharacterModel(model, automaton, ExactOptions("naive", "all")),
            CharacterModel(model, automaton, ExactOptions(truncate=False)),
        )


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


def measure(
    models: Models,
    sentences: Sequence[str],
    counted: Sequence[str],
    parameters: Evaluated,
) -> tuple[_Rows, _Rows, _Rows]:
    """Score random sentences, compare exact and naive after random prompts, and sum over all encodings.

    counted: sentences whose n-grams are the baseline.

    Returns: a row each for `place` (text, all prompts, inside a token, at the end of a token, short text); a row for
    each prompt; and some prompts inside tokens as examples, from the most to the least biased.
    """
    order = np.random.default_rng(parameters.seed).permutation(len(sentences)).tolist()
    drawn = _draw_prompts(sentences, parameters.prompts, parameters.seed, models.exact.automaton)
    compared = [compare(models, prompt) for prompt in drawn]
    scored = [sentences[number] for number in order[: parameters.scored]]
    rows = [{"place": "text", **_scores(models, scored), **_ngram_scores(models, scored, counted)}]
    for place in (ALL, INSIDE, END):
        of_place = [row for row in compared if place in (ALL, row["place"])]
        rows.append({"place": place, **summary(of_place, len(compared))})
    rows.append({"place": "short text", **_all_encodings(models, sentences, parameters.short)})
    examples = [{**example(models, drawn[n]), "kl": compared[n]["kl"]} for n in _chosen(drawn, compared)]
    return rows, compared, examples


def usable(texts: Sequence[str], models: Models) -> list[str]:
    """The sentences that the tokenizer can encode and that fit into the model, of two characters or more."""
    automaton, limit = models.exact.automaton, models.exact.model.limit
    found = []
    for text in texts:
        try:
            tokens = len(automaton.encode(text.encode()))
        except InputError:  # A character that the tokenizer does not have.
            continue
        if len(text) > 1 and (limit is None or tokens + _SPARE <= limit):
            found.append(text)
    return found


def _draw_prompts(sentences: Sequence[str], number: int, seed: int, automaton: TokenAutomaton) -> list[Prompt]:
    """Random sentences, each cut at a random character."""
    generator = np.random.default_rng([seed, 1])
    found = []
    for sentence in generator.integers(len(sentences), size=number):
        places = list(cuts(sentences[sentence], automaton))
        found.append(places[generator.integers(len(places))])
    return found


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


def _scores(models: Models, sentences: Sequence[str]) -> dict[str, Any]:
    """Bits per character of sentences with their ends, where the model ends texts."""
    score = total(score_texts(models.exact, sentences))
    untruncated = total(score_texts(models.untruncated, sentences))
    ends = models.exact.model.end is not None
    exact, naive, raw = (
        (score.exact_bits_with_end, score.naive_bits_with_end, untruncated.exact_bits_with_end)
        if ends
        else (score.exact_bits, score.naive_bits, untruncated.exact_bits)
    )
    return {
        "texts": score.texts,
        "characters": score.characters,
        "bytes": score.bytes,
        "tokens": score.tokens,
        "exact_bits_per_character": score.per_character(exact),
        "naive_bits_per_character": score.per_character(naive),
        "untruncated_bits_per_character": score.per_character(raw),
        "exact_bits_without_end": score.per_character(score.exact_bits),
        "naive_bits_without_end": score.per_character(score.naive_bits),
        "calls_per_byte": score.per_byte(score.cost.contexts),
        "tokens_per_byte": score.per_byte(score.cost.tokens),
        "passes_per_byte": score.per_byte(score.cost.passes),
        "naive_calls_per_byte": score.per_byte(score.tokens + score.texts),
    }


def _ngram_scores(models: Models, sentences: Sequence[str], counted: Sequence[str]) -> dict[str, Any]:
    """Bits per character of sentences, with their ends where the model ends texts, by n-grams of other sentences."""
    end = "" if models.exact.model.end is None else "\n"
    nats = fewest_nats([text + end for text in counted], [text + end for text in sentences])
    return {
        "ngram_bits_per_character": float(nats / np.log(2)) / sum(map(len, sentences)),
        "ngram_characters": sum(map(len, counted)),
    }


def _all_encodings(models: Models, sentences: Sequence[str], short: ShortTexts) -> dict[str, Any]:
    """The probability of short texts over all encodings, and over those that the tokenizer makes.

    Both without truncation, so that the second is a part of the first. never_made: the share of the rest, its mean over
    texts.
    """
    texts: list[str] = []
    for sentence in dict.fromkeys(_beginning(sentence, short.bytes) for sentence in sentences):
        if sentence and len(texts) < short.texts:
            texts.append(sentence)
    options = replace(models.untruncated.options, encodings="all")
    every = CharacterModel(models.exact.model, models.exact.automaton, options)
    pairs = [(models.untruncated.log_probability(text), every.log_probability(text)) for text in texts]
    characters = sum(map(len, texts))
    made, of_all = (-sum(pair[which].log_probability for pair in pairs) / np.log(2) for which in (0, 1))
    return {
        "texts": len(texts),
        "characters": characters,
        "bytes": sum(len(text.encode()) for text in texts),
        "valid_bits_per_character": made / characters,
        "all_bits_per_character": of_all / characters,
        "never_made": float(np.mean([-np.expm1(one.log_probability - all.log_probability) for one, all in pairs])),
        "calls": float(np.mean([all.cost.contexts for _, all in pairs])),
    }


def _beginning(sentence: str, size: int) -> str:
    """The first characters of a sentence, of at most `size` bytes."""
    return sentence.encode()[:size].decode("utf-8", "ignore")


def _chosen(prompts: Sequence[Prompt], compared: Sequence[dict[str, Any]]) -> list[int]:
    """Prompts inside tokens at some quantiles of the bias."""
    candidates = [
        number
        for number, row in enumerate(compared)
        if row["place"] == INSIDE and row["kl"] is not None and len(prompts[number].text) >= _SHORTEST_EXAMPLE
    ]
    ranked = sorted(candidates, key=lambda number: (compared[number]["kl"], number))
    return list(dict.fromkeys(ranked[round(quantile * (len(ranked) - 1))] for quantile in _EXAMPLES if ranked))


if __name__ == "__main__":
    run(evaluate)
