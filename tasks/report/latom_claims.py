"""What sections 5.1.2 and 5.2.2 of Latom say of codes, claim by claim (papers.yaml, `findings`): held, refuted or not
separable for each language."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tasks.report.codes import size_text
from tasks.report.generation import verdict_word
from tasks.report.inputs import all_generated, corpus_facts, read_parts
from tasks.report.table import Table, read_paper
from tasks.report.verdict import ONE_RUN, Spread, against
from tasks.runtime.stage import Stage

_NOTE = (
    "held, refuted: the difference is as claimed, or the opposite, and exceeds its deviation (`no worse`: it is not "
    "worse by more); classifiers are compared with characters and bytes on the same test texts, all others by seeds"
)
_RANGE = "codes differ less: the range of their mean weighted F1, in points, at the smaller and the larger size"
_PAIR = ["model", "size", "code", "N", "language", "rival"]


def claims_tables(stage: Stage) -> list[Table]:
    """The table of a preset; none where it has no results, or those of built-in text alone."""
    scores = read_parts(stage, "downstream.classified", "classify", "scores.parquet")
    pairs = read_parts(stage, "downstream.classified", "classify", "compared.parquet")
    generated = read_parts(stage, "downstream.language_models", "generate", "scores.parquet")
    runs = []
    if scores is not None:  # The linear control is not the paper's.
        of_paper = scores.filter(pl.col("tokenizer") == "bpe", pl.col("model") != "linear")
        runs.append(of_paper.with_columns(value="f1", family=pl.lit("classification")))
    if generated is not None:
        about = {"family": "generation", "model": "language model", "size": "characters"}
        constants = [pl.lit(text).alias(name) for name, text in about.items()]
        runs.append(generated.filter(way="free").with_columns(*constants, value="error_share"))
    if all_generated(corpus_facts(stage, name) for part in runs for name in part["name"].unique()) or not runs:
        return []
    bpe = [] if pairs is None else pairs.filter(tokenizer="bpe").rows(named=True)
    words = {
        tuple(row[name] for name in _PAIR): against(row["difference"], row["separable"], row["runs"]) for row in bpe
    }
    return [claims_table(pl.concat(runs, how="diagonal_relaxed"), words)]


def claims_table(runs: pl.DataFrame, words: Mapping[tuple[Any, ...], str]) -> Table:
    """A row for each claim, model and N, and a column for each language.

    Args:
        runs: a row for each family, model, size, code, N, language and seed, with a `value`.
        words: model, size, code, N, language, rival -> what the comparison on the same texts says.
    """
    languages = runs["language"].unique(maintain_order=True).to_list()
    rows = []
    for finding in read_paper("latom")["findings"]:
        of_family = runs.filter(family=finding["family"])
        for (model,), of_model in of_family.group_by("model", maintain_order=True):
            of_code = (
                of_model.filter(code=finding["code"]) if "code" in finding else of_model.head(1).with_columns(N=None)
            )
            for N in of_code["N"].unique(maintain_order=True):
                cells = [_cell(finding, N, of_model.filter(language=language), words) for language in languages]
                sizes = ", ".join(map(size_text, finding.get("sizes", [finding.get("size")])))
                size = sizes.replace("|V| = ", "")
                rows.append([finding["claim"], finding["place"], str(model), size, str(N or ""), *cells])
    header = ["claim", "in the paper", "model", "|V|", "N", *languages]
    title = "Hiraoka, sections 5.1.2 and 5.2.2: do the claims hold?"
    return Table("latom-claims", title, header, rows, [_NOTE, _RANGE], languages[0])


def _cell(finding: Mapping[str, Any], N: int | None, runs: pl.DataFrame, words: Mapping[tuple[Any, ...], str]) -> str:
    """What the runs of a model and language say of a claim; empty where a code is missing."""
    if not len(runs):
        return ""
    if "sizes" in finding:
        return _narrowing(runs, finding["sizes"])
    size, code, rival = finding["size"], finding["code"], finding["rival"]
    word = words.get((runs["model"][0], size, code, N, runs["language"][0], rival))
    if word is None:
        of_size = runs.filter(size=size)
        length = N if rival == "random" else None
        one, other = (
            Spread.of(of_size.filter(pl.col("code") == name, pl.col("N").eq_missing(of_name))["value"])
            for name, of_name in ((code, N), (rival, length))
        )
        if one is None or other is None:
            return ""
        word = verdict_word(one, other)
    return judged(word, finding["holds"])


def judged(word: str, holds: Sequence[str]) -> str:
    """A verdict such as `higher (2 runs)` as held, refuted or not separable."""
    said, gap, runs = word.partition(" (")
    if said == ONE_RUN:
        return word
    return ("held" if said in holds else "refuted" if said in ("higher", "lower") else said) + gap + runs


def _narrowing(runs: pl.DataFrame, sizes: Sequence[str]) -> str:
    """The ranges of the mean values of the codes at both sizes."""
    means = runs.group_by("code", "N", "size").agg(pl.mean("value"))
    ranges = [means.filter(size=size)["value"] for size in sizes]
    if not all(map(len, ranges)):
        return ""
    smaller, larger = (100 * (max(values) - min(values)) for values in ranges)
    return f"{'held' if larger < smaller else 'refuted'}: {smaller:.2f}, {larger:.2f}"
