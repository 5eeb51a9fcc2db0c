"""The exact family as a pipeline, and what its experiments find."""

import json

import numpy as np
import polars as pl
import pytest
from workspace import SMALL_EXACT

from tasks.exact.evaluate import evaluate
from tasks.exact.markov_experiment import Prompts, draw_prompts, experiment, summarised
from tasks.exact.markov_model import Job, train_models, training_sequences
from tasks.exact.train_lm import train_model
from tasks.exact.vocabularies import ChainParameters, MarkovVocabulary, tokenizer_of
from tasks.runtime.stage import Stage, write_json
from tokenlab.core.errors import InputError
from tokenlab.exact.paper.chain import MarkovChain
from tokenlab.generated import generate
from tokenlab.text.store import read_corpus, write_corpus


def stage(variant):
    return Stage("params.yaml", "sample", variant, {"exact": SMALL_EXACT})


@pytest.fixture(scope="module")
def folder(workdir):
    """The working directory of the tests, with all stages of the family run."""
    write_corpus(generate("en", sentences=300, seed=0), "data/sample/corpora/en")
    write_json(stage("en").reports("corpora", "en.json"), {"origin": "generated", "notes": []})
    train_models(stage("chain"))
    experiment(stage("chain"))
    train_model(stage("en"))
    evaluate(stage("en"))
    return workdir


def test_corrected_estimators_of_the_exact_model_find_the_chain(folder):
    scores = pl.read_parquet(folder / "reports/sample/markov/chain/scores.parquet")
    exact = scores.filter(pl.col("estimator") != "naive", model="exact")
    assert set(exact["estimator"]) == {"mpc", "bpc", "incremental"}
    assert (exact["probability"] - exact["truth"]).abs().max() < 1e-12 and exact["undefined"].max() == 0
    assert len(pl.read_parquet(folder / "reports/sample/markov/chain/summary.parquet")) == 2 * 2 * (4 + 3)
    naive = scores.filter(model="exact", estimator="naive")
    assert (naive["probability"] - naive["truth"]).abs().max() > 0.2


@pytest.mark.parametrize("name", ["mpe", "bpe"])
def test_training_sequences_do_not_depend_on_where_their_text_is_cut(name):
    chain, context = ChainParameters(alphabet=("A", "B"), order=2, seeds=(2,)), 24
    vocabulary = MarkovVocabulary(**SMALL_EXACT["markov"]["chain"]["vocabularies"][name])
    alphabet = tokenizer_of(vocabulary, chain.alphabet)
    job = Job("", name, 2, 3, alphabet, None)
    sequences = training_sequences(job, chain, 200, context, part=1)
    assert len(sequences) == 200 and set(np.diff(sequences.starts)) == {context}
    for ids in sequences.ids.reshape(200, context).tolist():
        text = alphabet.tokenizer.decode(ids[1:])
        for more in ("", "A", "B", "AA", "BAB", "AAAA", "BAAB"):
            whole = text + more + "B" * 20
            longer = alphabet.tokenizer.encode(whole, add_special_tokens=False).ids
            # Some text that begins so is encoded so: the tokens are not those of a cut text.
            if longer[: context - 1] == ids[1:]:
                break
        else:
            raise AssertionError(text)


def test_evaluation_has_a_row_for_each_place(folder):
    reports = folder / "reports/sample/exact/en"
    scores = {row["place"]: row for row in pl.read_parquet(reports / "scores.parquet").iter_rows(named=True)}
    assert list(scores) == ["text", "all prompts", "inside a token", "at the end of a token", "short text"]
    text = scores["text"]
    assert 0 < text["exact_bits_per_character"] <= text["naive_bits_per_character"]
    # With its end a text has one encoding, so without truncation nothing is left to gain.
    assert text["untruncated_bits_per_character"] == pytest.approx(text["naive_bits_per_character"], rel=1e-5)
    texts = [document.text for document in read_corpus(folder / "data/sample/corpora/en")]
    assert 0 < text["ngram_characters"] < sum(map(len, texts))
    assert 1 < text["ngram_bits_per_character"] < np.log2(256)
    short = scores["short text"]
    assert short["all_bits_per_character"] <= short["valid_bits_per_character"] and 0 <= short["never_made"] < 1
    prompts = pl.read_parquet(reports / "prompts.parquet")
    assert len(prompts) == 8 and scores["inside a token"]["texts"] == (prompts["depth"] > 0).sum()
    assert prompts["missing"].min() >= 0
    examples = json.loads((reports / "examples.json").read_text())
    assert examples["sentences"] > 3 and all(len(found["exact"]) == 5 for found in examples["examples"])


def test_prompts_end_in_their_context_and_differ_in_length():
    chain = ChainParameters(alphabet=("A", "B"), order=2, seeds=(2,)).chain(2)
    found = draw_prompts(chain, Prompts(count=20, longest=30), 0)
    assert set(found) == {"AA", "AB", "BA", "BB"}
    for context, prompts in found.items():
        assert len(prompts) == 20 and all(prompt.endswith(context) and 2 < len(prompt) <= 30 for prompt in prompts)
        assert len({len(prompt) for prompt in prompts}) > 3
    never = MarkovChain("AB", [[1.0, 0.0], [1.0, 0.0]])
    with pytest.raises(InputError, match=r"B .* 0 prompts"):
        draw_prompts(never, Prompts(count=2, longest=5), 0)


def test_undefined_estimates_are_no_errors():
    row = {"experiment": "e", "vocabulary": "v", "seed": 0, "next": "A", "truth": 0.5, "calls": 1.0, "passes": 1.0}
    rows = [
        row
        | {"model": model, "estimator": "naive", "context": context, "probability": p, "deviation": p, "undefined": u}
        for model in ("exact", "trained")
        for context, p, u in (("A", None, 1.0), ("B", 0.1, 0.0))
    ]
    found = summarised(pl.DataFrame(rows))
    assert found["mean_error"].to_list() == [0.4, 0.4] and found["undefined"].to_list() == [0.5, 0.5]
    assert found["biased"].to_list() == [1, 1]
