"""Stage `evaluate_exact`: what a causal language model says of characters, exactly and by plain prompting.

On sentences that are held out from the training: bits per character of the text (the sum over its covers) and of the
tokenizer's encoding of it; the bias after prompts that end inside a token, and at the end of one; and how much
probability lies on encodings that the tokenizer never makes. A row for each, in one table.
"""

from typing import Any, Literal

import polars as pl
from pydantic import Field

from tasks.exact.bias import Models, measure, usable
from tasks.exact.held_out import HeldOut, held_out_texts
from tasks.runtime.stage import Parameters, Stage, run, write_json
from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_file
from tokenlab.exact.transformers_model import load


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
    texts = held_out_texts(stage.data("corpora", parameters.corpus), held_out)
    sentences = usable(texts, models)
    if not sentences:
        raise InputError(f"{parameters.corpus}: no held-out sentence that the model can read; hold out more of them")
    short = parameters.short
    found = measure(models, sentences, parameters.scored, parameters.prompts, short.texts, short.bytes, parameters.seed)
    reports = stage.reports("exact", stage.variant)
    rows = [{"name": stage.variant, "corpus": parameters.corpus, **row} for row in found.rows]
    for name, written in (("scores", rows), ("prompts", found.compared)):
        with atomic_file(reports / f"{name}.parquet") as path:
            pl.DataFrame(written, infer_schema_length=None).write_parquet(path)
    facts = {
        "model": parameters.model,
        "corpus": parameters.corpus,
        "vocabulary": len(real.automaton.vocabulary),
        "sentences": len(sentences),
        "left_out": len(texts) - len(sentences),
        "examples": found.examples,
    }
    write_json(reports / "examples.json", facts)
    write_json(reports / "metrics.json", {row["place"]: _values(row) for row in found.rows})


def _values(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "place" and value is not None}


if __name__ == "__main__":
    run(evaluate)
