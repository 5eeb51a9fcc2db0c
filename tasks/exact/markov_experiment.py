"""Stage `markov_experiment`: figures 3 and 7 of the tokenization-bias paper as numbers.

For every context of `order` characters: the chain's own probability of the next character, and what the estimators say
after prompts of different lengths that end in this context. They ask two models of each vocabulary: the exact tokenized
model of the chain (appendix F), which shows what the theory predicts, and the trained one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from pydantic import Field

from tasks.exact.vocabularies import ChainParameters, MarkovVocabulary, model_name, tokenizer_of
from tasks.runtime.pool import pooled
from tasks.runtime.stage import Parameters, Stage, run, write_json
from tasks.runtime.tables import nested, write_table
from tokenlab.core.errors import InputError
from tokenlab.exact.character_model import CharacterModel
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.encoders.every import EveryEncoding
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.interface import TokenAutomaton, TokenModel
from tokenlab.exact.options import Estimator, ExactOptions
from tokenlab.exact.paper.chain import MarkovChain
from tokenlab.exact.paper.tokenized import TokenizedModel
from tokenlab.exact.transformers_model import TransformersModel
from tokenlab.exact.vocabulary import Vocabulary
from tokenlab.pretrained.loading import load_model
from tokenlab.tokenizers.alphabet import START_ID

_MOST_DRAWS = 100
"""Draws of texts in search of prompts; a context that is rarer than once in so many texts is an error."""


class Prompts(Parameters):
    """How many prompts end in each context, and the characters of the longest."""

    count: int = Field(ge=1, le=10**6)
    longest: int = Field(ge=2, le=10**5)


class Job(NamedTuple):
    """One model with all its prompts."""

    vocabulary: str
    seed: int
    name: Literal["exact", "trained"]
    model: TokenModel
    automaton: TokenAutomaton
    estimators: tuple[Estimator, ...]


def experiment(stage: Stage) -> None:
    """Write the probabilities of all estimators, and how far they are from the truth."""
    section = f"exact.markov.{stage.variant}"
    chains = stage.parameters(f"{section}.chain", ChainParameters)
    vocabularies = stage.parameters(f"{section}.vocabularies", dict[str, MarkovVocabulary])
    wanted = stage.parameters(f"{section}.prompts", Prompts)
    chain_of = {seed: chains.chain(seed) for seed in chains.seeds}
    prompts = {seed: draw_prompts(chain_of[seed], wanted, seed) for seed in chains.seeds}

    def work(job: Job) -> list[dict[str, Any]]:
        place = {"experiment": stage.variant, "vocabulary": job.vocabulary, "seed": job.seed, "model": job.name}
        return [
            {**place, "estimator": estimator, **row}
            for estimator in job.estimators
            for row in rows_of(estimator, job.model, job.automaton, chain_of[job.seed], prompts[job.seed])
        ]

    jobs = list(_jobs(stage, chain_of, vocabularies, prompts))
    scores = pl.DataFrame([row for rows in pooled(work, jobs, "estimating") for row in rows], infer_schema_length=None)
    summary = summarised(scores)
    reports = stage.reports("markov", stage.variant)
    write_table(reports / "scores.parquet", scores)
    write_table(reports / "summary.parquet", summary)
    write_json(reports / "metrics.json", _metrics(summary))


def draw_prompts(chain: MarkovChain, wanted: Prompts, seed: int) -> dict[str, list[str]]:
    """Context -> prompts that end in it: beginnings of random texts, cut at a random place where the context ends.

    Raises InputError for a context that hardly ever occurs.
    """
    contexts = ["".join(characters) for characters in product(chain.alphabet, repeat=chain.order)]
    found: dict[str, list[str]] = {context: [] for context in contexts}
    generator = np.random.default_rng([seed, 3])
    for _ in range(_MOST_DRAWS):
        for text in chain.sample(generator, wanted.longest, wanted.count):
            ends = defaultdict(list)
            for end in range(chain.order + 1, len(text) + 1):
                ends[text[end - chain.order : end]].append(end)
            for context, places in sorted(ends.items()):
                if len(found[context]) < wanted.count:
                    found[context].append(text[: generator.choice(places)])
        if all(len(prompts) == wanted.count for prompts in found.values()):
            return found
    rare = min(contexts, key=lambda context: len(found[context]))
    raise InputError(f"{rare} ends only {len(found[rare])} prompts of this chain (seed {seed}); take another seed")


def _jobs(
    stage: Stage,
    chains: Mapping[int, MarkovChain],
    vocabularies: Mapping[str, MarkovVocabulary],
    prompts: Mapping[int, dict[str, list[str]]],
) -> Iterator[Job]:
    for name, vocabulary in vocabularies.items():
        # The paper's algorithm for maximum prefixes is not one for BPE.
        estimators: tuple[Estimator, ...] = ("naive", "bpc", "incremental")
        if vocabulary.encoder == "maximum-prefix":
            estimators = ("naive", "mpc", "bpc", "incremental")
        for seed, chain in chains.items():
            texts = [text for some in prompts[seed].values() for text in some]
            automaton = checked_automaton(vocabulary, chain.alphabet, texts)
            trained = load_model(stage.models("markov", stage.variant, model_name(name, seed))).model
            yield Job(name, seed, "exact", TokenizedModel(chain, automaton), automaton, estimators)
            yield Job(
                name, seed, "trained", TransformersModel(trained, start=(START_ID,), end=None), automaton, estimators
            )


def checked_automaton(vocabulary: MarkovVocabulary, alphabet: Iterable[str], texts: Iterable[str]) -> TokenAutomaton:
    """The encodings of endless texts by a vocabulary, as the estimators need them.

    Raises InputError where it encodes one of the `texts` otherwise than the tokenizer.
    """
    tokens = vocabulary.spelled(characters := tuple(alphabet))
    spelled = Vocabulary([None, *(token.encode() for token in tokens)])
    automaton: TokenAutomaton
    if vocabulary.encoder == "byte-pair":
        ids = {token: number for number, token in enumerate(tokens, START_ID + 1)}
        merges = [(ids[left], ids[right], ids[left + right]) for left, right in vocabulary.merges]
        automaton = BytePair(spelled, merges, has_end=False)
    else:
        automaton = MaximumPrefix(spelled, has_end=False)
    tokenizer = tokenizer_of(vocabulary, characters).tokenizer
    for text in texts:
        if automaton.encode(text.encode()) != tokenizer.encode(text, add_special_tokens=False).ids:
            raise InputError(f"{text!r} is encoded in two ways; the vocabulary is not what its encoder takes it for")
    return automaton


def rows_of(
    estimator: Estimator,
    model: TokenModel,
    automaton: TokenAutomaton,
    chain: MarkovChain,
    prompts: Mapping[str, list[str]],
) -> Iterator[dict[str, Any]]:
    """What one estimator says of each next character after the prompts of each context, beside the truth.

    `probability` and `sd` are of the prompts where it is defined, null where it is nowhere.
    """
    encodings = automaton
    if estimator == "naive":  # As a tokenized model is prompted: all its tokens may follow.
        encodings = EveryEncoding(automaton.vocabulary, automaton.encode, automaton.prefix)
    for context, texts in prompts.items():
        answers = [CharacterModel(model, encodings, ExactOptions(estimator)).next_byte(text) for text in texts]
        truth = chain.next_character(context)
        for character, right in zip(chain.alphabet, truth, strict=True):
            probability = np.exp([answer.log_probability[ord(character)] for answer in answers])
            defined = probability[~np.isnan(probability)]
            yield {
                "context": context,
                "next": character,
                "truth": float(right),
                "probability": float(defined.mean()) if len(defined) else None,
                "sd": float(defined.std()) if len(defined) else None,
                "deviation": float(np.abs(defined - right).mean()) if len(defined) else None,
                "prompts": len(texts),
                "undefined": 1 - len(defined) / len(texts),
                "calls": float(np.mean([answer.cost.contexts for answer in answers])),
                "passes": float(np.mean([answer.cost.passes for answer in answers])),
            }


def _metrics(summary: pl.DataFrame) -> dict[str, Any]:
    """Errors by vocabulary, model and estimator, means over the seeds."""
    names = ["mean_error", "max_error", "mean_error_biased", "undefined", "calls"]
    means = summary.group_by("vocabulary", "model", "estimator", maintain_order=True).agg(
        *(pl.col(name).max() if name.startswith("max") else pl.col(name).mean() for name in names)
    )
    return nested(means.iter_rows(named=True), "vocabulary", "model", "estimator", values=names)


_BIASED = 0.2
"""The theory predicts a bias where the naive estimator of the exact model is wrong by more than this."""


def summarised(scores: pl.DataFrame) -> pl.DataFrame:
    """A row for each estimator of each model: absolute errors of the probabilities, means and maxima over contexts.

    `biased`: the same over the contexts where the theory predicts that naive is wrong by more than 0.2, null where
    there is none.
    """
    key = ["experiment", "vocabulary", "seed", "model", "estimator"]
    place = ["experiment", "vocabulary", "seed", "context", "next"]
    errors = scores.with_columns(error=(pl.col("probability") - pl.col("truth")).abs())
    predicted = errors.filter(model="exact", estimator="naive").select(*place, biased=pl.col("error") > _BIASED)
    return (
        errors.join(predicted, on=place, how="left", maintain_order="left")
        .group_by(key, maintain_order=True)
        .agg(
            pl.col("error").mean().alias("mean_error"),
            pl.col("error").max().alias("max_error"),
            pl.col("error").filter(pl.col("biased")).mean().alias("mean_error_biased"),
            pl.col("deviation").mean().alias("mean_deviation"),
            pl.col("biased").sum().alias("biased"),
            pl.col("undefined", "calls", "passes").mean(),
            pl.len().alias("probabilities"),
        )
    )


if __name__ == "__main__":
    run(experiment)
