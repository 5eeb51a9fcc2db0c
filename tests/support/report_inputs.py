"""Small results of the computing stages, to draw and to lay out without running a pipeline."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from tasks.codes.variants import CorpusVariants, Variant, write_variants
from tasks.compare.rows import SCHEMA
from tasks.exact.markov_experiment import summarised
from tasks.runtime.stage import Stage, write_json
from tasks.runtime.tables import write_table
from tokenlab.codes.codebook import Codebook
from tokenlab.codes.interface import write_code
from tokenlab.text.documents import Document
from tokenlab.text.store import write_corpus

CHARACTERS = "abcdefgh"
TEXTS = ["abcdefgh", "hgfe dcba".replace(" ", ""), "aabbccdd"]

METHODS: dict[str, dict[str, Any]] = {"viterbi": {"signal": "statistics", "lambda": 1.25}}
"""Configuration -> its facts."""


def stage(**families: list[str]) -> Stage:
    """A stage of the preset `small` with these corpora, models and pairs of languages such as `en-ja`.

    families: `segmentation`, `codes`, `models`, `exact`, `bits`, `translation`, `patches`, `zero_shot` (corpora whose
    patch models are asked; they have patch models, too), `measured`, `classified`, `generated`, `compared`.
    """
    names = defaultdict(list, families)
    of_patches = names["patches"] + names["zero_shot"]
    pairs = [pair.split("-") for pair in names["translation"]]
    shape = {"layers": 2, "width": 64}
    model = {"alphabet": {"level": "character"}, "shape": shape}
    sections: dict[str, Any] = {
        "segmentation": {
            "corpora": {name: {} for name in names["segmentation"]},
            "methods": {"viterbi": {"by": "statistics"}},
            "own_text": {f"{name}-alone": {"corpus": name} for name in names["segmentation"]},
        },
        "entropy": {
            "models": {name: model | {"text": name, "held_out": name} for name in names["models"]},
            "scored": {name: {"model": f"models/small/entropy_models/{name}"} for name in names["models"]},
        },
        "codes": {
            "corpora": {name: {"codebooks": {"lengths": {2: 2}}} for name in names["codes"]},
            "vocabulary_sizes": {"largest": 20, "step": 10, "reported": [10]},
        },
        "exact": {
            "markov": dict.fromkeys(["chain"] if names["exact"] else []),
            "models": {name: {"corpus": name, "shape": shape} for name in names["exact"]},
            "evaluated": {name: {"corpus": name} for name in names["exact"]},
        },
        "bits": {
            "corpora": {name: {"tokenizer": "plain"} for name in names["bits"]},
            "alphas": [2.5, 3],
            "translation": {"-".join(pair): {"source": pair[0], "target": pair[1]} for pair in pairs},
        },
        "patches": {
            "tokenizers": {name: {} for name in of_patches},
            "corpora": {name: {"corpus": name} for name in of_patches},
            "models": {name: {"texts": name} for name in of_patches},
            "zero_shot": {name: {"models": name} for name in names["zero_shot"]},
        },
        "compare": {"measured": {name: {"kind": "encoded"} for name in names["measured"]}},
        "downstream": {
            "classified": {name: {} for name in names["classified"]},
            "language_models": {name: {} for name in names["generated"]},
        },
        "compared": {
            "corpora": {name: {"corpus": name} for name in names["compared"]},
            "methods": {
                "words": {"kind": "tokens", "cut": "words", "byte_tokens": "fallback"},
                "bpe": {"kind": "tokens", "cut": "gpt2"},
                "chunks": {"kind": "chunks", "ratio": 4},
            },
        },
    }
    return Stage("params.yaml", "small", "", sections)


def corpus_facts(corpus: str, gold: bool = True, source: str | None = None) -> dict[str, Any]:
    """What `prepare` writes of a corpus."""
    facts = {"corpus": corpus, "source": source, "origin": "generated", "notes": ["generated text"]}
    return facts | {"sentences": 10, "characters": 100, "gold_words": 50 if gold else None}


def own_text_scores(corpus: str = "zh", rules: str = "none", parts: int = 2) -> pl.DataFrame:
    """Scores of `parts` slices by statistics, and by words with two seeds; F1 is 0.6 + part / 10 + seed / 100."""
    rows = []
    for part in range(parts):
        for configuration, seed in (("viterbi", None), ("words", 0), ("words", 1)):
            figures = dict.fromkeys(("f1", "precision", "recall", "boundary_f1"), 0.6 + part / 10 + (seed or 0) / 100)
            key = {"text": f"{corpus}-alone", "corpus": corpus, "part": part, "configuration": configuration}
            facts = {"seed": seed, "lambda": None if configuration == "words" else 1.25, "rules": rules}
            rows.append({**key, **facts, "training_characters": 1000, "han_f1": None, **figures})
    return pl.DataFrame(rows, schema_overrides={"han_f1": pl.Float64})


def segmentation_scores(
    corpus: str = "zh",
    gold: bool = True,
    configurations: dict[str, dict[str, Any]] = METHODS,
    full: tuple[str, ...] = ("viterbi",),
) -> pl.DataFrame:
    """Scores for two seeds; the F1 of seed s is 0.5 + s / 10 without BPE, and 0.6 + s / 10 with it."""
    rows = []
    for training, size in (("subset", 7), ("full", 20)):
        key = {"corpus": corpus, "training": training, "training_sentences": size, "training_characters": 10 * size}
        for seed in (0, 1):
            for name, facts in configurations.items():
                if training == "full" and name not in full:
                    continue
                same = {"configuration": name, "method": name.partition("-")[0], "lambda": None, "threshold": None}
                for bpe, f1 in (("none", 0.5), ("raw", 0.6)):
                    rows.append(key | same | {"nu": None, "seed": seed, "bpe": bpe, "f1": f1 + seed / 10} | facts)
            baseline = {"configuration": "bpe", "method": None, "signal": None}
            rows.append(key | baseline | {"seed": seed, "bpe": "raw", "f1": 0.4})
    table = pl.DataFrame(rows, infer_schema_length=None)
    table = table.with_columns(pl.col("lambda", "threshold", "nu").cast(pl.Float64))
    table = table.with_columns(precision="f1", recall="f1", vocabulary=pl.lit(100), characters_per_segment=pl.lit(1.5))
    values = ["f1", "precision", "recall"]
    return table if gold else table.with_columns(pl.lit(None, pl.Float64).alias(name) for name in values)


def export_scores(corpus: str = "zh", gold: bool = True) -> pl.DataFrame:
    """Scores of `export` for two tokenizers and two seeds; seed s has a token F1 of 0.5 + s / 10."""
    key = {
        "corpus": corpus,
        "configuration": "viterbi",
        "method": "viterbi",
        "signal": "statistics",
        "training_sentences": 20,
        "training_characters": 200,
    }
    shares = {"restored": 1.0, "segments_equal_to_a_word": 0.99, "segments_equal_to_a_token": 0.98}
    rows = [
        key | shares | {"export": name, "seed": seed, "vocabulary": 1234, "bytes": 56789, "f1": 0.5 + seed / 10}
        for name in ("unigram", "bpe")
        for seed in (0, 1)
    ]
    table = pl.DataFrame(rows).with_columns(f1_of_words="f1", f1_of_segments="f1")
    values = ["f1", "f1_of_words", "f1_of_segments"]
    return table if gold else table.with_columns(pl.lit(None, pl.Float64).alias(name) for name in values)


def code_curves(codes: dict[str, int | None]) -> pl.DataFrame:
    """Curves of `evaluate_codes` at three sizes. codes: code -> N, or None."""
    rows = []
    for number, (code, N) in enumerate(codes.items()):
        for size in (10, 15, 20):
            value = float(100 * number + size)
            key = {"tokenizer": "bpe", "text": "training", "code": code, "N": N, "K": None if N is None else 3}
            figures = {"tokens": value, "perplexity": value, "bits_per_character": 2 + value / 1000}
            figures |= {"tokens_saved": 100 - value, "perplexity_saved": 10 - value}
            figures |= {"bits_per_character_saved": -value / 1000}
            rows.append(key | figures | {"vocabulary": size, "seeds": 1} | {f"{name}_sd": None for name in figures})
    table = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("N", "K").cast(pl.Int64))
    return table.with_columns(pl.col(r"^.*_sd$").cast(pl.Float64))


def code_scores(codes: dict[str, int | None], corpus: str = "en", seeds: int = 2) -> pl.DataFrame:
    """Scores of `evaluate_codes` at |C| and 10; seed s of a code saves 10 + 2 s tokens."""
    rows = []
    for code, N in codes.items():
        for seed in range(seeds) if N else [None]:
            row: dict[str, Any] = {"corpus": corpus, "tokenizer": "bpe", "text": "training", "code": code, "N": N}
            row |= {"K": None if N is None else 3, "seed": seed, "alphabet": len(CHARACTERS)}
            for label in ("C", "10"):
                row |= {f"tokens_{label}": 90, f"tokens_saved_{label}": 10 + 2 * (seed or 0)}
                row |= {f"bits_per_character_{label}": 2.5, f"perplexity_{label}": 4.0}
            rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("N", "K", "seed").cast(pl.Int64))


CODES: dict[str, int | None] = {"character": None, "byte": None, "random": 2, "latom": 2, "latom-refined": 2}
"""Code -> N."""


def write_segmentation(place: Stage, corpus: str, *, gold: bool = True, entropy: bool = False) -> None:
    """The files of a segmented corpus below the working directory."""
    write_json(place.reports("corpora", f"{corpus}.json"), corpus_facts(corpus, gold))
    histogram = pl.DataFrame({"from": [0.0, 1.0], "to": [1.0, 2.0], "pmi": [3, 4], "left": [3, 4], "right": [4, 3]})
    for name, columns in (("pmi", ["from", "to", "pmi"]), ("entropy", ["from", "to", "left", "right"])):
        write_table(place.reports("ngram_statistics", corpus, f"{name}.csv"), histogram.select(columns))
    write_json(place.reports("ngram_statistics", corpus, "unit.json"), {"unit": "nats"})
    curve = {"training": ["subset", "full"], "method": ["viterbi"] * 2, "lambda": [1.0, 1.0], "seed": [0, 0]}
    write_table(place.reports("tuning", corpus, "lambda.csv"), pl.DataFrame(curve | {"f1": [0.5, 0.6]})[: 2 * gold])
    curve = {"training": ["subset"], "method": ["gpt2"], "parameter": ["threshold"], "value": [0.5], "seed": [0]}
    write_table(place.reports("tuning", corpus, "entropy.csv"), pl.DataFrame(curve | {"f1": [0.5]})[: int(entropy)])
    tuned = {"viterbi": 1.0}
    write_json(place.reports("tuning", corpus, "tuned.json"), {"subset": tuned, "full": tuned})
    example = {"viterbi": ["ab", "cd"], "bpe": ["a", "bcd"]} | ({"gold": ["ab", "c", "d"]} if gold else {})
    scored = {"text": "abcd", "entropy": [1.0, None, 2.0, 1.0], "boundaries": [2], "gold": example.get("gold")}
    sentences = {"example": example, "entropies": [scored] if entropy else []}
    write_json(place.reports("segmentation", corpus, "sentences.json"), sentences)
    write_table(place.reports("segmentation", corpus, "scores.parquet"), segmentation_scores(corpus, gold))
    write_json(place.reports("export", corpus, "left_out.json"), {"unigram-9": "no room"})
    write_table(place.reports("export", corpus, "scores.parquet"), export_scores(corpus, gold))
    write_table(place.reports("own_text", f"{corpus}-alone", "scores.parquet"), own_text_scores(corpus))


def write_model(place: Stage, name: str, kind: str = "entropy_models", **facts: float) -> None:
    """The reports of a language model. facts: further ones; by default those of an entropy model."""
    loss = pl.DataFrame({"step": [1, 2], "training": [3.0, 2.0], "held_out": [3.0, 2.5]})
    write_table(place.reports(kind, name, "loss.csv"), loss)
    facts = {"parameters": 1000, "training_tokens": 100, "epochs": 2.0} | (
        facts or {"vocabulary": 10, "held_out_nats_per_character": 2.5}
    )
    write_json(place.reports(kind, name, "metrics.json"), facts)


def markov_scores() -> pl.DataFrame:
    """Scores of two chains and two vocabularies; naive of the exact model is undefined after B of mpe."""
    rows = []
    for vocabulary in ("mpe", "bpe"):
        for seed, model in ((0, "exact"), (0, "trained"), (1, "exact"), (1, "trained")):
            for estimator in ("naive", "incremental"):
                for context in "AB":
                    undefined = float(vocabulary == "mpe" and (model, estimator, context) == ("exact", "naive", "B"))
                    said = None if undefined else 0.6 if estimator == "incremental" else 0.2
                    for character, truth in (("A", 0.6), ("B", 0.4)):
                        key = {"experiment": "chain", "vocabulary": vocabulary, "seed": seed, "model": model}
                        key |= {"estimator": estimator, "context": context, "next": character, "truth": truth}
                        value = None if said is None else said if character == "A" else 1 - said
                        error = None if value is None else abs(value - truth)
                        spread = {"sd": None if value is None else 0.01, "deviation": error, "prompts": 3}
                        facts = {"undefined": undefined, "calls": 2.0, "passes": 1.0}
                        rows.append(key | {"probability": value} | spread | facts)
    return pl.DataFrame(rows, infer_schema_length=None)


def exact_scores(name: str) -> pl.DataFrame:
    """What `evaluate_exact` writes about a model."""
    key = {"name": name, "corpus": name}
    text = {"texts": 3, "characters": 90, "bytes": 100, "tokens": 30, "exact_bits_per_character": 1.9}
    text |= {"naive_bits_per_character": 2.0, "untruncated_bits_per_character": 2.0, "calls_per_byte": 0.4}
    text |= {"ngram_bits_per_character": 1.5, "ngram_characters": 1000}
    row = {"texts": 4, "share": 0.5, "kl": 1.25, "total_variation": 0.5, "differs": 0.25, "undefined": 0.0}
    row |= {"exact_next_bits": 2.0, "naive_next_bits": 3.0, "missing": 0.0125, "missing_max": 0.05, "calls": 9.5}
    rows = [{**key, "place": "text", **text, "tokens_per_byte": 0.4}]
    rows += [{**key, "place": place, **row} for place in ("all prompts", "inside a token")]
    nothing = dict.fromkeys(set(row) - {"texts", "share"}) | {"texts": 0, "share": 0.0}
    rows.append({**key, "place": "at the end of a token", **nothing})
    rows.append({**key, "place": "short text", "texts": 2, "never_made": 0.03, "calls": 20.0})
    return pl.DataFrame(rows, infer_schema_length=None)


def exact_prompts() -> pl.DataFrame:
    """Prompts of `evaluate_exact`; naive is undefined after the last."""
    place = ["inside a token", "inside a token", "at the end of a token", "inside a token"]
    numbers = {"depth": [1, 12, 0, 2], "kl": [0.5, 4.0, 0.0, None], "total_variation": [0.4, 0.9, 0.0, None]}
    return pl.DataFrame({"place": place, **numbers})


def write_exact(place: Stage, name: str) -> None:
    """The files of the exact family: an experiment `chain`, and a trained and evaluated model."""
    markov, evaluated = place.reports("markov", "chain"), place.reports("exact", name)
    write_table(markov / "scores.parquet", markov_scores())
    write_table(markov / "summary.parquet", summarised(markov_scores()))
    write_table(evaluated / "scores.parquet", exact_scores(name))
    write_table(evaluated / "prompts.parquet", exact_prompts())
    best = [["t", 0.9], ["\n", 0.05]]
    example = {"prompt": "so tha", "tokens": ["so", " th", "a"], "true": "t", "exact": best, "naive": best[::-1]}
    write_json(evaluated / "examples.json", {"examples": [example | {"kl": 4.5}]})
    write_json(place.reports("corpora", f"{name}.json"), corpus_facts(name))
    facts = {"vocabulary": 300, "held_out_sentences": 5, "held_out_bits_per_character": 2.5}
    write_model(place, name, "language_models", **facts)


def write_measures(place: Stage, name: str) -> None:
    """The files of two corpora, en and `name`, on which one tokenizer was compared by parity."""
    row = dict.fromkeys(SCHEMA) | {"name": name, "family": "code", "tokenizer": "byte", "texts": 10, "gini": 0.125}
    rows = [row | {"corpus": corpus, "parity": parity} for corpus, parity in (("en", 1.0), (name, 1.5))]
    for corpus in ("en", name):
        write_json(place.reports("corpora", f"{corpus}.json"), corpus_facts(corpus))
    write_table(place.reports("measures", name, "scores.parquet"), pl.DataFrame(rows, schema=SCHEMA))


def write_codes(place: Stage, corpus: str, codes: dict[str, int | None] = CODES) -> None:
    """The files of a corpus with codes below the working directory."""
    write_json(place.reports("corpora", f"{corpus}.json"), corpus_facts(corpus))
    write_corpus([Document(str(i), text) for i, text in enumerate(TEXTS)], place.data("corpora", corpus))
    learned = [Variant(code, N, 3 if N else None, 0 if N else None) for code, N in codes.items()]
    length = sum(map(len, TEXTS))
    write_variants(place.models("codes", corpus), CorpusVariants(learned, len(CHARACTERS), length))
    facts = {"length": length}
    codebook = Codebook("latom", 2, 3, CHARACTERS, np.arange(len(CHARACTERS)), facts=facts)
    write_code(codebook, place.models("codes", corpus, "latom-N2-K3-seed0.json"))
    merges = place.models("code_tokenizers", corpus, "latom-N2-K3-seed0", "merges.npy")
    merges.parent.mkdir(parents=True)
    np.save(merges, np.array([[0, 3], [0, 4]], np.int32))
    likelihood = {"N": [2, 2], "K": [3, 3], "seed": [0, 0], "iteration": [0, 1], "log_likelihood": [-50.0, -40.0]}
    write_table(place.reports("codebooks", corpus, "likelihood.csv"), pl.DataFrame(likelihood))
    write_table(place.reports("codes", corpus, "curves.csv"), code_curves(codes))
    write_table(place.reports("codes", corpus, "scores.parquet"), code_scores(codes, corpus))


def write_classification(stage: Stage, corpus: str, origin: str = "official") -> None:
    """The results of `classify`: codes at two sizes, two seeds; byte is better than character, random is not separable.

    The language is `english`; the linear control was fitted too.
    """
    write_json(stage.reports("corpora", f"{corpus}.json"), corpus_facts(corpus) | {"origin": origin})
    about = {"name": corpus, "labelled": "bible", "language": "english"}
    cuts = [("character", None, None), ("byte", None, None), ("random", 2, 9), ("latom", 2, 9)]
    keys = [
        {**about, "code": code, "N": N, "K": K, "tokenizer": "bpe", "size": size, "model": model}
        for code, N, K in cuts
        for size in ("characters", "8000")
        for model in ("transformer", "linear")
    ]
    measured = {"vocabulary": 90, "tokens_per_text": 20.5, "padding": 0.05, "epochs": 2.0, "best_step": 4}
    measured |= {"held_out_nats": 1.2, "parameters": 1234}
    f1 = {"character": 0.5, "byte": 0.61, "random": 0.52, "latom": 0.6}
    scores = [{**key, **measured, "seed": seed, "f1": f1[key["code"]] + seed / 100} for key in keys for seed in (0, 1)]
    pairs = [
        {**key, "rival": rival, "difference": difference, "deviation": 0.03, "separable": abs(difference) > 0.03}
        | {"runs": 2}
        for key in keys
        for rival in ("character", "byte", *["random"] * (key["code"] == "latom"))
        if rival != key["code"]
        for difference in [f1[key["code"]] - f1[rival]]
    ]
    folder = stage.reports("classify", corpus)
    write_table(folder / "scores.parquet", scores)
    write_table(folder / "compared.parquet", pairs)
    changes = {"typos": -0.1, "case": -0.3}
    perturbed = [
        {**key, "seed": seed, "perturbation": kind, "original": before, "f1": before + change + seed / 50}
        for key in keys
        for before in [f1[key["code"]]]
        for seed in (0, 1)
        for kind, change in changes.items()
    ]
    write_table(folder / "perturbed.parquet", perturbed)
    texts = {"train": 8000, "validation": 1000, "test": 900}
    write_json(folder / "metrics.json", {"texts": texts, "classes": 5, "characters": 81, "most_frequent_f1": 0.2})


def write_generation(stage: Stage, corpus: str, origin: str = "official") -> None:
    """The results of `generate` in `chinese`: bytes are worst, random and Latom not separable; 3 seeds."""
    write_json(stage.reports("corpora", f"{corpus}.json"), corpus_facts(corpus) | {"origin": origin})
    wrong = {"character": 0, "byte": 30, "random": 11, "latom": 10}
    rows = [
        {"name": corpus, "language": "chinese", "code": code}
        | dict(zip("NK", (2, 56) if code in ("random", "latom") else (None, None), strict=True))
        | {"tokenizer": "bpe", "size": "characters", "seed": seed, "way": way, "bits_per_character": 4.0 + seed / 10}
        | {"ngram_bits_per_character": 4.0}
        | {"bits_of_scored": 4.2 if way == "free" else 4.1, "count": 100, "error_share": found / 100}
        | dict.fromkeys(("foreign", "digit", "unassigned", "bytes"), 0)
        | {"truncated": found}
        for code, errors in wrong.items()
        for seed in range(3)
        for way, found in (("free", errors + seed if errors else 0), ("constrained", 0))
    ]
    write_table(stage.reports("generate", corpus, "scores.parquet"), rows)


def write_compared(stage: Stage, corpus: str, seeds: int = 3, budgets: Sequence[str] = ("flops", "bytes")) -> None:
    """The results of `evaluate_compared`: words is the best at equal operations; patches have no spans."""
    write_json(stage.reports("corpora", f"{corpus}.json"), corpus_facts(corpus))
    methods = {"bpe": ("tokens", 2.2, 0.2), "words": ("tokens", 2.0, 0.0), "chunks": ("chunks", 2.05, 0.05)}
    key = {"name": corpus, "corpus": corpus}
    same = {"training_bytes": 20_000_000, "epochs": 0.5, "training_flops": 2e9, "updates": 100, "parameters": 1234}
    same |= {"entries": 300, "symbols": 700, "test_bytes": 3000, "bytes_per_token": 3.0, "byte_token_rate": 0.25}
    same |= {"fertility": None, "words_kept_whole": None, "whitespace_f1": None, "decode_errors": 0}
    spans = {"vocabulary_used": 0.5, "renyi_efficiency": 0.4, "gold_f1": 0.75}
    exact = {"exact_bits_per_byte": 1.9, "naive_bits_per_byte": 1.95, "exact_bytes": 120}
    rows = [
        {**key, "method": method, "kind": kind, "budget": budget, "seed": seed, "bits_per_byte": bits + seed / 100}
        | {"quarter": bits + 1, "half": bits + 0.5, "whole": bits + 0.25, **same}
        | {"flops_per_byte": 2e6 if kind == "tokens" else 1e6, "behind": behind if seeds > 1 else None}
        | {"interval": 0.1 * (behind > 0) if seeds > 1 else None}
        | (spans if kind == "tokens" else dict.fromkeys(spans))
        | (exact if (budget, seed, kind) == ("flops", 0, "tokens") else dict.fromkeys(exact))
        for budget in budgets
        for method, (kind, bits, behind) in methods.items()
        for seed in range(seeds)
    ]
    perturbed = [
        {**key, "method": method, "perturbation": perturbation}
        | {"original": 2.0, "bits_per_byte": 2.5, "boundaries_f1": None if method == "chunks" else 0.8}
        for method in methods
        for perturbation in ("typos", "nfd")
    ]
    said = {"answer": "Use words: why.", "use": "words", "separable": True, "detectable": 0.04, "seeds": [seeds, seeds]}
    folder = stage.reports("compared", corpus)
    write_table(folder / "scores.parquet", rows)
    write_table(folder / "robustness.parquet", perturbed)
    ngrams = [
        {**key, "order": 5, "bits_per_byte": bits, "training_bytes": size}
        for bits, size in ((2.1, 8_000_000), (2.9, 2_000_000))
    ]
    write_table(folder / "ngrams.parquet", ngrams)
    write_json(folder / "answers.json", dict.fromkeys(budgets, said if seeds > 1 else None))
