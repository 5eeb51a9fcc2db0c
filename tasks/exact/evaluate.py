"""Stage `evaluate_exact`: what a causal language model says of characters, exactly and by plain prompting.

On sentences that are held out from the training: bits per character of the text (the sum over its covers) and of the
tokenizer's encoding of it; the bias after prompts that end inside a token, and at the end of one; and how much
probability lies on encodings that the tokenizer never makes. A row for each, in one table.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl
from pydantic import Field

from tasks.exact.bias import ALL, END, INSIDE, Models, Prompt, compare, cuts, example, summary
from tasks.exact.held_out import HeldOut, held_out_texts
from tasks.runtime.stage import Parameters, Stage, run, write_json
from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_file
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.interface import TokenAutomaton, TokenModel
from tokenlab.exact.options import ExactOptions
from tokenlab.exact.scoring import score_texts, total
from tokenlab.exact.transformers_model import load

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
    models = _models(token_model, real.automaton)
    texts = held_out_texts(stage.data("corpora", parameters.corpus), held_out)
    sentences = _usable(texts, real.automaton, token_model.limit)
    if not sentences:
        raise InputError(f"{parameters.corpus}: no held-out sentence that the model can read; hold out more of them")
    order = np.random.default_rng(parameters.seed).permutation(len(sentences)).tolist()

    scored = [sentences[number] for number in order[: parameters.scored]]
    prompts = _draw_prompts(sentences, parameters.prompts, parameters.seed, real.automaton)
    compared = [compare(models, prompt) for prompt in prompts]
    key = {"name": stage.variant, "corpus": parameters.corpus}
    rows = [{**key, "place": "text", **_scores(models, scored)}]
    for place in (ALL, INSIDE, END):
        of_place = [row for row in compared if place in (ALL, row["place"])]
        rows.append({**key, "place": place, **summary(of_place, len(compared))})
    rows.append({**key, "place": "short text", **_all_encodings(models, sentences, parameters.short)})
    reports = stage.reports("exact", stage.variant)
    table = pl.DataFrame(rows, infer_schema_length=None)
    for name, written in (("scores", table), ("prompts", pl.DataFrame(compared, infer_schema_length=None))):
        with atomic_file(reports / f"{name}.parquet") as path:
            written.write_parquet(path)
    chosen = _chosen(prompts, compared)
    facts = {
        "model": parameters.model,
        "corpus": parameters.corpus,
        "vocabulary": len(real.automaton.vocabulary),
        "sentences": len(sentences),
        "left_out": len(texts) - len(sentences),
        "examples": [{**example(models, prompts[n]), "kl": compared[n]["kl"]} for n in chosen],
    }
    write_json(reports / "examples.json", facts)
    write_json(reports / "metrics.json", {row["place"]: _without_key(row, key) for row in rows})


def _models(model: TokenModel, automaton: TokenAutomaton) -> Models:
    exact = ExactOptions()
    return Models(
        CharacterModel(model, automaton, exact),
        CharacterModel(model, automaton, replace(exact, estimator="naive", encodings="all")),
        CharacterModel(model, automaton, replace(exact, truncate=False)),
    )


def _usable(texts: Sequence[str], automaton: TokenAutomaton, limit: int | None) -> list[str]:
    """The sentences that the tokenizer can encode and that fit into the model, of two characters or more."""
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


def _without_key(row: dict[str, Any], key: dict[str, str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in key and name != "place" and value is not None}


if __name__ == "__main__":
    run(evaluate)
