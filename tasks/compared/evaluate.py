"""Stage `evaluate_compared`: what the trained models of a corpus say of the ways of cutting.

1. Scores of every training, and the verdict: differences with their intervals, and the smallest that would be found.
2. Units of the test text: lengths, use of the vocabulary, errors of decoding, boundaries beside gold words.
3. Models of the first seed on perturbed text: bits, and boundaries that stay.
4. Tokens: exact bits of some texts, the sum over all encodings, beside those of the one encoding.
5. N-grams of bytes, of all the training text and of as much of it as the best model of equal operations read.

Costs are counted; nothing here is timed.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from tasks.compared.parameters import Evaluation, Trainings, read_corpus_parameters, read_methods
from tasks.compared.train import BYTES, CANDIDATES, FLOPS, NETWORKS
from tasks.patches.measures import quality
from tasks.patches.texts import Part, Text, byte_offsets, part_documents, words_of
from tasks.runtime.pool import in_processes
from tasks.runtime.stage import Stage, run, write_json
from tasks.runtime.tables import nested, write_table
from tokenlab.comparison.candidates import read_candidate
from tokenlab.comparison.chunk_coder import ChunkCoder
from tokenlab.comparison.exact_bits import exact_score
from tokenlab.comparison.measures import measured, units_of
from tokenlab.comparison.perturbations import KINDS, boundary_counts, perturb
from tokenlab.comparison.trials import Body, Score, read_score
from tokenlab.comparison.verdict import Comparison, compare_scores
from tokenlab.core.devices import computing
from tokenlab.exact.adapters.real import UnsupportedTokenizer
from tokenlab.language.evaluation import passage_nats
from tokenlab.language.ngrams import kneser_ney_nats
from tokenlab.language.passages import cut_passages
from tokenlab.language.stored import LanguageModel
from tokenlab.metrics.counting import TextTokenizer
from tokenlab.metrics.segmentation import Counts
from tokenlab.networks.chunk_network import ChunkNetwork
from tokenlab.networks.stored import read_network
from tokenlab.networks.token_network import TokenNetwork
from tokenlab.patches.learned import LearnedPatcher
from tokenlab.text.documents import Document

Row = dict[str, Any]
Scores = dict[str, dict[int, Score]]
"""Method -> seed -> score."""


class Found(NamedTuple):
    """Columns of a method, those of its model of the first seed, and a row for each perturbation."""

    measures: Row
    exact: Row
    robustness: list[Row]


def evaluate(stage: Stage) -> None:
    """Write the tables, the answers and metrics."""
    compared, texts = read_corpus_parameters(stage)
    methods, trainings = read_methods(stage), stage.parameters("compared.trainings", Trainings)
    evaluation = stage.parameters("compared.evaluation", Evaluation)
    folder, corpus = stage.models("compared", stage.variant), stage.data("corpora", compared.corpus)
    parts = {part: [*part_documents(corpus, texts, part)] for part in get_args(Part)}
    seeds = {name: method.seeds or trainings.seeds for name, method in methods.items()}
    budgets = {FLOPS: _scores(folder / FLOPS, seeds)}
    if trainings.equal_bytes is not None:
        budgets[BYTES] = _scores(folder / BYTES, dict.fromkeys(methods, trainings.equal_bytes.seeds))
    first = [(name, seeds[name][0], method.kind == "tokens") for name, method in methods.items()]
    evaluated = partial(_evaluated, folder, trainings.body, parts["test"], evaluation)
    results = in_processes(evaluated, first, stage.parameters("compared.workers", int), "evaluating")
    found = dict(zip(methods, results, strict=True))

    about = {"name": stage.variant, "corpus": compared.corpus}
    size = sum(len(document.text.encode()) for document in parts["training"])
    rows: list[Row] = []
    answers: dict[str, Any] = {}
    for budget, scores in budgets.items():
        verdict = _verdict(scores)
        answers[budget] = None if verdict is None else _answer(verdict, scores)
        standings = {} if verdict is None else {one.name: one for one in verdict.standings}
        for name, of_method in scores.items():
            standing = standings.get(name)
            for seed, score in of_method.items():
                kept = budget == FLOPS and seed == seeds[name][0]
                rows.append(
                    {**about, "method": name, "kind": methods[name].kind, "budget": budget, "seed": seed}
                    | _columns(score, size)
                    | {column: getattr(standing, column, None) for column in ("behind", "interval")}
                    | found[name].measures
                    | (found[name].exact if kept else dict.fromkeys(_EXACT))
                )
    reports = stage.reports("compared", stage.variant)
    write_table(reports / "scores.parquet", rows)
    robustness = [{**about, "method": name, **row} for name in methods for row in found[name].robustness]
    write_table(reports / "robustness.parquet", robustness)
    passages = {part: [*_passages(documents, trainings.body.context)] for part, documents in parts.items()}
    every = max(1, size // _read_by_best(budgets[FLOPS]))
    of_ngrams = [about | ngrams(passages, step, evaluation.ngrams) for step in sorted({every, 1})]
    write_table(reports / "ngrams.parquet", of_ngrams)
    write_json(reports / "answers.json", answers)
    write_json(reports / "metrics.json", nested(rows, "budget", "method", "seed"))


def _scores(folder: Path, seeds: Mapping[str, Sequence[int]]) -> Scores:
    return {
        name: {seed: read_score(folder / f"{name}-{seed}.json") for seed in of_method}
        for name, of_method in seeds.items()
    }


def _verdict(scores: Scores) -> Comparison | None:
    """The comparison; None where a method has one seed, whose spread is unknown."""
    if min(map(len, scores.values())) < 2:
        return None
    return compare_scores({name: [*of_method.values()] for name, of_method in scores.items()})


def _answer(verdict: Comparison, scores: Scores) -> Row:
    seeds = [*map(len, scores.values())]
    return {
        "answer": verdict.answer,
        "use": verdict.use,
        "separable": verdict.separable,
        "detectable": verdict.detectable,
        "seeds": [min(seeds), max(seeds)],
    }


def _columns(score: Score, size: int) -> Row:
    """size: bytes of the training text."""
    quarter, half, whole = (
        min(score.curve, key=lambda point: abs(point[0] - share * score.training_bytes))[1] for share in (0.25, 0.5, 1)
    )
    return {
        "bits_per_byte": score.documents.bits_per_byte,
        "quarter": quarter,
        "half": half,
        "whole": whole,
        "training_bytes": score.training_bytes,
        "epochs": score.training_bytes / size,
        "training_flops": score.training_flops,
        "updates": score.steps,
        "parameters": score.parameters,
        "entries": score.entries,
        "symbols": score.documents.symbols,
        "flops_per_byte": score.documents.flops_per_byte,
        "test_bytes": sum(score.documents.bytes),
    }


_EXACT = ("exact_bits_per_byte", "naive_bits_per_byte", "exact_bytes")


def _evaluated(
    folder: Path, body: Body, documents: Sequence[Document], evaluation: Evaluation, method: tuple[str, int, bool]
) -> Found:
    """Measure a method on documents, and its model of the first seed. method: its name, that seed, and whether exact
    bits can be asked for."""
    name, seed, of_tokens = method
    coder = read_candidate(folder / CANDIDATES / name)
    network = read_network(folder / NETWORKS / f"{name}-{seed}")
    model = LanguageModel(network, coder, body.context)
    if isinstance(network, ChunkNetwork) and isinstance(coder, ChunkCoder):
        coder.patcher = LearnedPatcher(network, body.context)  # Its units are the chunks that it has learned.
    units = units_of(coder)
    with computing(torch.device("cpu"), body.threads):
        passages = [*_passages(documents, body.context)]
        coded = zip(coder.code(passages), passages, strict=True)
        errors = sum(coder.decode(passage.ids.tolist()) != text for passage, text in coded)
        measures = {**measured(coder, documents), "decode_errors": errors, **_boundaries(units, documents)}
        exact: Row = dict.fromkeys(_EXACT)
        if of_tokens and evaluation.exact is not None and isinstance(network, TokenNetwork):
            chosen = [text[: evaluation.exact.bytes].decode(errors="ignore") for text in passages]
            exact |= _exact(network, folder / CANDIDATES / name, chosen[: evaluation.exact.texts])
        robustness = [*_robustness(model, units, documents[: evaluation.perturbed], evaluation.seed)]
    return Found(measures, exact, robustness)


def _passages(documents: Sequence[Document], context: int) -> Iterator[bytes]:
    """The passages that models read, of all documents."""
    for document in documents:
        yield from cut_passages(document.text.encode(), context)


def _boundaries(units: TextTokenizer, documents: Sequence[Document]) -> dict[str, float | None]:
    """F1 of boundaries beside those of gold words and of whitespace; None for units without places."""
    columns = ("gold_f1", "whitespace_f1")
    found = _starts(units, [document.text for document in documents])
    if found is None:
        return dict.fromkeys(columns)
    test = [document.text.encode() for document in documents]
    starts = [np.unique(byte_offsets(document.text)[of]) for document, of in zip(documents, found, strict=True)]
    gold = [
        (Text(document.id, data, words_of(document)), of_text)
        for document, data, of_text in zip(documents, test, starts, strict=True)
        if document.boundaries is not None
    ]
    shares = quality([text for text, _ in gold], [of_text for _, of_text in gold], test, starts)
    return {column: shares[column] for column in columns}


def _starts(units: TextTokenizer, texts: Sequence[str]) -> list[NDArray[np.int32]] | None:
    """The characters at which units begin; None where they have no places."""
    spans = [tokens.spans for tokens in units.encode_batch(texts)]
    starts = [of_text[:, 0] for of_text in spans if of_text is not None]
    return starts if len(starts) == len(spans) else None


def _robustness(model: LanguageModel, units: TextTokenizer, documents: Sequence[Document], seed: int) -> Iterator[Row]:
    """A row for each perturbation that changes some text: bits over the bytes of the text as it was, of both; and F1 of
    the boundaries in the perturbed text, with those of the text as it was at their new places."""
    texts = [document.text for document in documents]
    size, before, cuts = sum(len(text.encode()) for text in texts), _bits(model, texts), _starts(units, texts)
    for kind in KINDS:
        changed = [perturb(text, kind, seed) for text in texts]
        others = [one.text for one in changed]
        if others == texts:
            continue
        after, f1 = _starts(units, others), None
        if cuts is not None and after is not None:
            counts = [boundary_counts(*of_text) for of_text in zip(cuts, after, changed, strict=True)]
            f1 = Counts(*map(sum, zip(*counts, strict=True))).f1
        yield {
            "perturbation": kind,
            "original": before / size,
            "bits_per_byte": _bits(model, others) / size,
            "boundaries_f1": f1,
        }


def _bits(model: LanguageModel, texts: Sequence[str]) -> float:
    passages = [passage for text in texts for passage in cut_passages(text.encode(), model.context)]
    return float(passage_nats(model, passages).sum() / np.log(2))


def _exact(network: TokenNetwork, tokenizer: Path, texts: Sequence[str]) -> Row:
    """Bits per byte of texts; nothing for a tokenizer whose encodings cannot be summed over."""
    try:
        score = exact_score(network, tokenizer, texts)
    except UnsupportedTokenizer:
        return {}
    values = score.per_byte(score.exact_bits), score.per_byte(score.naive_bits), score.bytes
    return dict(zip(_EXACT, values, strict=True))


def _read_by_best(scores: Scores) -> int:
    """Bytes of training text that the models of the best method read, in the mean."""
    best = min(scores.values(), key=lambda seeds: np.mean([score.documents.bits_per_byte for score in seeds.values()]))
    return round(float(np.mean([score.training_bytes for score in best.values()])))


def ngrams(parts: Mapping[Part, Sequence[bytes]], every: int, longest: int) -> Row:
    """Bits per byte of test passages by n-grams of bytes, of the order that validation passages choose.

    every: one training passage out of so many is counted.
    """
    parts = {**parts, "training": parts["training"][::every]}
    ids = {part: [np.frombuffer(text, np.uint8).astype(np.int32) for text in texts] for part, texts in parts.items()}
    nats = kneser_ney_nats(ids["training"], [*ids["validation"], *ids["test"]], 256, longest)
    validation, test = np.split(nats, [sum(map(len, ids["validation"]))], axis=1)
    best = int(validation.sum(axis=1).argmin())
    return {
        "order": best + 1,
        "bits_per_byte": float(test[best].mean() / np.log(2)),
        "training_bytes": sum(map(len, parts["training"])),
    }


if __name__ == "__main__":
    run(evaluate)
